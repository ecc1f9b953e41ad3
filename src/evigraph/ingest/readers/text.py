"""Plain text and Markdown, read as a stream; front matter is metadata, not text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from evigraph.errors import InvalidSidecar
from evigraph.ingest.readers.base import Extracted, cut, empty, first_heading
from evigraph.ingest.readers.encoding import Probe, probe, stream
from evigraph.ingest.sources import Segment

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)(?:^|\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_MAX_FRONT_MATTER = 100_000


def read_text(path: Path) -> Iterator[Extracted]:
    """`.txt`, `.rst`, `.log`: the text as it is."""
    found = probe(path)
    if found.blank:
        raise empty(path.name)
    yield _streamed(path, found, skip=0, declared={}, media_type="text/plain")


def read_markdown(path: Path) -> Iterator[Extracted]:
    """`.md`: the text after its YAML front matter. Raises `InvalidSidecar` where that is malformed."""
    found = probe(path)
    declared, skip = front_matter(found.head, path.name)
    # Only a file that ends within the probed head can be empty after its front matter.
    if found.blank or not _has_text(path, found, skip):
        raise empty(path.name)
    yield _streamed(path, found, skip=skip, declared=declared, media_type="text/markdown")


def front_matter(text: str, name: str) -> tuple[dict[str, object], int]:
    """The YAML mapping between `---` lines at the very start, and how many code points it takes up (0:
    none)."""
    import yaml

    matched = _FRONT_MATTER.match(text[:_MAX_FRONT_MATTER])
    if matched is None:
        return {}, 0
    try:
        loaded = yaml.safe_load(matched[1])
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        cause = " ".join(str(error).split())[:200]
        raise InvalidSidecar(
            f"{name}: front matter is not valid YAML ({cause})", hint="correct it, or quote the value"
        ) from error
    if not isinstance(loaded, dict):
        # A thematic break, some prose and another break is ordinary Markdown.
        return {}, 0 if loaded is not None else matched.end()
    return {str(key): value for key, value in loaded.items()}, matched.end()


def _has_text(path: Path, found: Probe, skip: int) -> bool:
    return bool(found.head[skip:].strip()) or any(piece.strip() for piece in _after(stream(path, found), skip))


def _streamed(path: Path, found: Probe, *, skip: int, declared: dict[str, object], media_type: str) -> Extracted:
    def segments() -> Iterator[Segment]:
        yield from cut(_after(stream(path, found), skip))

    return Extracted(
        segments=segments,
        digest=found.digest,
        media_type=media_type,
        heading=first_heading(found.head[skip:]),
        declared=declared,
    )


def _after(pieces: Iterator[str], skip: int) -> Iterator[str]:
    """The pieces without their first `skip` code points."""
    for piece in pieces:
        if skip < len(piece):
            yield from chain([piece[skip:]], pieces)
            return
        skip -= len(piece)
