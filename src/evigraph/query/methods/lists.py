"""Reading what a chat model lists."""

from __future__ import annotations

import json
import re

_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.):])\s*")
_QUOTES = "\"'“”„»«`"


def listed(reply: str, *, most: int, longest: int) -> list[str]:
    """At most so many lines of a reply, or items of the JSON list that it is, without bullets and quotes; none longer
    than `longest` characters."""
    found = _as_json(reply) or [_BULLET.sub("", line) for line in reply.splitlines()]
    items = [" ".join(item.split()).strip(_QUOTES).strip() for item in found]
    return list(dict.fromkeys(item for item in items if item and len(item) <= longest))[:most]


def _as_json(reply: str) -> list[str]:
    start, end = reply.find("["), reply.rfind("]")
    try:
        found = json.loads(reply[start : end + 1]) if 0 <= start < end else []
    except (ValueError, RecursionError):
        return []
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []
