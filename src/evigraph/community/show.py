"""Communities as answers and lists show them: title, counts, and a summary whose every sentence is in scope."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evigraph.communities import Community, Quote
from evigraph.community.cluster import Tree
from evigraph.community.compose import compose
from evigraph.community.counted import Counted
from evigraph.community.summarise import PARAMETERS, Material, choose, degrees, material, pairs_of, summarise
from evigraph.community.within import runs
from evigraph.once import once
from evigraph.store import Snapshot
from evigraph.store.communities import SentenceRef, Statements, StoredSummary, TreeNode
from evigraph.store.keys import PassageKey
from evigraph.text.markers import cited_numbers, renumbered
from evigraph.text.quoting import Sentence, quote_span, readable, without_brackets
from evigraph.text.telling import is_telling
from evigraph.types import Chunk

MEMBERS = 20
TITLE = 3
"""Members that a community lists, and those whose names make its title."""
LOOKED_AT = 3
"""Members whose passages are looked at where no assertion speaks of a community."""

_OPEN_END = re.compile(r"[\w)\]”\"'…]$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """`references` in scope; a chat model's `text` cites them by number, from 1."""

    references: tuple[SentenceRef, ...]
    text: str | None = None


class Shown:
    """Makes `Community`s of the nodes of one tree. `stored` says that its summaries are those in force; others, and
    stored ones of which too little is in scope, are worked out from the scope."""

    def __init__(self, snapshot: Snapshot, tree: Tree, *, stored: bool) -> None:
        self._snapshot = snapshot
        self._tree = tree
        self._stored = stored
        self._worked_out: set[int] = set()

    @property
    def notes(self) -> tuple[str, ...]:
        count = len(self._worked_out)
        if not count:
            return ()
        return (f"communities: {count} stored summaries rest on text out of scope; the scope's own sentences stand in",)

    def communities(self, nodes: Sequence[TreeNode], counted: Counted, quotes: int) -> list[Community]:
        """The given communities, with at most `quotes` sentences each; a chat model's summary brings all it cites."""
        summaries = self._summaries(nodes, max(quotes, PARAMETERS.sentences))
        best = {node.number: counted.best(node, MEMBERS) for node in nodes}
        labels = self._snapshot.entity_labels([entity for ids in best.values() for entity in ids[:TITLE]])
        keys = [reference.key for summary in summaries.values() for reference in summary.references]
        chunks = self._snapshot.chunks(sorted(set(keys)))
        found = []
        for node in nodes:
            text, quoted = _said(summaries[node.number], chunks)
            by_model = summaries[node.number].text is not None
            names = [labels[entity][0] for entity in best[node.number][:TITLE] if entity in labels]
            found.append(
                Community(
                    id=f"c{node.number}",
                    level=node.level,
                    last_level=node.last_level,
                    parent=None if node.parent is None else f"c{node.parent}",
                    title=without_brackets(", ".join(names)),
                    size=node.size,
                    relationships=counted.relationships(node),
                    documents=counted.documents(node),
                    entities=best[node.number],
                    summary=text,
                    quotes=quoted if by_model else quoted[:quotes],
                    summarised_by="model" if by_model else "extractive",
                )
            )
        return found

    # ---------------------------------------------------------------- where summaries come from

    def _summaries(self, nodes: Sequence[TreeNode], sentences: int) -> dict[int, Summary]:
        stored: Mapping[int, StoredSummary] = {}
        if self._stored:
            stored = self._snapshot.tree_summaries([node.number for node in nodes])
        found: dict[int, Summary] = {}
        missing = []
        for node in nodes:
            kept = stored.get(node.number)
            if kept is None or _lost(kept):
                missing.append(node)
            else:
                found[node.number] = Summary(references=kept.references, text=kept.text)
        self._worked_out.update(node.number for node in missing if node.number in stored)
        found.update(self._extracted(missing, sentences))
        silent = [node for node in nodes if not found[node.number].references]
        found.update(self._mentioned(silent))
        return found

    def _extracted(self, nodes: Sequence[TreeNode], sentences: int) -> dict[int, Summary]:
        """Summaries worked out from the scope's statements, by number."""
        if not nodes:
            return {}
        composed = not self._stored and self._tree.levels > 1
        chosen = self._composed if composed else self._chosen(nodes, sentences)
        return {
            node.number: Summary(references=tuple(self._statements.reference(at) for at in chosen[node.number]))
            for node in nodes
        }

    def _chosen(self, nodes: Sequence[TreeNode], sentences: int) -> dict[int, tuple[int, ...]]:
        """Sentences of each community by itself, whatever its parts; one pass for those of a level."""
        chosen: dict[int, tuple[int, ...]] = {node.number: () for node in nodes}
        parameters = replace(PARAMETERS, sentences=sentences)
        for level in sorted({node.level for node in nodes}):
            column = self._tree.paths[:, level]
            wanted = np.isin(column, [node.number for node in nodes if node.level == level])
            numbers = np.where(wanted, column, -1)
            pairs, degree = pairs_of(numbers, self._material), degrees(numbers, self._material)
            for number, start, end in runs(pairs.community):
                chosen[number] = choose(pairs.of(slice(start, end)), degree, self._material, parameters)
        return chosen

    @once
    def _composed(self) -> dict[int, tuple[int, ...]]:
        return compose(self._tree, summarise(self._tree, self._material), self._material)

    @once
    def _statements(self) -> Statements:
        return self._snapshot.community_statements()

    @once
    def _material(self) -> Material:
        return material(self._statements)

    def _mentioned(self, nodes: Sequence[TreeNode]) -> dict[int, Summary]:
        """For communities that no assertion speaks of: the first sentence that tells something in a passage that
        mentions a member."""
        members = {
            node.number: [
                self._tree.entities[at]
                for at in np.flatnonzero(self._tree.paths[:, node.level] == node.number)[:LOOKED_AT]
            ]
            for node in nodes
        }
        first = self._snapshot.first_passages(sorted({entity for ids in members.values() for entity in ids}))
        passages = {number: [first[entity] for entity in ids if entity in first] for number, ids in members.items()}
        chunks = self._snapshot.chunks(sorted({key for keys in passages.values() for key in keys}))
        return {number: Summary(references=_first_telling(keys, chunks)) for number, keys in passages.items()}


