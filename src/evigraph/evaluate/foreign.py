"""Scores ranked lists that other systems published, by the code that scores ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evigraph.errors import CorruptDocument, InvalidValue
from evigraph.evaluate.cases import RankingCase
from evigraph.evaluate.datasets import Dataset, json_lines
from evigraph.evaluate.metrics import distinct, score

UNKNOWN = "no such title: "
"""Before a title that names no document: it keeps its place in the ranking, and is gold of no question."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignList:
    """The titles that a system retrieved for a question, best first."""

    system: str
    question_id: str
    titles: tuple[str, ...]


def read_lists(path: str | Path) -> tuple[ForeignList, ...]:
    """Lists from JSON Lines `{system, qid, retrieved_titles[]}`. Raises `MissingFile`, `CorruptDocument`."""
    found = []
    for where, record in json_lines(Path(path)):
        system, question, titles = record.get("system"), record.get("qid"), record.get("retrieved_titles")
        if not isinstance(system, str) or not isinstance(question, str) or not _texts(titles):
            raise CorruptDocument(f"{where}: no list of titles", hint="write {system, qid, retrieved_titles}")
        found.append(ForeignList(system=system, question_id=question, titles=tuple(titles or ())))
    return tuple(found)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def score_lists(
    dataset: Dataset, lists: Sequence[ForeignList], *, k: int, begun: bool = False
) -> tuple[RankingCase, ...]:
    """A case for each system and each question of the dataset that has gold, ranked to depth `k`; `mode` is the system,
    and `notes.unknown_titles` counts those that name no document.

    With `begun` such a title stands for the one document whose title it begins, if there is just one: lists that were
    cut out of running text lose what follows a comma or a colon. Lists for other questions are left out. Raises
    `InvalidValue` where a title is ambiguous, or a question has no list or two.
    """
    titles = _titles(dataset)
    ranked: dict[tuple[str, str], ForeignList] = {}
    for one in lists:
        if ranked.setdefault((one.system, one.question_id), one) is not one:
            raise InvalidValue(f"{one.system} has two lists for {one.question_id!r}", hint="give one for each question")
    cases = []
    for system in dict.fromkeys(one.system for one in lists):
        for question in (question for question in dataset.questions if question.gold):
            found = ranked.get((system, question.id))
            if found is None:
                raise InvalidValue(f"{system} has no list for {question.id!r}", hint="give one for each question")
            names = [_document(title, titles, begun=begun) for title in found.titles]
            order = distinct(names)[:k]
            cases.append(
                RankingCase(
                    mode=system,
                    question_id=question.id,
                    question=question.text,
                    type=question.type,
                    gold=tuple(question.gold),
                    ranked=order,
                    metrics=score(order, question.gold, k),
                    seconds=0.0,
                    options={},
                    notes={"unknown_titles": sum(1 for name in names if name.startswith(UNKNOWN))},
                )
            )
    return tuple(cases)


def _titles(dataset: Dataset) -> dict[str, str]:
    """Corpus ids by title."""
    found: dict[str, str] = {}
    for item in dataset.items:
        if not isinstance(item, Mapping):
            raise InvalidValue(f"{dataset.name} is a folder of files, which has no titles", hint="give corpus.jsonl")
        if found.setdefault(item["title"], item["document_id"]) != item["document_id"]:
            raise InvalidValue(f"several documents are titled {item['title']!r}", hint="titles must tell them apart")
    return found


def _document(title: str, titles: Mapping[str, str], *, begun: bool) -> str:
    if title in titles:
        return titles[title]
    fits = [name for longer, name in titles.items() if longer.startswith(title)] if begun else []
    return fits[0] if len(fits) == 1 else UNKNOWN + title
