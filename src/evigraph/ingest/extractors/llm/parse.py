"""Reading a reply: JSON with or without damage, and the tuple format of GraphRAG prompts (arXiv 2404.16130).

The reply is never taken as one document. Each record is read by itself, so that damage to one costs only that one.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import json_repair

from evigraph.ingest.extractors.llm.records import Parsed
from evigraph.ingest.extractors.llm.tuples import read_tuples
from evigraph.text.wellformed import well_formed

REPLY_CHARS = 200_000
"""Longer replies are cut before they are read or stored."""
_WORK = 20_000_000
"""Characters that failed attempts at one reply may look at: nesting must not make reading quadratic."""
_DAMAGED = 2_000
"""Damaged objects of one reply that are repaired; where there are more, it is no answer."""
_NESTING = 8

_ENTITY_LISTS = ("entities", "nodes")
_CLAIM_LISTS = ("assertions", "relationships", "relations", "claims", "triples", "facts", "edges")
_NAMES = ("name", "entity", "entity_name", "label")
_TYPES = ("type", "entity_type", "category")
_SUBJECTS = ("subject", "source", "head", "src", "from")
_OBJECTS = ("object", "target", "tail", "tgt", "to")
_PREDICATES = ("predicate", "relation", "relationship", "type", "label")
_DESCRIPTIONS = ("description", "summary", "explanation")
_QUOTES = ("quote", "evidence", "span", "text")
_RECORD_KEYS = frozenset((*_NAMES, *_TYPES, *_SUBJECTS, *_OBJECTS, *_PREDICATES, *_DESCRIPTIONS, *_QUOTES))

_OPENING = re.compile(r"\{")
_RECORD_START = re.compile(r"\{\s*[\"'“”]")
_FIRST_KEY = re.compile(r"\{\s*[\"'“”]?\s*([\w ]*)")
_LIST_HEAD = re.compile(rf"[\"']?(?:{'|'.join((*_ENTITY_LISTS, *_CLAIM_LISTS))})[\"']?\s*:\s*[\[{{]", re.IGNORECASE)
_LOOSE_FIELD = re.compile(rf"[\"'“]({'|'.join((*_NAMES, *_SUBJECTS))})[\"'”]\s*:", re.IGNORECASE)
_RECORD_END = re.compile(r"\}(?=\s*(?:[,\]}]|\Z))")


def shortened(reply: str, notes: Counter[str]) -> str:
    """`reply`, no longer than `REPLY_CHARS`; the notes tell that it was."""
    if len(reply) > REPLY_CHARS:
        notes["reply_cut"] += 1
    return reply[:REPLY_CHARS]


def parse(reply: str) -> Parsed:
    """All records of a reply, whatever surrounds them. Never raises: where reading fails altogether, the reply counts
    as one record that is `unreadable`, for nothing a model says may end a run."""
    parsed = Parsed()
    try:
        _read(reply, parsed)
    except Exception:
        parsed = Parsed()
        parsed.drop("unreadable")
    return parsed


def _read(reply: str, parsed: Parsed) -> None:
    text, removed = well_formed(shortened(reply, parsed.notes))
    if removed:
        parsed.notes["not_text"] += removed
    rest = read_tuples(text, parsed)
    for value, damaged in _objects(rest, parsed):
        before = parsed.seen
        found = _read_value(value, parsed, 0)
        if not found and parsed.seen == before:
            parsed.drop("malformed" if damaged else "unknown_record")
        elif damaged and parsed.seen > before:
            parsed.notes["repaired"] += 1


# -------------------------------------------------------------------- finding objects


def _objects(text: str, parsed: Parsed) -> Iterator[tuple[Any, bool]]:
    """JSON objects of a text in order, outermost first; where one is damaged, the ones inside it. The flag tells
    those that had to be repaired."""
    decoder = json.JSONDecoder(object_pairs_hook=lambda pairs: _merged(pairs, parsed))
    at = work = failures = 0
    while (opening := _OPENING.search(text, at)) is not None:
        start = opening.start()
        yield from _braceless(text[at:start])
        notes = parsed.notes.copy()
        try:
            value, at = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            work += error.pos - start
        except (RecursionError, ValueError):
            work += len(text) - start  # nested beyond reason, or a number no computer holds
        else:
            yield value, False
            continue
        parsed.notes = notes
        failures += 1
        if work > _WORK or failures > _DAMAGED:
            parsed.drop("malformed")
            return
        following = _RECORD_START.search(text, start + 1)
        at = following.start() if following else len(text)
        yield from _damaged(text[start:at], parsed, followed=following is not None)
    yield from _braceless(text[at:])


def _braceless(gap: str) -> Iterator[tuple[Any, bool]]:
    """A record between two others that lost its opening brace."""
    field = _LOOSE_FIELD.search(gap)
    if field is not None:
        end = gap.rfind("}") + 1
        yield _repaired("{" + (gap[field.start() : end] if end > field.start() else gap[field.start() :])), True


def _damaged(fragment: str, parsed: Parsed, *, followed: bool) -> Iterator[tuple[Any, bool]]:
    """What can be saved of a damaged object, up to the next one: nothing of a mere list head, or of a record that the
    reply ends in, for half a name is no name."""
    head = _FIRST_KEY.match(fragment)
    key = head.group(1).strip().casefold() if head else ""
    if key in (*_ENTITY_LISTS, *_CLAIM_LISTS):
        parsed.answered = True
        if not followed:
            parsed.notes["unfinished"] += 1
            yield _repaired(fragment), True
        else:
            yield from _braceless(fragment)
        return
    if followed and key not in _RECORD_KEYS and fragment.rstrip().endswith(("[", ":", "{")):
        return
    beyond = _LIST_HEAD.search(fragment)
    fragment = fragment[: beyond.start()] if beyond else fragment
    end = _RECORD_END.search(fragment)
    stop = end.end() if end else fragment.rfind("}") + 1
    if stop or followed:
        yield _repaired(fragment[:stop] if stop else fragment), True
    else:
        parsed.drop("truncated" if key in _RECORD_KEYS else "malformed")


def _repaired(fragment: str) -> Any:
    try:
        return json_repair.loads(fragment)
    except (RecursionError, ValueError, IndexError, TypeError, AttributeError):
        return None


def _merged(pairs: Sequence[tuple[str, Any]], parsed: Parsed) -> dict[str, Any]:
    """An object whose keys may repeat: lists are joined, of other values the first that holds something stays."""
    merged: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    for key, value in pairs:
        name = spelled.setdefault(key.strip().casefold(), key)
        if name in merged:
            parsed.notes["duplicate_key"] += 1
            known = merged[name]
            if isinstance(known, list) and isinstance(value, list):
                known.extend(value)
                continue
            if known not in (None, "", [], {}):
                continue
        merged[name] = value
    return merged


# -------------------------------------------------------------------- from objects to records


def _read_value(value: Any, parsed: Parsed, depth: int) -> bool:
    """Records of a JSON value; whether it had the shape of an answer."""
    if isinstance(value, list):
        found = [_read_value(item, parsed, depth + 1) for item in value] if depth < _NESTING else []
        return any(found)
    if not isinstance(value, dict) or depth >= _NESTING:
        return False
    record = {str(key).strip().casefold(): item for key, item in value.items()}
    lists = [key for key in record if key in (*_ENTITY_LISTS, *_CLAIM_LISTS) and _holds(record[key])]
    if lists:
        for key in lists:
            _read_list(record[key], parsed, claims=key in _CLAIM_LISTS)
        parsed.answered = True
        return True
    if _first(record, _SUBJECTS) is not None or _first(record, _OBJECTS) is not None:
        _claim(record, parsed)
        return True
    if any(key in record for key in ("name", "entity", "entity_name")):
        _entity(record, parsed)
        return True
    found = [_read_value(item, parsed, depth + 1) for item in record.values() if isinstance(item, dict | list)]
    return any(found)


def _holds(value: Any) -> bool:
    return not isinstance(value, str) or not value.strip()


def _read_list(items: Any, parsed: Parsed, *, claims: bool) -> None:
    if isinstance(items, Mapping):
        if set(items) & {*_NAMES, *_SUBJECTS}:
            items = [items]  # one record where a list of them belongs
        else:
            items = [
                {"name": name, **item} if isinstance(item, Mapping) else {"name": name, "description": item}
                for name, item in items.items()
            ]
    if not isinstance(items, list):
        if items is not None and items != "":
            parsed.drop("wrong_type")
        return
    for item in items:
        _read_item(item, parsed, claims=claims)


def _read_item(item: Any, parsed: Parsed, *, claims: bool) -> None:
    if isinstance(item, Mapping):
        record = {str(key).strip().casefold(): value for key, value in item.items()}
        of_claim = _first(record, _SUBJECTS) is not None or _first(record, _OBJECTS) is not None
        if of_claim or (claims and "name" not in record):
            _claim(record, parsed)
        else:
            _entity(record, parsed)
    elif claims and isinstance(item, list) and len(item) == 3 and all(isinstance(part, str) for part in item):
        parsed.add_claim(*(_line(part) for part in item))
    elif not claims and isinstance(item, str):
        parsed.add_entity(_line(item), "", "")
    else:
        parsed.drop("wrong_type")


def _entity(record: Mapping[str, Any], parsed: Parsed) -> None:
    name = _first(record, _NAMES)
    if name is not None and not isinstance(name, str):
        return parsed.drop("wrong_type")
    return parsed.add_entity(_line(name), _words(record, _TYPES), _words(record, _DESCRIPTIONS))


def _claim(record: Mapping[str, Any], parsed: Parsed) -> None:
    ends = [_name(_first(record, names)) for names in (_SUBJECTS, _OBJECTS)]
    if any(end is not None and not isinstance(end, str) for end in ends):
        return parsed.drop("wrong_type")
    return parsed.add_claim(
        _line(ends[0]),
        _words(record, _PREDICATES),
        _line(ends[1]),
        description=_words(record, _DESCRIPTIONS),
        quote=_words(record, _QUOTES),
        confidence=unit(record.get("confidence")),
    )


def _name(end: Any) -> Any:
    """An endpoint given as an entity of its own."""
    return end.get("name") if isinstance(end, Mapping) else end


def _first(record: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)


def _words(record: Mapping[str, Any], names: Sequence[str]) -> str:
    """The first of these fields that is text; a list of texts is read as one."""
    for name in names:
        value = record.get(name)
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            value = " ".join(value)
        if isinstance(value, str) and value.strip():
            return _line(value)
    return ""


def _line(text: str | None) -> str:
    return " ".join((text or "").split())


def unit(value: Any) -> float | None:
    """A number in [0, 1], clipped; None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return float(min(1, max(0, value)))  # clipped first: a whole number may be too large for a float
