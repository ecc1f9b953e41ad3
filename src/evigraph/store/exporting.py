"""Reads of everything a scope shows, in pages and always in the same order: for writing the graph out.

Pages follow each other by key, so that a page costs the same however far along it stands and none is held longer than
it is read. Documents come in the order of their revision keys, which no replacement changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evigraph.store.asserted import AssertedReading
from evigraph.store.keys import PassageKey
from evigraph.store.reading import BY_KEY
from evigraph.store.rows import EntityProfile, document_info
from evigraph.types import Assertion, DocumentInfo, Mention, Passage

PASSAGES = 500
ENTITIES = 1_000
TEXT_PARTS = 4
"""Rows of one page. A part of a text holds up to half a million characters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportedText:
    """A part of a document's text, from offset `start`."""

    document_id: str
    start: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportedMention:
    document_id: str
    mention: Mention


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportedAssertion:
    """An assertion as its passage made it, with the entities that its ends count as."""

    id: str
    document_id: str
    source: str
    target: str
    assertion: Assertion


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportedDescription:
    """What was embedded of an entity beside its name, by document."""

    document_id: str
    entity_id: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportedEntity:
    """An entity as the scope shows it; `members` are the ids that count as it, where there are several."""

    id: str
    name: str
    type: str
    degree: int
    passages: int
    members: tuple[str, ...] = ()


Exported = DocumentInfo | ExportedText | Passage | ExportedMention | ExportedAssertion


