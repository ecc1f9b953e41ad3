"""Open information extraction beside a corpus: `corpus.jsonl {id, title, text}` with `openie*.jsonl {id, entities,
triples}` (the layout of HippoRAG) or `*triples*.jsonl {article, subject, relation, object}`.

A row of the corpus becomes a document, which its title names, whatever was extracted. Names have no types and become
CONCEPTs; a relation becomes a predicate in upper case, its words joined by `_`. Every file of triples is an extractor
of its own. Where several make the same claim of the same place, that of the first file by name is kept, and the others
are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from evigraph.errors import UnknownGraphFormat
from evigraph.ingest.extractors.assemble import names_of_title
from evigraph.ingest.imports.documents import Import, body_of, id_of
from evigraph.ingest.imports.given import GivenClaim, GivenEntity, GivenMention, GivenPassage
from evigraph.ingest.imports.rows import MAX_NAME, Folder, Row, RowError, checked_text, list_of, name_of, text_of
from evigraph.ingest.sources import SourceDocument
from evigraph.text.names import name_key

CORPUS = "corpus.jsonl"
_NOT_WORD = re.compile(r"\W+")
_CONCEPT = "CONCEPT"
_TITLE = "import:title"


def extraction_files(folder: Folder) -> list[Path]:
    """The files of entities and triples."""
    names = ("openie", "triples")
    return [path for path in folder.files if path.suffix == ".jsonl" and any(part in path.stem for part in names)]


def matches(folder: Folder) -> bool:
    return folder.beside(CORPUS) is not None and bool(extraction_files(folder))


@dataclass(kw_only=True, slots=True)
class _Passage:
    document_id: str
    title: str
    text: str
    mentions: list[GivenMention] = field(default_factory=list)
    claims: list[GivenClaim] = field(default_factory=list)


def documents(job: Import) -> Iterator[SourceDocument]:
    """The corpus with what the files say of it."""
    corpus = job.folder.beside(CORPUS)
    if corpus is None or not (files := extraction_files(job.folder)):
        raise UnknownGraphFormat(
            "there is no corpus.jsonl with an openie*.jsonl or *triples*.jsonl file beside it",
            hint="put them into one folder and name that",
        )
    passages, by_title = _corpus(job, corpus)
    for path in files:
        extractor = f"import:{path.stem}"[:100]
        for row in job.folder.rows(path, job.problems):
            job.rows["extractions"] += 1
            try:
                key = "id" if "id" in row.values else "article"
                name = id_of(row.values.get(key), key)
                passage = passages.get(name) or by_title.get(name)
                if passage is None:
                    raise RowError("unknown_passage", f"{key} {name[:80]!r} is not in {CORPUS}")
                _read(job, row, passage, extractor)
            except RowError as error:
                job.problems.add(row, error.reason, error.detail)
    for passage in passages.values():
        yield job.document(
            document_id=passage.document_id,
            source=passage.document_id,
            title=passage.title,
            text=passage.text,
            units=[GivenPassage(start=0, end=len(passage.text), context=passage.title)],
            mentions=[*passage.mentions, *_titled(passage)],
            claims=passage.claims,
            descriptions={},
            untyped=True,
        )


def _titled(passage: _Passage) -> Iterator[GivenMention]:
    """What the passage is about, by its title: names outside the text, which span all of it."""
    for name, weight in names_of_title(passage.title, passage.text):
        entity = GivenEntity.of(name, _CONCEPT)
        yield GivenMention(
            unit=0,
            entity=entity,
            extractor=_TITLE,
            span=(0, len(passage.text)),
            role="title" if entity.key == name_key(passage.title) else "alias",
            weight=weight,
        )


def _corpus(job: Import, path: Path) -> tuple[dict[str, _Passage], dict[str, _Passage]]:
    """The rows of the corpus by id, and by title where that is one row's alone."""
    passages: dict[str, _Passage] = {}
    titled: dict[str, list[_Passage]] = {}
    for row in job.folder.rows(path, job.problems):
        job.rows["passages"] += 1
        try:
            document_id = id_of(row.values.get("id"), "id")
            title = " ".join(text_of(row.values, "title", limit=MAX_NAME, default="").split())
            passage = _Passage(document_id=document_id, title=title, text=body_of(row.values.get("text"), "text"))
            if document_id in passages:
                raise RowError("duplicate_id", f"id {document_id[:80]!r} stands in two rows; the first counts")
        except RowError as error:
            job.problems.add(row, error.reason, error.detail)
            continue
        passages[document_id] = passage
        titled.setdefault(title, []).append(passage)
    return passages, {title: found[0] for title, found in titled.items() if len(found) == 1}


def _read(job: Import, row: Row, passage: _Passage, extractor: str) -> None:
    if "triples" not in row.values and "entities" not in row.values:
        relation = row.values.get("relation", row.values.get("predicate"))
        passage.claims.append(_claim([row.values.get("subject"), relation, row.values.get("object")], extractor))
        job.rows["triples"] += 1
        return
    for value in list_of(row.values, "entities"):
        job.rows["entities"] += 1
        try:
            entity = GivenEntity.of(name_of(value, "entity"), _CONCEPT)
            passage.mentions.append(GivenMention(unit=0, entity=entity, extractor=extractor))
        except RowError as error:
            job.problems.add(row, error.reason, error.detail)
    for value in list_of(row.values, "triples"):
        job.rows["triples"] += 1
        try:
            passage.claims.append(_claim(value, extractor))
        except RowError as error:
            job.problems.add(row, error.reason, error.detail)


def _claim(triple: object, extractor: str) -> GivenClaim:
    if not isinstance(triple, list):
        raise RowError("malformed_triple", f"a triple is {type(triple).__name__}, not a list")
    if len(triple) != 3:
        raise RowError("malformed_triple", f"a triple has {len(triple)} parts: {str(triple)[:150]}")
    subject = GivenEntity.of(name_of(triple[0], "subject"), _CONCEPT)
    relation = " ".join(checked_text(triple[1], "relation", limit=MAX_NAME).split())
    target = GivenEntity.of(name_of(triple[2], "object"), _CONCEPT)
    predicate = predicate_of(relation)
    if subject.id == target.id:
        raise RowError("self_relation", f"{subject.name!r} {relation!r} itself")
    return GivenClaim(
        unit=0,
        subject=subject,
        predicate=predicate,
        object=target,
        description=f"{subject.name} {relation} {target.name}",
        extractor=extractor,
    )


def predicate_of(relation: str) -> str:
    """A relation as a predicate: upper case, words joined by `_`."""
    predicate = _NOT_WORD.sub("_", relation).strip("_").upper()
    if not predicate:
        raise RowError("no_name", f"relation {relation[:40]!r} holds no letter or digit")
    return predicate
