"""Summaries by a chat model, from below upwards; where a call fails, or nothing of a reply can be kept, the extractive
summary stays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from evigraph.community.ask import Asker
from evigraph.community.check import checked
from evigraph.community.draft import Draft
from evigraph.community.reading_matter import ReadingMatter
from evigraph.models.meter import Metered
from evigraph.store import Snapshot
from evigraph.store.communities import TreeNode
from evigraph.store.trees import StagedSummary
from evigraph.text.instructions import gives_orders, without_obedience

AT_ONCE = 100
"""Communities whose sentences are fetched at once."""


@dataclass(kw_only=True, slots=True)
class Outcome:
    """What became of the replies: communities that got no summary from the model, since the call failed (`failed`), the
    model found nothing to summarise (`declined`), or nothing of the reply could be kept (`empty`); sentences left out
    since what they cite does not hold them, and citations of numbers that do not exist; sentences of documents that
    were not shown since they give orders to a model (`ordered`), and those of replies that gave or repeated one
    (`obeyed`)."""

    failed: int = 0
    declined: int = 0
    empty: int = 0
    unsupported: int = 0
    removed: int = 0
    ordered: int = 0
    obeyed: int = 0


@dataclass(kw_only=True)
class ModelWriter:
    """Writes the summaries of one draft. `done` is called after each."""

    snapshot: Snapshot
    draft: Draft
    chat: Metered
    concurrency: int
    done: Callable[[], None]
    outcome: Outcome = field(default_factory=Outcome)

    def __post_init__(self) -> None:
        self.asker = Asker(self.chat, self.concurrency)
        self._languages = self.snapshot.counts().languages

    def write(self, reused: Mapping[int, StagedSummary]) -> dict[int, StagedSummary]:
        """Summaries of all communities that are not in `reused`, by number."""
        known = dict(reused)
        for level in self.draft.upwards:
            waiting = [node for node in level if node.number not in reused]
            for first in range(0, len(waiting), AT_ONCE):
                known.update(self._batch(waiting[first : first + AT_ONCE], known))
        return {number: summary for number, summary in known.items() if number not in reused}

    def _batch(self, nodes: Sequence[TreeNode], known: Mapping[int, StagedSummary]) -> dict[int, StagedSummary]:
        matter = ReadingMatter(self.snapshot, self.draft, nodes, known)
        asked = [node for node in nodes if matter.supports[node.number]]
        for _ in range(len(nodes) - len(asked)):
            self.done()
        replies = self.asker.ask([matter.question(node) for node in asked], self.done)
        found = {node.number: self.draft.extractive(node.number) for node in nodes}
        for node, reply in zip(asked, replies, strict=True):
            found[node.number] = self._summary(reply, matter, node.number)
        return found

    def _summary(self, reply: str | None, matter: ReadingMatter, number: int) -> StagedSummary:
        """What is kept of a reply, or the extractive summary."""
        if reply is None:
            self.outcome.failed += 1
            return self.draft.extractive(number)
        supports, writer = matter.supports[number], self.draft.writer
        sentences = [matter.text(support) for support in supports]
        # The sentence is the last line, below where it stands; one that gives orders bears out nothing.
        ordered = [gives_orders(sentence.rpartition("\n")[2]) for sentence in sentences]
        orders = [sentence for sentence, given in zip(sentences, ordered, strict=True) if given]
        evidence = ["" if given else sentence for sentence, given in zip(sentences, ordered, strict=True)]
        kept = without_obedience(reply, orders, evidence, self._languages)
        self.outcome.ordered += len(orders)
        self.outcome.obeyed += kept.dropped
        found = checked(kept.text, len(supports), lambda place: evidence[place - 1], self._languages)
        self.outcome.unsupported += found.unsupported
        self.outcome.removed += found.removed
        if found.text:
            return StagedSummary(
                number=number,
                input_hash=self.draft.input_hash(number, writer),
                references=supports,
                text=found.text,
                model=writer,
            )
        self.outcome.declined += found.declined
        self.outcome.empty += not found.declined
        return self.draft.extractive(number, declined_by=writer if found.declined else "")
