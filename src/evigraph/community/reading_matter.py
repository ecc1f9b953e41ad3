"""What a chat model is shown of some communities: their sentences with facts, or the summaries of their parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evigraph.community.draft import Draft
from evigraph.community.prompt import Source, leaf_messages, upper_messages
from evigraph.community.show import sentence_at
from evigraph.models.ports import Message
from evigraph.store import Snapshot
from evigraph.store.communities import SentenceRef, TreeNode
from evigraph.store.trees import StagedSummary
from evigraph.text.markers import renumbered
from evigraph.text.quoting import readable
from evigraph.types import CO_OCCURS, Relationship

FACTS = 2
"""Facts shown with a sentence."""
FACTS_READ = 20
"""Facts read for each passage, at most, to find those of a sentence."""


class ReadingMatter:
    """For a batch of communities; `known` holds the summaries of all parts. `supports` lists what each summary will
    rest on, in the order of its numbers: the sentences shown, or all that the summaries of its parts rest on."""

    def __init__(
        self, snapshot: Snapshot, draft: Draft, nodes: Sequence[TreeNode], known: Mapping[int, StagedSummary]
    ) -> None:
        self._draft = draft
        self._known = known
        self._parts = {node.number: draft.read_parts(node.number, known) for node in nodes}
        self.supports = {node.number: self._supports(node.number) for node in nodes}
        keys = sorted({reference.key for references in self.supports.values() for reference in references})
        self._chunks = snapshot.chunks(keys)
        read = sorted({reference.key for node in nodes for reference in self._own(node.number)})
        self._facts: dict[str, list[Relationship]] = {}
        for fact in snapshot.assertions_in(read, limit=FACTS_READ * len(read)) if read else ():
            if fact.type != CO_OCCURS:
                self._facts.setdefault(fact.chunk_id, []).append(fact)

    def _own(self, number: int) -> tuple[SentenceRef, ...]:
        """The sentences shown of a community that has no parts."""
        shown = self._draft.shown.get(number, ()) if number not in self._draft.parts else ()
        return tuple(self._draft.statements.reference(at) for at in shown)

    def _supports(self, number: int) -> tuple[SentenceRef, ...]:
        if number not in self._draft.parts:
            return self._own(number)
        rested_on = (reference for part in self._parts[number] for reference in self._known[part].references)
        return tuple(dict.fromkeys(rested_on))

    def question(self, node: TreeNode) -> list[Message]:
        """What the model is asked about a community."""
        places = {reference: place for place, reference in enumerate(self.supports[node.number], start=1)}
        if node.number not in self._draft.parts:
            return leaf_messages([self._source(place, reference) for reference, place in places.items()])
        return upper_messages([self._told(part, places) for part in self._parts[node.number]])

    def text(self, reference: SentenceRef) -> str:
        """What a citation of a sentence may rest on: where the sentence stands, and the sentence."""
        return f"{self._chunks[reference.key].context}\n{self._said(reference)}"

    def _said(self, reference: SentenceRef) -> str:
        return readable(sentence_at(reference, self._chunks), self._chunks[reference.key])

    def _source(self, place: int, reference: SentenceRef) -> Source:
        chunk = self._chunks[reference.key]
        facts = [
            f"{fact.source_name} {fact.type} {fact.target_name}"
            for fact in self._facts.get(chunk.id, ())
            if reference.start <= fact.start < reference.end
        ]
        return Source(
            number=place,
            label=chunk.title or chunk.source,
            text=self._said(reference),
            facts=tuple(dict.fromkeys(facts))[:FACTS],
        )

    def _told(self, part: int, places: Mapping[SentenceRef, int]) -> str:
        """The summary of a part, with the numbers of the whole."""
        summary = self._known[part]
        if summary.text:
            own = {own: places[reference] for own, reference in enumerate(summary.references, start=1)}
            return renumbered(summary.text, own)
        return " ".join(f"{self._said(reference)} [{places[reference]}]" for reference in summary.references)
