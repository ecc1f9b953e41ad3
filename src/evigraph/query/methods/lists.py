"""Reading what a chat model lists, strictly: what is no item is left out, with the reason."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FIELDS = ("text", "question", "query", "rephrasing", "rewrite")
"""What models call the text of an item that is an object."""
TRIES = 50
"""Brackets of a reply at which JSON is looked for."""
READ = 20_000
"""Characters of a reply that are read."""

_BULLET = re.compile(r"\s*(?:[-•–]\s*|\*\s+|\(?\d{1,2}[.):]\s*(?!\d)|\[\d{1,2}\]\s*)")
_LOOKS_LIKE_JSON = re.compile(r"^\s*(?:\{|\[(?!\d{1,2}\]))", re.MULTILINE)
_OPENS = re.compile(r"[\[{]")
_FENCE = re.compile(r"^\s*```.*$", re.MULTILINE)
_COMMA_TOO_MANY = re.compile(r",(\s*[\]}])")
_DRESSING = " \t\"'“”„»«`*_"


@dataclass(kw_only=True, slots=True)
class Listed:
    """Items in their order, each once, and what was left out, as `(text, reason)`."""

    items: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)


def listed(reply: str, *, longest: int) -> Listed:
    """The items of a reply: of the JSON in it (a list of texts, or of objects with a text), else its numbered or
    bulleted lines, else its lines. Headings, which end in a colon, what has no words, repetitions and items of more
    than `longest` characters are left out; so is JSON that is broken or cut off."""
    found = Listed()
    text = _FENCE.sub("", reply[:READ])
    items, others = _of_json(text)
    found.left_out += [(json.dumps(one, ensure_ascii=False), "neither a text nor an object with one") for one in others]
    if not items and not others:
        if _LOOKS_LIKE_JSON.search(text):
            found.left_out.append((text.strip(), "JSON that is broken, or holds no list of texts"))
        else:
            items = _of_lines(text)
    if len(reply) > READ:
        found.left_out.append((reply[READ:], f"beyond the {READ:,} characters that are read of a reply"))
    seen: set[str] = set()
    for item in items:
        said = " ".join(item.split()).strip(_DRESSING)
        reason = _wrong(said, seen, longest)
        if reason is None:
            seen.add(bare(said))
            found.items.append(said)
        elif said:
            found.left_out.append((said, reason))
    return found


def bare(text: str) -> str:
    """A text without what does not tell it from another: case, punctuation and blanks."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def _wrong(said: str, seen: set[str], longest: int) -> str | None:
    if not any(map(str.isalnum, said)):
        return "it has no words"
    if said.endswith((":", "：")):
        return "it is a heading"
    if len(said) > longest:
        return f"it is longer than {longest} characters"
    return "it repeats another" if bare(said) in seen else None


def _of_lines(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    marked = [_BULLET.sub("", line, count=1) for line in lines if _BULLET.match(line)]
    return marked or lines


def _of_json(text: str) -> tuple[list[str], list[Any]]:
    """Texts of the lists and objects in a reply, whatever stands around them; and what in them is no text."""
    decoder = json.JSONDecoder()
    for source in dict.fromkeys((text, _COMMA_TOO_MANY.sub(r"\1", text))):
        items: list[str] = []
        others: list[Any] = []
        at = 0
        for _ in range(TRIES):
            opening = _OPENS.search(source, at)
            if opening is None:
                break
            try:
                value, at = decoder.raw_decode(source, opening.start())
            except (ValueError, RecursionError):
                at = opening.end()
                continue
            for item in _items(value):
                said = item if isinstance(item, str) else _text_of(item) if isinstance(item, Mapping) else None
                if said is None:
                    others.append(item)
                else:
                    items.append(said)
        if items:
            return items, others
    return [], others


def _items(value: Any) -> list[Any]:
    """The items of a list of texts or objects, or of the one list in an object; else the object itself. A list of
    other things is none: "[1]" in a sentence."""
    if isinstance(value, Mapping):
        lists = [one for one in value.values() if isinstance(one, list)]
        return _items(lists[0]) if len(lists) == 1 else [value]  # models like to wrap a list: {"rephrasings": [...]}
    return value if isinstance(value, list) and any(isinstance(item, str | Mapping) for item in value) else []


def _text_of(item: Mapping[str, Any]) -> str | None:
    """The text of an object: that of a known field, or the only one that it has."""
    texts = {str(name).casefold(): one for name, one in item.items() if isinstance(one, str)}
    known = [texts[name] for name in FIELDS if name in texts]
    return known[0] if known else next(iter(texts.values())) if len(texts) == 1 else None
