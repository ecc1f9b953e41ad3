"""Corpus-wide answers without a model: by theme, a few quoted sentences and the citations that support them.

Each theme gives its community's title, then sentences of different parts and groups, each cited; further parts that
speak to the same theme are cited by bare markers, so that many can be and the text still be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evigraph.query.answer.extractive import says_same
from evigraph.query.answer.sentences import cite, readable
from evigraph.query.answer.support import LONGEST_ANSWER, marker_missing
from evigraph.query.overview.state import Candidate, Overview, Theme, part_of
from evigraph.query.run import Run

QUOTED = 3
"""Sentences written out of each theme."""
LISTED = 12
"""Sentences written out where there are no themes."""
SAME_GROUP = 0.8
"""What a sentence counts for each one written before it in its theme, from a document with the same value of a group
key."""
FURTHER = "Further documents"
"""Heading of citations that belong to no theme."""


def answer_offline(run: Run, overview: Overview) -> None:
    """Leave text and citations in the run, and in each theme its partial answer."""
    with run.ledger.stage("overview_answer") as stage:
        run.citations, blocks = [], []
        written = _Writer(run, overview)
        for theme in overview.themes:
            if theme.sentences:
                blocks.append(written.theme(theme))
        if overview.stray and blocks:
            blocks.append(f"{FURTHER}\nAlso: {written.marks(overview.stray)}")
        elif overview.stray:
            blocks.append(written.listed(overview.stray))
        text = stage.hand_on(
            "\n\n".join(blocks),
            because="no theme has a sentence to cite",
            kind=str,
            most=LONGEST_ANSWER,
            check=lambda said: marker_missing(said, run.citations),
        )
        run.text = text or None
        run.answered_by = "extractive"


class _Writer:
    """Writes themes and numbers their citations as it goes."""

    def __init__(self, run: Run, overview: Overview) -> None:
        self._run = run
        self._overview = overview
        cited = {item.chunk.document_id for theme in overview.themes for item in theme.sentences}
        self._groups = _groups(run, sorted(cited))
        self._told: list[str] = []
        self._parts: set[tuple[int, int]] = set()

    def theme(self, theme: Theme) -> str:
        community = self._overview.communities.get(theme.number)
        title = community.title if community is not None else f"c{theme.number}"
        quoted = self._quoted(theme.sentences)
        lines = []
        for item in quoted:
            lines.append(f"- {readable(item.sentence, item.chunk)} {self.mark(item)}")
        rest = [item for item in theme.sentences if part_of(item.key) not in self._parts]
        theme.partial = "\n".join([*lines, *([f"Also: {self.marks(rest)}"] if rest else [])])
        return f"{title}\n{theme.partial}"

    def listed(self, items: Sequence[Candidate]) -> str:
        """Sentences without a theme, where a scope names nothing: each cited, the first written out."""
        told = [f"- {readable(item.sentence, item.chunk)} {self.mark(item)}" for item in items[:LISTED]]
        return "\n".join([*told, *([f"Also: {self.marks(items[LISTED:])}"] if items[LISTED:] else [])])

    def marks(self, items: Sequence[Candidate]) -> str:
        return "".join(self.mark(item) for item in items)

    def mark(self, item: Candidate) -> str:
        self._parts.add(part_of(item.key))
        number = len(self._run.citations) + 1
        self._run.citations.append(cite(number, item.sentence, item.chunk))
        return f"[{number}]"

    def _quoted(self, items: Sequence[Candidate]) -> list[Candidate]:
        """Sentences to write out: good ones, of documents and groups not yet heard in this theme."""
        chosen: list[Candidate] = []
        heard: dict[tuple[str, str], int] = {}
        left = list(items)
        while left and len(chosen) < QUOTED:
            left = [
                item
                for item in left
                if part_of(item.key) not in self._parts
                and all(part_of(item.key) != part_of(other.key) for other in chosen)
                and not any(says_same(item.sentence.text, told) for told in self._told)
            ]
            if not left:
                break
            best = max(left, key=lambda item: (self._value(item, heard), -items.index(item)))
            chosen.append(best)
            self._told.append(best.sentence.text)
            for group in self._groups.get(best.chunk.document_id, {}).items():
                heard[group] = heard.get(group, 0) + 1
        return chosen

    def _value(self, item: Candidate, heard: Mapping[tuple[str, str], int]) -> float:
        groups = self._groups.get(item.chunk.document_id, {}).items()
        return round((item.worth + 0.01) * SAME_GROUP ** sum(heard.get(group, 0) for group in groups), 6)


def _groups(run: Run, document_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """The values of the group keys that each document has."""
    keys = run.snapshot.group_counts()
    return {
        name: {key: document.metadata[key] for key in keys if key in document.metadata}
        for name, document in run.snapshot.documents_of(document_ids).items()
    }
