"""Rows of one staged batch, table by table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from evigraph.store.keys import assertion_id, revision_key
from evigraph.store.names import FORM_COLUMNS, form_rows
from evigraph.store.rows import StagedPassages
from evigraph.text.names import capitalised_runs
from evigraph.types import Assertion

Insert = Callable[[str, Sequence[str], Sequence[Sequence[Any]]], None]


def insert_staged(insert: Insert, workspace: str, model: str, batch: Sequence[StagedPassages]) -> None:
    """Insert a batch into every table it belongs to, one block a table."""
    for table, columns, rows in (
        ("passages", _PASSAGE_COLUMNS, _passages),
        ("passage_vectors", _VECTOR_COLUMNS, _passage_vectors),
        ("terms", _TERM_COLUMNS, _terms),
        ("mentions", _MENTION_COLUMNS, _mentions),
        ("name_forms", FORM_COLUMNS, _name_forms),
        ("assertions", _ASSERTION_COLUMNS, _assertions),
        ("fact_vectors", _FACT_COLUMNS, _fact_vectors),
    ):
        block = [row for staged in batch if staged.passages for row in rows(workspace, model, staged)]
        insert(table, columns, block)


_PASSAGE_COLUMNS = (
    "workspace",
    "revision_key",
    "passage_index",
    "document_id",
    "revision",
    "level",
    "start",
    "end",
    "text",
    "context",
    "heading_path",
    "page",
    "token_count",
    "sentence_starts",
    "sentence_ends",
    "supports",
    "capitalised",
)
_VECTOR_COLUMNS = ("workspace", "model", "revision_key", "passage_index", "level", "vector")
_TERM_COLUMNS = ("workspace", "term", "revision_key", "passage_index", "tf", "length")
_MENTION_COLUMNS = (
    "workspace",
    "key",
    "entity_id",
    "revision_key",
    "passage_index",
    "name",
    "type",
    "start",
    "end",
    "role",
    "weight",
    "confidence",
    "extractor",
)
_ASSERTION_COLUMNS = (
    "workspace",
    "assertion_id",
    "revision_key",
    "passage_index",
    "document_id",
    "subject_id",
    "subject_name",
    "subject_type",
    "predicate",
    "object_id",
    "object_name",
    "object_type",
    "description",
    "start",
    "end",
    "confidence",
    "weight",
    "extractor",
    "verified",
)
_FACT_COLUMNS = ("workspace", "model", "kind", "revision_key", "ref", "text", "vector")


def _key(staged: StagedPassages) -> int:
    first = staged.passages[0]
    return revision_key(first.document_id, first.revision)


def _passages(workspace: str, model: str, staged: StagedPassages) -> Iterator[list[Any]]:
    key = _key(staged)
    for passage in staged.passages:
        yield [
            workspace,
            key,
            passage.index,
            passage.document_id,
            passage.revision,
            passage.level,
            passage.start,
            passage.end,
            passage.text,
            passage.context,
            list(passage.heading_path),
            passage.page,
            passage.token_count,
            [start for start, _ in passage.sentences],
            [end for _, end in passage.sentences],
            list(passage.supports),
            [] if passage.level else capitalised_runs(passage.text),
        ]


def _passage_vectors(workspace: str, model: str, staged: StagedPassages) -> Iterator[list[Any]]:
    key = _key(staged)
    for passage, vector in zip(staged.passages, staged.vectors, strict=True):
        yield [workspace, model, key, passage.index, passage.level, vector.tolist()]


def _terms(workspace: str, model: str, staged: StagedPassages) -> Iterator[list[Any]]:
    key = _key(staged)
    for passage, counts in zip(staged.passages, staged.terms, strict=True):
        length = sum(counts.values())
        for term in sorted(counts):
            yield [workspace, term, key, passage.index, counts[term], length]


def _mentions(workspace: str, model: str, staged: StagedPassages) -> Iterator[list[Any]]:
    key = _key(staged)
    for mention in staged.mentions:
        yield [
            workspace,
            mention.key,
            mention.entity_id,
            key,
            mention.passage_index,
            mention.name,
            mention.type,
            mention.start,
            mention.end,
            mention.role,
            mention.weight,
            mention.confidence,
            mention.extractor,
        ]


def _name_forms(workspace: str, model: str, staged: StagedPassages) -> Iterator[list[Any]]:
    names = ((mention.key, mention.entity_id, mention.type, mention.name) for mention in staged.mentions)
    yield from form_rows(workspace, _key(staged), names)


def _assertions(workspace: str, model: str, staged: StagedPassages) -> Iterator[list[Any]]:
    key = _key(staged)
    document_id = staged.passages[0].document_id
    for assertion in staged.assertions:
        yield [
            workspace,
            identify(document_id, assertion),
            key,
            assertion.passage_index,
            document_id,
            assertion.subject_id,
            assertion.subject_name,
            assertion.subject_type,
            assertion.predicate,
            assertion.object_id,
            assertion.object_name,
            assertion.object_type,
            assertion.description,
            assertion.start,
            assertion.end,
            assertion.confidence,
            assertion.weight,
            assertion.extractor,
            assertion.verified,
        ]


def _fact_vectors(workspace: str, model: str, staged: StagedPassages) -> Iterator[list[Any]]:
    key = _key(staged)
    for fact in staged.facts:
        yield [workspace, model, fact.kind, key, fact.ref, fact.text, fact.vector.tolist()]


def identify(document_id: str, assertion: Assertion) -> str:
    """The assertion's id in a document."""
    passage_id = f"{document_id}#{assertion.passage_index}"
    return assertion_id(passage_id, assertion.subject_id, assertion.predicate, assertion.object_id, assertion.start)
