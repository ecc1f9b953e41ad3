"""Markdown seen as prose: markup characters become spaces, so that every offset stays what it was."""

from __future__ import annotations

import re

_MARKUP = re.compile(
    r"""
    ^[ \t]*(?:\#{1,6}[ \t]|>[ \t]?|[-*+][ \t]|\d{1,3}[.)][ \t])   # heading, quotation, list item
  | ^[ \t]*\|?[ \t:|-]*-{3,}[ \t:|-]*$                            # rule, or the line under a table's header
  | !?\[(?=[^\]\n]*\]\()                                          # start of a link or image
  | \]\([^)\n]*\)                                                 # its end and address
  | \\(?=[^\w\s])                                                 # escape
  | [*`~]+
  | (?<!\w)_+(?=\w) | (?<=\w)_+(?!\w)                             # emphasis, not snake_case
  | <!--.*?-->
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
# Lines that stand for themselves whatever punctuation they lack.
_BLOCK = re.compile(r"^[ \t]*(?:#{1,6}[ \t]|>|[-*+][ \t]|\d{1,3}[.)][ \t]|\|)", re.MULTILINE)
_AFTER_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t].*\n+(?=.)", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*(?=\S)")


def as_prose(text: str) -> str:
    """`text` with Markdown markup blanked; same length, table cells set apart by semicolons."""
    return _MARKUP.sub(lambda markup: " " * len(markup.group()), text).replace("|", ";")


def block_starts(text: str) -> frozenset[int]:
    """Offsets at which a new block (paragraph, heading, list item, table row) begins: sentences never cross
    them."""
    starts = {match.start() for match in _BLOCK.finditer(text)}
    starts.update(match.end() for pattern in (_AFTER_HEADING, _PARAGRAPH) for match in pattern.finditer(text))
    return frozenset(starts)
