"""Which sentences say something by themselves."""

from __future__ import annotations

import re

_RULE = re.compile(r"[\s|:\-=_*#>]*")
_THREE_WORDS = re.compile(r"\W*\w+\W+\w+\W+\w")


def is_telling(text: str) -> bool:
    """Headings, table rules and fragments of fewer than three words tell nothing by themselves."""
    return bool(_THREE_WORDS.match(text)) and not text.lstrip().startswith("#") and not is_rule(text)


def is_rule(text: str) -> bool:
    """Whether a line is drawn rather than written, as the one below a table's header is."""
    return _RULE.fullmatch(text) is not None
