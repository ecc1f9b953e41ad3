"""Readable documents before they have a revision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Protocol

from evigraph.types import Extraction, Passage


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """A run of a document's extracted text, cut only between blocks.

    `start` is the offset of its first code point in the document; `pages` lists `(offset, page number)` for every page
    that begins inside it. Concatenating a document's segments gives its text.
    """

    text: str
    start: int
    pages: tuple[tuple[int, int], ...] = ()


class Given(Protocol):
    """Passages and a graph that come with a document instead of being made from its text: an `Extractor`, and which
    passages it speaks of. `passages` is exhausted before `extract` is first called."""

    @property
    def name(self) -> str: ...

    def passages(
        self,
        document_id: str,
        *,
        revision: int,
        language: str,
        chunked: Callable[[], Iterator[Passage]],
        count_tokens: Callable[[str], int],
        max_tokens: int,
    ) -> Iterator[Passage]:
        """Passages of at most `max_tokens`, numbered from 0; `chunked` makes the ordinary ones."""
        ...

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceDocument:
    """One readable document, before it has a revision. `segments` may be called more than once and re-reads the source,
    so that a document of any size is held one segment at a time."""

    document_id: str
    source: str
    title: str
    segments: Callable[[], Iterator[Segment]]
    content_hash: str
    date: date | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    media_type: str = "text/plain"
    origin: str = ""
    """The folder its source is relative to; empty for items and uploads. `sync` compares only within one origin."""
    warnings: tuple[str, ...] = ()
    given: Given | None = None
    """Its passages and graph, where an import brings them; they must be part of `content_hash`."""
