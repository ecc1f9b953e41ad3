"""Reads labelled corpora in four layouts into one form.

    evigraph   corpus*.jsonl {id, title, text}
               questions.jsonl {id, question, gold[], answer?, type?, route?}
    folder     corpus/ with files of any kind
               questions.jsonl, its gold being paths relative to corpus/
    BEIR       corpus.jsonl {_id, title, text}, queries.jsonl {_id, text}, qrels/SPLIT.tsv
    HippoRAG   NAME_corpus.json [{title, text}]
               NAME.json [{question, paragraphs[{is_supporting}] or context + supporting_facts}]

A folder with several corpora is refused until the caller names one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from evigraph.errors import CorruptDocument, InvalidValue, MissingFile

ABSENT = "absent"
"""Type of a question whose answer is not in the corpus: the right answer is to abstain."""

CORPUS_WIDE = "corpus_wide"
"""Type of a question about the corpus as a whole: its answer should draw on many documents and groups."""

SAMPLE_SEED = "evigraph"
"""Drawn with the ids of questions: another seed would be another sample."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A labelled question. `gold` maps each relevant corpus id to its relevance, 1 where the set has no
    grades. `extra` holds the record's further fields as they are, for those who know the set."""

    id: str
    text: str
    gold: Mapping[str, float]
    type: str = ""
    answers: tuple[str, ...] = ()
    route: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Dataset:
    """A corpus with its questions.

    `items` are what `engine.index` takes: records with a `document_id`, or the one path of a folder of
    files. With `gold_by` `document_id` gold names the documents' ids, with `source` their paths relative to
    that folder.
    """

    name: str
    layout: Literal["evigraph", "folder", "beir", "hipporag"]
    items: Sequence[Any]
    questions: tuple[Question, ...]
    corpus_ids: frozenset[str]
    corpus_hash: str
    gold_by: Literal["document_id", "source"] = "document_id"
    warnings: tuple[str, ...] = ()

    def only(self, name: str) -> Dataset:
        """The same with only the questions whose extra field `name` is true. Raises `InvalidValue` where none is."""
        questions = tuple(question for question in self.questions if question.extra.get(name) is True)
        if not questions:
            raise InvalidValue(f"no question of {self.name} is marked {name!r}", hint=f'write "{name}": true')
        return replace(self, questions=questions)


def sample(questions: Sequence[Question], size: int) -> tuple[Question, ...]:
    """`size` of the questions, or all where there are fewer, drawn and ordered by the hash of their ids.

    What is drawn depends on the ids alone, not on their order in the file, and a smaller sample is the beginning of a
    larger one.
    """
    drawn = sorted(questions, key=lambda question: hashlib.sha256(f"{SAMPLE_SEED}\0{question.id}".encode()).hexdigest())
    return tuple(drawn[:size])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Parts:
    """A layout as read, before what all have in common is checked."""

    layout: Literal["evigraph", "folder", "beir", "hipporag"]
    questions: Iterable[Question]
    records: list[dict[str, str]] = field(default_factory=list)
    folder: Path | None = None


def load_dataset(folder: str | Path, *, corpus: str | None = None, split: str | None = None) -> Dataset:
    """Reads the labelled corpus in `folder`.

    `corpus` names one of several corpus files, in full or without ending; `split` one of several BEIR qrels
    files. Raises `MissingFile` when no layout fits, `InvalidValue` when a choice is open or names nothing,
    and `CorruptDocument` with file and line when a record is malformed.
    """
    root = Path(folder)
    if not root.is_dir():
        raise MissingFile(f"{root} is not a folder", hint="give a folder with a corpus and questions")
    parts = _read_layout(root, corpus, split)
    if parts.folder is not None:
        ids, digest = _folder_identity(parts.folder)
        items: list[Any] = [parts.folder]
    else:
        items = [{"document_id": r["id"], "title": r["title"], "text": r["text"]} for r in parts.records]
        ids = [record["id"] for record in parts.records]
        digest = corpus_hash(parts.records)
    questions = tuple(parts.questions)
    return Dataset(
        name=root.resolve().name + (f"/{corpus}" if corpus else ""),
        layout=parts.layout,
        items=items,
        questions=questions,
        corpus_ids=frozenset(ids),
        corpus_hash=digest,
        gold_by="source" if parts.folder is not None else "document_id",
        warnings=_warnings(ids, questions),
    )


def corpus_hash(records: Iterable[Mapping[str, str]]) -> str:
    """sha256 of the records (id, title, text) in order of id, so that the order in the file does not
    matter."""
    digest = hashlib.sha256()
    for record in sorted(records, key=lambda r: r["id"]):
        digest.update(json.dumps([record["id"], record["title"], record["text"]]).encode())
    return digest.hexdigest()