def _lost(kept: StoredSummary) -> bool:
    """Whether too little of a summary is in scope: any sentence that a text rests on, or most of those quoted."""
    return kept.dropped > len(kept.references) if kept.extractive else kept.text is None


def _first_telling(keys: Iterable[PassageKey], chunks: Mapping[PassageKey, Chunk]) -> tuple[SentenceRef, ...]:
    for key in keys:
        chunk = chunks[key]
        for start, end in chunk.sentences or ((chunk.start, chunk.end),):
            if is_telling(chunk.text[start - chunk.start : end - chunk.start]):
                return (SentenceRef(key=key, start=start, end=end),)
    return ()


# --------------------------------------------------------------------------- text


def _said(summary: Summary, chunks: Mapping[PassageKey, Chunk]) -> tuple[str, tuple[Quote, ...]]:
    """A summary's text, and its sentences as quotes. A chat model's cites these by number, in their order."""
    if summary.text is None:
        return in_words(summary.references, chunks), quotes_of(summary.references, chunks)
    known = [number for number in cited_numbers(summary.text) if number <= len(summary.references)]
    text = renumbered(summary.text, {number: place for place, number in enumerate(known, start=1)})
    return text, quotes_of([summary.references[number - 1] for number in known], chunks)


def in_words(references: Sequence[SentenceRef], chunks: Mapping[PassageKey, Chunk]) -> str:
    """Sentences as running text."""
    said = [readable(sentence_at(reference, chunks), chunks[reference.key]) for reference in references]
    return " ".join(f"{text}." if _OPEN_END.search(text) else text for text in said)


def sentence_at(reference: SentenceRef, chunks: Mapping[PassageKey, Chunk]) -> Sentence:
    chunk = chunks[reference.key]
    text = chunk.text[reference.start - chunk.start : reference.end - chunk.start]
    return Sentence(chunk=0, start=reference.start, end=reference.end, text=text)


def quotes_of(references: Sequence[SentenceRef], chunks: Mapping[PassageKey, Chunk]) -> tuple[Quote, ...]:
    found = []
    for reference in references:
        chunk = chunks[reference.key]
        start, end = quote_span(sentence_at(reference, chunks))
        found.append(
            Quote(
                text=chunk.text[start - chunk.start : end - chunk.start],
                chunk_id=chunk.id,
                document_id=chunk.document_id,
                revision=chunk.revision,
                source=chunk.source,
                title=chunk.title,
                start=start,
                end=end,
                page=chunk.page,
            )
        )
    return tuple(found)
