"""The tuple format: `("entity"<|>name<|>type<|>description)##("relationship"<|>a<|>b<|>description<|>weight)`."""

from __future__ import annotations

import math
import re

from evigraph.ingest.extractors.llm.records import Parsed
from evigraph.types import RELATED_TO

STRENGTHS = 10.0
"""The prompts of this format ask for a strength from 1 to 10."""

_QUOTE = "[\"“”'«»`]"
_KIND = rf"{_QUOTE}?(entity|relation(?:ship)?){_QUOTE}?\s*"
_START = re.compile(rf"\(\s*{_KIND}[<|>,;\t]+|(?<![^\s#)]){_KIND}<\|>", re.IGNORECASE)
_STRAY = re.compile(rf"<\|>|\(\s*{_QUOTE}(?:entity|relation(?:ship)?)\b|\({_QUOTE}\w{{0,20}}\Z", re.IGNORECASE)
"""In a line that belongs to no record: what is left of one that cannot be told from where it begins."""
_DELIMITER = re.compile(rf"\s*<\|>\s*|(?<={_QUOTE})\s*(?:<\||\|>)\s*|\s*(?:<\||\|>)\s*(?={_QUOTE})")
_LINE_END = re.compile(r"\n|##")
_COMPLETE = re.compile(r"<\|?\s*COMPLETE\s*\|?>", re.IGNORECASE)
_END = re.compile(r"\)\s*(?:\*\*)?(?:##|<\|?\s*COMPLETE|```|\n|\Z)", re.IGNORECASE)
_EDGES = " \t\r\n\"“”«»'`"


def read_tuples(text: str, parsed: Parsed) -> str:
    """Add the tuple records of `text`; return the text without them, in which JSON may stand."""
    starts = list(_START.finditer(text))
    if _COMPLETE.search(text):
        parsed.answered = True
        text = _COMPLETE.sub(lambda mark: " " * len(mark.group()), text)
    left = [text[: starts[0].start()] if starts else text]
    for number, start in enumerate(starts):
        last = number + 1 == len(starts)
        stop = len(text) if last else starts[number + 1].start()
        chunk = text[start.end() : stop]
        closing = _END.search(chunk)
        end = closing.start() if closing else chunk.rfind(")")
        if end < 0 and last:
            parsed.drop("truncated")
            continue
        body = chunk[:end] if end >= 0 else chunk
        if end < 0:
            parsed.notes["repaired"] += 1
        _record((start.group(1) or start.group(2)).lower(), body, parsed)
        left.append(chunk[end + 1 :] if end >= 0 else "")
    lines = _LINE_END.split("".join(left))
    strays = [line for line in lines if _STRAY.search(line)]
    if strays:
        parsed.dropped["malformed"] += len(strays)
        lines = [line for line in lines if not _STRAY.search(line)]
    return "\n".join(lines)


def _record(kind: str, body: str, parsed: Parsed) -> None:
    fields = [_bare(field) for field in _DELIMITER.split(body)]
    if kind == "entity":
        if len(fields) < 2:
            parsed.drop("too_few_fields")
        else:
            parsed.add_entity(fields[0], fields[1], " ".join(field for field in fields[2:] if field))
        return
    strength = _strength(fields[-1]) if len(fields) > 3 else None
    said = fields[2:-1] if strength is not None else fields[2:]
    if not said:
        parsed.drop("too_few_fields")
    else:
        parsed.add_claim(
            fields[0], RELATED_TO, fields[1], description=" ".join(part for part in said if part), strength=strength
        )


def _bare(field: str) -> str:
    return " ".join(field.split()).strip(_EDGES)


def _strength(field: str) -> float | None:
    try:
        value = float(field)
    except ValueError:
        return None
    return min(1.0, max(0.0, value / STRENGTHS)) if math.isfinite(value) else None