def _read_layout(root: Path, corpus: str | None, split: str | None) -> _Parts:
    if (root / "corpus").is_dir() and (root / "questions.jsonl").is_file():
        return _Parts(layout="folder", folder=root / "corpus", questions=_own_questions(root))
    if (root / "queries.jsonl").is_file() and (root / "qrels").is_dir():
        return _beir(root, split)
    if (root / "questions.jsonl").is_file():
        chosen = _choose("corpus", sorted(root.glob("corpus*.jsonl")), corpus)
        records = [_record(r, "id", where) for where, r in json_lines(chosen)]
        return _Parts(layout="evigraph", records=records, questions=_own_questions(root))
    if corpora := sorted(root.glob("*_corpus.json")):
        return _hipporag(_choose("corpus", corpora, corpus))
    raise MissingFile(
        f"{root} holds no corpus with questions",
        hint="expected corpus.jsonl or corpus/ with questions.jsonl, or the BEIR or HippoRAG layout",
    )


def _choose(what: str, found: Sequence[Path], wanted: str | None) -> Path:
    """The one file meant, or a refusal that lists the files."""
    names = ", ".join(path.name for path in found)
    if wanted is None:
        if len(found) == 1:
            return found[0]
        problem = "there are several" if found else "there is no"
        raise InvalidValue(f"{problem} {what} files: {names or 'none'}", hint=f"name one with {what}=")
    for path in found:
        if wanted in (
            path.name,
            path.stem,
            path.stem.removesuffix("_corpus"),
            path.stem.removeprefix("corpus_"),
        ):
            return path
    raise InvalidValue(f"no {what} file is named {wanted!r}", hint=f"found: {names or 'none'}")


def _warnings(ids: Sequence[str], questions: Sequence[Question]) -> tuple[str, ...]:
    found = []
    known = set(ids)
    if len(known) < len(ids):
        found.append(f"{len(ids) - len(known)} corpus ids occur more than once; the last record of each counts")
    lost = [question.id for question in questions if not known.issuperset(question.gold)]
    if lost:
        found.append(f"{len(lost)} questions have gold outside the corpus, counted as missed (first: {lost[0]})")
    return tuple(found)


# --------------------------------------------------------------------------- own layouts


def _own_questions(root: Path) -> Iterator[Question]:
    for number, (where, record) in enumerate(json_lines(root / "questions.jsonl")):
        gold = record.get("gold", [])
        if not isinstance(gold, list):
            raise CorruptDocument(f"{where}: gold is not a list", hint="write [] where nothing is relevant")
        kind = record.get("type")
        yield Question(
            id=str(record.get("id", number)),
            text=_text(record, "question", where),
            gold=dict.fromkeys(map(str, gold), 1.0),
            type="" if kind is None else str(kind),
            answers=_answers(record.get("answer")),
            route=str(record.get("route") or ""),
            extra=_extra(record, ("id", "question", "gold", "answer", "type", "route")),
        )


def _extra(record: Mapping[str, Any], read: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in read}


def _answers(value: Any) -> tuple[str, ...]:
    """The strings an answer must contain: a list stands for all of its members."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    return tuple(str(one) for one in values if str(one).strip())


def _folder_identity(folder: Path) -> tuple[list[str], str]:
    """Paths of the corpus files relative to `folder`, and the sha256 of paths and contents. Sidecars count
    for the hash, since they carry metadata, but are no documents."""
    digest = hashlib.sha256()
    ids = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        if any(part.startswith(".") for part in name.split("/")):
            continue
        digest.update(json.dumps([name, hashlib.sha256(path.read_bytes()).hexdigest()]).encode())
        if not name.endswith(".meta.json"):
            ids.append(name)
    return ids, digest.hexdigest()


# --------------------------------------------------------------------------- BEIR


def _beir(root: Path, split: str | None) -> _Parts:
    """BEIR's layout (Thakur et al. 2021). Queries without judgements in the split are left out."""
    found = sorted((root / "qrels").glob("*.tsv"))
    if split is None and any(path.stem == "test" for path in found):
        split = "test"
    judged = _qrels(_choose("split", found, split))
    records = [_record(r, "_id", where) for where, r in json_lines(root / "corpus.jsonl")]
    questions = []
    for where, record in json_lines(root / "queries.jsonl"):
        name = _text(record, "_id", where)
        if gold := judged.get(name):
            extra = _extra(record, ("_id", "text"))
            questions.append(Question(id=name, text=_text(record, "text", where), gold=gold, extra=extra))
    return _Parts(layout="beir", records=records, questions=questions)


