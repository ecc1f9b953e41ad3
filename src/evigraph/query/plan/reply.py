"""The JSON object of a model's reply. Only harmless faults are put right: single quotes, comments, commas before a
closing bracket, text around the object. Whatever is cut off or ambiguous is refused: closing its brackets would make
another, shorter plan of it."""

from __future__ import annotations

import json
import re
from typing import Any

from evigraph.errors import InvalidPlan

MAX_REPLY = 20_000
"""Characters of a reply that are read."""

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<comment>//[^\n]*|\#[^\n]*|/\*.*?\*/)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<single>'(?:[^'\\]|\\.|'(?!\s*[,:\]}]))*')
    |(?P<mark>[{}\[\],:])
    |(?P<word>[^\s{}\[\],:"'#/]+)""",
    re.VERBOSE | re.DOTALL,
)
_CLOSES = {"}": "{", "]": "["}
_HINT = '{"steps": [...]}'


def json_of(reply: str) -> tuple[Any, str]:
    """The object that a reply holds, and what had to be put right in it, "" for nothing. Raises `InvalidPlan`."""
    if len(reply) > MAX_REPLY:
        raise InvalidPlan(f"the reply has {len(reply)} characters", hint=f"at most {MAX_REPLY} are read")
    first = reply.find("{")
    if first < 0:
        raise InvalidPlan("the reply is no JSON", hint=_HINT)
    tokens, faults, end = _object(reply, first)
    if "{" in reply[end:]:
        raise InvalidPlan("the reply holds more than one object", hint=_HINT)
    try:
        return json.loads("".join(tokens)), " and ".join(dict.fromkeys(faults))
    except (ValueError, RecursionError):
        raise InvalidPlan("the reply is no JSON", hint=_HINT) from None


def _object(reply: str, at: int) -> tuple[list[str], list[str], int]:
    """The tokens of the object that begins at an offset, written as JSON; their faults; where the object ends."""
    tokens: list[str] = []
    faults: list[str] = []
    opened: list[str] = []
    while found := _TOKEN.match(reply, at):
        at, kind, text = found.end(), found.lastgroup, found.group()
        if kind == "comment":
            faults.append("comments")
        elif kind == "single":
            faults.append("single quotes")
            tokens.append(_quoted(text))
        elif kind == "mark" and text in _CLOSES:
            if opened.pop() != _CLOSES[text]:
                break
            if tokens[-1] == ",":
                faults.append("a comma too many")
                tokens.pop()
            tokens.append(text)
            if not opened:
                return tokens, faults, at
        else:
            if text in ("{", "["):
                opened.append(text)
            # White space parts words, and is none between tokens: `tokens[-1]` is the last that counts.
            if kind != "space":
                tokens.append(text if kind != "word" or not tokens or tokens[-1] in "{[,:" else f" {text}")
    raise InvalidPlan("the reply is cut off or its brackets do not match", hint="write the whole plan as one object")


def _quoted(text: str) -> str:
    """A text in single quotes as JSON. Escapes stay what they are, but for that of the quote itself."""
    inner = re.sub(r'\\.|"', lambda found: {"\\'": "'", '"': '\\"'}.get(found.group(), found.group()), text[1:-1])
    return f'"{inner}"'
