"""Fences around quoted material in a prompt."""

from __future__ import annotations

import re

_FENCE = re.compile(r"<(?=\s*/?\s*(?:evidence|passage|facts|history)\b)", re.IGNORECASE)


def defuse(text: str) -> str:
    """Break our own tags where a document writes them, so that it cannot close its fence."""
    return _FENCE.sub("&lt;", text)