def _qrels(path: Path) -> dict[str, dict[str, float]]:
    judged: dict[str, dict[str, float]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        cells = line.split("\t")
        if number == 1 and cells[0] == "query-id":
            continue
        try:
            query, document, grade = cells[0], cells[1], float(cells[2])
        except (IndexError, ValueError):
            raise CorruptDocument(
                f"{path.name}:{number}: not `query-id<TAB>corpus-id<TAB>score`",
                hint="see BEIR's qrels format",
            ) from None
        if grade > 0:
            judged.setdefault(query, {})[document] = grade
    return judged


# --------------------------------------------------------------------------- HippoRAG


_HIPPORAG_TEXTS = ("context", "contexts", "paragraphs")
"""Fields that repeat texts of the corpus: read for the gold, and not kept beside it."""


def _hipporag(corpus: Path) -> _Parts:
    """HippoRAG's layout (Gutiérrez et al. 2024): no ids, so a passage's place in the corpus becomes its
    id."""
    records = [
        {
            "id": f"{n:06d}",
            "title": str(entry.get("title", "")),
            "text": _text(entry, "text", f"{corpus.name}[{n}]"),
        }
        for n, entry in enumerate(_json_array(corpus))
    ]
    by_text = {(r["title"], _squeezed(r["text"])): r["id"] for r in reversed(records)}
    by_title: dict[str, set[str]] = {}
    for record in records:
        by_title.setdefault(record["title"], set()).add(record["id"])

    def find(title: str, text: str, where: str) -> str:
        if exact := by_text.get((title, _squeezed(text))):
            return exact
        if len(candidates := by_title.get(title, set())) == 1:
            return min(candidates)
        raise CorruptDocument(
            f"{where}: supporting passage {title!r} is in the corpus {len(candidates)} times",
            hint="questions and corpus belong to different versions",
        )

    path = corpus.with_name(corpus.name.removesuffix("_corpus.json") + ".json")
    if not path.is_file():
        raise MissingFile(f"{corpus.name} has no questions beside it", hint=f"expected {path.name}")
    questions = [_hipporag_question(n, entry, path.name, find) for n, entry in enumerate(_json_array(path))]
    return _Parts(layout="hipporag", records=records, questions=questions)


def _hipporag_question(
    number: int, record: Mapping[str, Any], source: str, find: Callable[[str, str, str], str]
) -> Question:
    where = f"{source}[{number}]"
    if "supporting_facts" in record:  # HotpotQA, 2WikiMultiHopQA
        titles = {fact[0] for fact in record["supporting_facts"]}
        support = [(title, "".join(sentences)) for title, sentences in record["context"] if title in titles]
    else:  # MuSiQue and others
        paragraphs = record.get("paragraphs", record.get("contexts", []))
        wanted = [p for p in paragraphs if p.get("is_supporting")]
        support = [(p["title"], p.get("text", p.get("paragraph_text", ""))) for p in wanted]
    return Question(
        id=str(record.get("id", record.get("_id", number))),
        text=_text(record, "question", where),
        gold={find(title, text, where): 1.0 for title, text in support},
        type=str(record.get("type", "")),
        answers=_answers(record.get("answer")),
        extra=_extra(record, ("id", "_id", "question", "type", "answer", *_HIPPORAG_TEXTS)),
    )


def _squeezed(text: str) -> str:
    """Without white space: the sets join the same sentences with and without a space between."""
    return "".join(text.split())


# --------------------------------------------------------------------------- files


def _record(record: Mapping[str, Any], id_field: str, where: str) -> dict[str, str]:
    title = record.get("title") or ""
    return {"id": _text(record, id_field, where), "title": str(title), "text": _text(record, "text", where)}


def _text(record: Mapping[str, Any], name: str, where: str) -> str:
    value = record.get(name)
    if not isinstance(value, str | int):
        raise CorruptDocument(f"{where}: field {name!r} is missing or not text", hint="see the layouts")
    return str(value)


def json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON Lines file, each with its file and line. Raises `MissingFile`, `CorruptDocument`."""
    if not path.is_file():
        raise MissingFile(f"{path.name} is missing in {path.parent}", hint="see the layouts")
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield f"{path.name}:{number}", _json_object(line, f"{path.name}:{number}")


def _json_object(text: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise CorruptDocument(f"{where}: {error}", hint="write one JSON object a line") from error
    if not isinstance(value, dict):
        raise CorruptDocument(f"{where}: not a JSON object", hint="write one JSON object a line")
    return value


def _json_array(path: Path) -> list[dict[str, Any]]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise CorruptDocument(f"{path.name}: {error}", hint="write a JSON array of objects") from error
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise CorruptDocument(f"{path.name}: not an array of objects", hint="write a JSON array of objects")
    return value