class ExportReading(AssertedReading):
    """Everything in a snapshot."""

    def export_documents(self) -> Iterator[Exported]:
        """Each document, its text, then passage by passage what was made of it. A long document alternates passages
        with their mentions and assertions."""
        current = 0
        for page in self._passage_pages():
            keys = [key for key, _ in page]
            begun = sorted({key.revision_key for key in keys} - {current})
            documents = self._documents_of(begun)
            # All that begin here also end here, but for the last one.
            texts = self._whole_texts(begun[:-1])
            mentions, assertions = self._mentions_of_page(keys), self.export_assertions_in(keys)
            waiting = {key: list[ExportedAssertion]() for key in keys}
            for key, assertion in assertions:
                waiting[key].append(assertion)
            for key, passage in page:
                if key.revision_key != current:
                    current = key.revision_key
                    yield documents[current]
                    parts = texts[current] if current in texts else self._parts(current)
                    for start, text in parts:
                        yield ExportedText(document_id=passage.document_id, start=start, text=text)
                yield passage
                for mention in mentions.get(key, ()):
                    yield ExportedMention(document_id=passage.document_id, mention=mention)
                yield from waiting[key]

    def export_assertions(self) -> Iterator[ExportedAssertion]:
        """Every assertion, passage by passage."""
        last = PassageKey(0, 0)
        while keys := self._keys_after(last):
            yield from (assertion for _, assertion in self.export_assertions_in(keys))
            last = keys[-1]

    def export_entities(self) -> Iterator[ExportedEntity]:
        """Every entity by id, merged ones under their representative; also ends of assertions nothing mentions."""
        last = ""
        while ids := self._ids_after(last):
            last = ids[-1]
            shown = [entity_id for entity_id in ids if self.identities.of(entity_id) == entity_id]
            profiles = self.known_profiles(shown)
            for entity_id in shown:
                yield self._entity(profiles[entity_id])

    def export_descriptions(self) -> Iterator[ExportedDescription]:
        """What each document says of its entities as a whole, where it says more than the name; documents of one
        embedding model after those of another."""
        for part in self.by_space():
            yield from part._descriptions()

    def _descriptions(self) -> Iterator[ExportedDescription]:
        sql = f"""
            SELECT revision_key, ref, text FROM fact_vectors
            WHERE workspace = {{workspace:String}} AND model = {{model:String}} AND kind = 'entity'
              AND revision_key IN {self.scope.revisions}
              AND (revision_key, ref) > ({{last_key:UInt128}}, {{last_ref:String}})
            ORDER BY revision_key, ref LIMIT 1 BY revision_key, ref LIMIT {{limit:UInt32}}"""
        last_key, last_ref = 0, ""
        while rows := self._rows(sql, model=self.model, last_key=last_key, last_ref=last_ref, limit=ENTITIES):
            revisions = sorted({row[0] for row in rows})
            documents, names = self._documents_of(revisions), self._first_names(revisions)
            for key, ref, text in rows:
                said = text.removeprefix(names.get((key, ref), "")).removeprefix(": ")
                if said:
                    yield ExportedDescription(document_id=documents[key].document_id, entity_id=ref, text=said)
            last_key, last_ref = rows[-1][0], rows[-1][1]

    # ---------------------------------------------------------------- pages

    def _keys_after(self, last: PassageKey) -> list[PassageKey]:
        """Keys of passages after `last`; the key `(0, 0)` belongs to none."""
        sql = f"""
            SELECT revision_key, passage_index FROM passages
            WHERE workspace = {{workspace:String}} AND level = 0 AND revision_key IN {self.scope.revisions}
              AND (revision_key, passage_index) > ({{last_key:UInt128}}, {{last_index:UInt32}})
            ORDER BY revision_key, passage_index LIMIT {{limit:UInt32}}"""
        rows = self._rows(sql, last_key=last.revision_key, last_index=last.passage_index, limit=PASSAGES)
        return [PassageKey(*row) for row in rows]

    def _passage_pages(self) -> Iterator[list[tuple[PassageKey, Passage]]]:
        sql = f"""
            SELECT revision_key, passage_index, document_id, revision, start, end, text, context, heading_path, page,
                token_count, sentence_starts, sentence_ends
            FROM passages WHERE workspace = {{workspace:String}} AND level = 0 AND {BY_KEY}
            ORDER BY revision_key, passage_index"""
        last = PassageKey(0, 0)
        while keys := self._keys_after(last):
            yield [(PassageKey(row[0], row[1]), _passage(row)) for row in self._rows(sql, keys=keys)]
            last = keys[-1]

    def _documents_of(self, revision_keys: Sequence[int]) -> dict[int, DocumentInfo]:
        sql = """
            SELECT revision_key, document_id, source, title, revision, generation, published_at, date, metadata,
                passages, media_type, language, content_hash, origin
            FROM publications
            WHERE workspace = {workspace:String} AND revision_key IN {wanted:Array(UInt128)}"""
        return {row[0]: document_info(row[1:]) for row in self._rows(sql, wanted=list(revision_keys))}

    def _first_names(self, revision_keys: Sequence[int]) -> dict[tuple[int, str], str]:
        """The name that the given revisions first call each of their entities."""
        sql = """
            SELECT revision_key, entity_id, argMin(name, (passage_index, start, name)) FROM mentions
            WHERE workspace = {workspace:String} AND revision_key IN {wanted:Array(UInt128)}
            GROUP BY revision_key, entity_id"""
        return {(row[0], row[1]): row[2] for row in self._rows(sql, wanted=list(revision_keys))}

    def _whole_texts(self, revision_keys: Sequence[int]) -> dict[int, list[tuple[int, str]]]:
        sql = """
            SELECT revision_key, start, text FROM document_texts
            WHERE workspace = {workspace:String} AND revision_key IN {wanted:Array(UInt128)}
            ORDER BY revision_key, start"""
        found: dict[int, list[tuple[int, str]]] = {key: [] for key in revision_keys}
        for key, start, text in self._rows(sql, wanted=list(revision_keys)) if revision_keys else ():
            found[key].append((start, text))
        return found

    def _parts(self, revision_key: int) -> Iterator[tuple[int, str]]:
        """The text of one revision, a few parts at a time."""
        sql = """
            SELECT start, text FROM document_texts
            WHERE workspace = {workspace:String} AND revision_key = {wanted:UInt128} AND start >= {least:UInt64}
            ORDER BY start LIMIT {limit:UInt32}"""
        least = 0
        while rows := self._rows(sql, wanted=revision_key, least=least, limit=TEXT_PARTS):
            yield from ((start, text) for start, text in rows)
            if len(rows) < TEXT_PARTS:
                return
            least = rows[-1][0] + 1

    def _mentions_of_page(self, keys: Sequence[PassageKey]) -> dict[PassageKey, list[Mention]]:
        sql = f"""
            SELECT revision_key, passage_index, entity_id, key, name, type, start, end, role, weight, confidence,
                extractor
            FROM mentions WHERE workspace = {{workspace:String}} AND {BY_KEY}
            ORDER BY revision_key, passage_index, start, end, entity_id, key, role, name, extractor"""
        found: dict[PassageKey, list[Mention]] = {}
        for row in self._rows(sql, keys=list(keys)):
            found.setdefault(PassageKey(row[0], row[1]), []).append(_mention(row))
        return found

    def export_assertions_in(self, keys: Sequence[PassageKey]) -> list[tuple[PassageKey, ExportedAssertion]]:
        """The assertions of the given passages."""
        sql = f"""
            SELECT revision_key, passage_index, assertion_id, document_id, subject_id, subject_name, subject_type,
                predicate, object_id, object_name, object_type, description, start, end, confidence, weight, extractor,
                verified
            FROM assertions WHERE workspace = {{workspace:String}} AND {BY_KEY}
            ORDER BY revision_key, passage_index, start, assertion_id, end, extractor, description"""
        of = self.identities.of
        return [
            (
                PassageKey(row[0], row[1]),
                ExportedAssertion(
                    id=row[2], document_id=row[3], source=of(row[4]), target=of(row[8]), assertion=_assertion(row)
                ),
            )
            for row in self._rows(sql, keys=list(keys))
        ]

    def _ids_after(self, last: str) -> list[str]:
        sides = " UNION DISTINCT ".join(
            f"""
            (SELECT DISTINCT {column} AS id FROM {table}
             WHERE workspace = {{workspace:String}} AND {column} > {{last:String}}
               AND revision_key IN {self.scope.revisions}
             ORDER BY id LIMIT {{limit:UInt32}})"""
            for table, column in (("mentions", "entity_id"), ("assertions", "subject_id"), ("assertions", "object_id"))
        )
        sql = f"SELECT id FROM ({sides}) ORDER BY id LIMIT {{limit:UInt32}}"
        return [row[0] for row in self._rows(sql, last=last, limit=ENTITIES)]

    def _entity(self, profile: EntityProfile) -> ExportedEntity:
        return ExportedEntity(
            id=profile.entity_id,
            name=profile.name,
            type=profile.type,
            degree=profile.degree,
            passages=profile.passage_count,
            members=self.identities.members.get(profile.entity_id, ()),
        )


def _passage(row: tuple[Any, ...]) -> Passage:
    return Passage(
        index=row[1],
        document_id=row[2],
        revision=row[3],
        start=row[4],
        end=row[5],
        text=row[6],
        context=row[7],
        heading_path=tuple(row[8]),
        page=row[9],
        token_count=row[10],
        sentences=tuple(zip(row[11], row[12], strict=True)),
    )


def _mention(row: tuple[Any, ...]) -> Mention:
    return Mention(
        passage_index=row[1],
        entity_id=row[2],
        key=row[3],
        name=row[4],
        type=row[5],
        start=row[6],
        end=row[7],
        role=row[8],
        weight=float(row[9]),
        confidence=float(row[10]),
        extractor=row[11],
    )


def _assertion(row: tuple[Any, ...]) -> Assertion:
    return Assertion(
        passage_index=row[1],
        subject_id=row[4],
        subject_name=row[5],
        subject_type=row[6],
        predicate=row[7],
        object_id=row[8],
        object_name=row[9],
        object_type=row[10],
        description=row[11],
        start=row[12],
        end=row[13],
        confidence=float(row[14]),
        weight=float(row[15]),
        extractor=row[16],
        verified=row[17],
    )
