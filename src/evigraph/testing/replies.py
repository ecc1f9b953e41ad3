"""Damaged replies of an extraction model, for tests: each says which of its records were left whole.

    for damaged in damage(reply, seed=7):
        found = marks(parse(damaged.text))
        assert not damaged.intact - found

A record's mark is `("entity", name)` or `("claim", subject, object)`.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from evigraph.ingest.extractors.llm.parse import REPLY_CHARS
from evigraph.ingest.extractors.llm.records import ClaimRecord, EntityRecord, Parsed

Mark = tuple[str, ...]
Record = EntityRecord | ClaimRecord

_FOREIGN = (
    "斯克魯奇是一個吝嗇的人。",
    "Скрудж — скупой старик.",
    "سكروج رجل بخيل",
    "スクルージは「守銭奴」です。",
    "स्क्रूज कंजूस है।",
)
_HTML = (
    "<html><head><style>body { color: red; }</style></head><body><h1>502 Bad Gateway</h1>"
    '<script>var x = {a: 1, "b": [2]};</script></body></html>'
)
_NUMBERS = ("1" + "0" * 400, "-" + "9" * 4_000, "9" * 5_000, "1e999", "NaN", "Infinity", "-Infinity", "1e-999")
_NO_TEXT = ("\\ud800", "\\udfff\\ud800", "\\u0000", "\\u001b", "\\u0007\\u0000\\udc80")
_NO_ESCAPES = ("\\x41", "\\u12", "\\uZZZZ", "\\ ", "\\")
_NOTHING = (
    "",
    "   \n",
    "\0",
    "null",
    "[]",
    "I cannot help with that.",
    "<|COMPLETE|>",
    '{"entities": [], "assertions": []}',
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Damaged:
    """`intact` counts the records that stand whole before the damage, or beside it where it is confined to one."""

    kind: str
    text: str
    intact: Counter[Mark]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Piece:
    """A stretch of a reply; one with a mark is a record."""

    text: str
    mark: Mark | None = None


Form = Callable[[Sequence[Record]], list[_Piece]]


def mark(record: Record) -> Mark:
    if isinstance(record, EntityRecord):
        return "entity", record.name
    return "claim", record.subject, record.object


def marks(parsed: Parsed) -> Counter[Mark]:
    return Counter([*map(mark, parsed.entities), *map(mark, parsed.claims)])


def damage(records: Sequence[Record], seed: int) -> Iterator[Damaged]:
    """One variant of every kind and form, always the same ones for a seed. Needs at least two records."""
    rng = random.Random(seed)
    for form in (as_json, as_tuples):
        for kind, damaging in _KINDS.items():
            text, intact = damaging(form(records), rng)
            yield Damaged(kind=f"{kind}/{form.__name__[3:]}", text=text, intact=intact)
    yield _interleaved(records)
    yield _single_quotes(records)
    yield Damaged(kind="nothing", text=rng.choice(_NOTHING), intact=Counter())
    yield Damaged(kind="html", text=_HTML, intact=Counter())
    nested = '{"a":' * rng.choice((50, 5_000)) + "[" * 3_000
    yield Damaged(kind="nested", text=nested, intact=Counter())


# -------------------------------------------------------------------- forms


def as_json(records: Sequence[Record]) -> list[_Piece]:
    """The form our prompt asks for."""
    entities = [record for record in records if isinstance(record, EntityRecord)]
    claims = [record for record in records if isinstance(record, ClaimRecord)]
    return [
        _Piece(text='{"entities": ['),
        *_joined([_Piece(text=_json(record), mark=mark(record)) for record in entities], ",\n "),
        _Piece(text='],\n "assertions": ['),
        *_joined([_Piece(text=_json(record), mark=mark(record)) for record in claims], ",\n "),
        _Piece(text="]}"),
    ]


def as_tuples(records: Sequence[Record]) -> list[_Piece]:
    """The form that prompts of GraphRAG ask for."""
    return [
        *_joined([_Piece(text=_tuple(record), mark=mark(record)) for record in records], "##\n"),
        _Piece(text="<|COMPLETE|>"),
    ]


def _json(record: Record) -> str:
    if isinstance(record, EntityRecord):
        fields = {"name": record.name, "type": record.type, "description": record.description}
    else:
        fields = {
            "subject": record.subject,
            "predicate": record.predicate,
            "object": record.object,
            "description": record.description,
            "quote": record.quote,
        }
    return json.dumps(fields, ensure_ascii=False)


def _tuple(record: Record) -> str:
    if isinstance(record, EntityRecord):
        fields = ["entity", record.name, record.type, record.description]
    else:
        fields = ["relationship", record.subject, record.object, record.description]
    strength = "" if isinstance(record, EntityRecord) else "<|>7"
    return "(" + "<|>".join(f'"{field}"' for field in fields) + f"{strength})"


def _joined(pieces: Sequence[_Piece], between: str) -> list[_Piece]:
    joined: list[_Piece] = []
    for piece in pieces:
        joined += [_Piece(text=between), piece] if joined else [piece]
    return joined


# -------------------------------------------------------------------- damage

Damaging = Callable[[list[_Piece], random.Random], tuple[str, Counter[Mark]]]


def _text(pieces: Sequence[_Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def _whole(pieces: Sequence[_Piece]) -> Counter[Mark]:
    return Counter(piece.mark for piece in pieces if piece.mark is not None)


def _some(pieces: Sequence[_Piece], rng: random.Random) -> int:
    return rng.choice([at for at, piece in enumerate(pieces) if piece.mark is not None])


def _truncated(pieces: list[_Piece], rng: random.Random) -> tuple[str, Counter[Mark]]:
    text = _text(pieces)
    cut = rng.randrange(1, len(text))
    kept, at = Counter[Mark](), 0
    for piece in pieces:
        at += len(piece.text)
        if piece.mark is not None and at <= cut:
            kept[piece.mark] += 1
    return text[:cut], kept


def _wrong_type(pieces: list[_Piece], rng: random.Random) -> tuple[str, Counter[Mark]]:
    at = _some(pieces, rng)
    if pieces[at].text.startswith("("):
        odd = rng.choice(['("entity")', '("entity"<|>)', '("relationship"<|>"a"<|>"b")', '("thing"<|>"x")'])
    else:
        odd = rng.choice(
            ["42", "null", "[1, 2]", '"text"', '{"name": 7}', '{"name": null}', '{"name": {"a": 1}}', "{}", "true",
             '{"subject": ["a"], "predicate": "P", "object": "b"}', '{"name": "", "type": []}', "1e999", "NaN"]
        )  # fmt: skip
    rest = [*pieces[:at], *pieces[at + 1 :]]
    return _text([*pieces[:at], _Piece(text=odd), *pieces[at + 1 :]]), _whole(rest)


def _prose(pieces: list[_Piece], rng: random.Random) -> tuple[str, Counter[Mark]]:
    before = rng.choice(
        ["Sure! Here you are:\n", "Note {see below}: ", "**Entities:**\n\n1. ", "Answer (as asked):\n```json\n"]
    )
    after = rng.choice(["\n```\nHope this helps!", "\n\nAnything else? {y/n}", "\n(End of list)", "\n---\n"])
    return before + _text(pieces) + after, _whole(pieces)


def _duplicated_keys(pieces: list[_Piece], rng: random.Random) -> tuple[str, Counter[Mark]]:
    at = _some(pieces, rng)
    text = pieces[at].text
    if text.startswith("("):
        return _text([*pieces, _Piece(text="##\n"), pieces[at]]), _whole(pieces)
    key = rng.choice(['"entities": [], "entities": [', '"assertions": [], "entities": ['])
    head = pieces[0].text.replace('"entities": [', key)
    doubled = text.replace("{", '{"type": "", ', 1).replace("}", ', "description": "again"}')
    return _text([_Piece(text=head), *pieces[1:at], _Piece(text=doubled), *pieces[at + 1 :]]), _whole(pieces)


def _huge(pieces: list[_Piece], rng: random.Random) -> tuple[str, Counter[Mark]]:
    at = _some(pieces, rng)
    size = rng.choice((5_000, REPLY_CHARS))
    place = pieces[at].text.rindex('"') if '"' in pieces[at].text else 1
    grown = pieces[at].text[:place] + "x" * size + pieces[at].text[place:]
    rest = [*pieces[:at], *(pieces[at + 1 :] if size < REPLY_CHARS else [])]
    return _text([*pieces[:at], _Piece(text=grown), *pieces[at + 1 :]]), _whole(rest)


def _foreign(pieces: list[_Piece], rng: random.Random) -> tuple[str, Counter[Mark]]:
    """Descriptions, which stand last in their record, in another language."""
    changed = []
    for piece in pieces:
        closing = piece.text.rfind('"')
        said = rng.choice(_FOREIGN)
        same = piece.mark is None or closing < 0
        changed.append(
            piece if same else _Piece(text=piece.text[:closing] + said + piece.text[closing:], mark=piece.mark)
        )
    return _text(changed), _whole(changed)


def _broken(pieces: list[_Piece], rng: random.Random) -> tuple[str, Counter[Mark]]:
    """One of the characters that hold a record together is lost."""
    at = _some(pieces, rng)
    text = pieces[at].text
    places = [place for place, letter in enumerate(text) if letter in '{}":,<|>()']
    place = rng.choice(places)
    return _text([*pieces[:at], _Piece(text=text[:place] + text[place + 1 :]), *pieces[at + 1 :]]), _whole(pieces[:at])


def _control(pieces: list[_Piece], rng: random.Random) -> tuple[str, Counter[Mark]]:
    """NUL, lone surrogates and the like between records."""
    odd = rng.choice(["\0", "\ud83d", "\udc80\0", "\ufeff", "\u202e"])
    return "".join(piece.text if piece.mark else piece.text + odd for piece in pieces), _whole(pieces)


def _odd_number(pieces: list[_Piece], rng: random.Random) -> tuple[str, Counter[Mark]]:
    """A number that no float, or no integer, holds; or none."""
    at, number = _some(pieces, rng), rng.choice(_NUMBERS)
    text = pieces[at].text
    if text.startswith("("):
        odd = text[:-1].removesuffix("<|>7") + f"<|>{number})"
    else:
        odd = text[:-1] + f', "confidence": {number}}}'
    return _put(pieces, at, odd), _whole([*pieces[:at], *pieces[at + 1 :]])


def _deep(pieces: list[_Piece], rng: random.Random) -> tuple[str, Counter[Mark]]:
    """A field that holds lists or objects in each other, closed or not."""
    at, depth = _some(pieces, rng), rng.choice((20, 900, 9_000))
    opening, closing = rng.choice((("[", "]"), ('{"a": ', "}")))
    value = opening * depth + "1" + closing * rng.choice((depth, depth, 0))
    text = pieces[at].text
    odd = f"{text[:-1]}<|>{value})" if text.startswith("(") else f'{text[:-1]}, "evidence": {value}}}'
    return _put(pieces, at, odd), _whole(pieces[:at])


def _escaped(pieces: list[_Piece], rng: random.Random) -> tuple[str, Counter[Mark]]:
    """In every string an escape that stands for what is no text; the tuple form, which has none, has it as it is."""
    escape = rng.choice(_NO_TEXT)
    changed = []
    for piece in pieces:
        if piece.mark is None:
            changed.append(piece.text)
        elif piece.text.startswith("("):
            changed.append(piece.text.replace('<|>"', '<|>"' + str(json.loads(f'"{escape}"'))))
        else:
            changed.append(piece.text.replace('": "', '": "' + escape))
    return "".join(changed), _whole(pieces)


def _bad_escape(pieces: list[_Piece], rng: random.Random) -> tuple[str, Counter[Mark]]:
    """A backslash that escapes nothing."""
    at = _some(pieces, rng)
    place = pieces[at].text.rindex('"')
    odd = pieces[at].text[:place] + rng.choice(_NO_ESCAPES) + pieces[at].text[place:]
    return _put(pieces, at, odd), _whole(pieces[:at])


def _put(pieces: Sequence[_Piece], at: int, text: str) -> str:
    return _text([*pieces[:at], _Piece(text=text), *pieces[at + 1 :]])


def _twice(pieces: list[_Piece], rng: random.Random) -> tuple[str, Counter[Mark]]:
    return _text(pieces) + rng.choice(["", "\n", "\n\nor rather:\n"]) + _text(pieces), _whole(pieces)


def _wrapped(pieces: list[_Piece], rng: random.Random) -> tuple[str, Counter[Mark]]:
    before, after = rng.choice([('{"result": ', "}"), ("[", "]"), ('{"id": 1, "output": {"data": ', "}}")])
    return before + _text(pieces) + after, _whole(pieces)


_KINDS: dict[str, Damaging] = {
    "truncated": _truncated,
    "wrong type": _wrong_type,
    "prose around": _prose,
    "duplicated keys": _duplicated_keys,
    "huge string": _huge,
    "other language": _foreign,
    "broken delimiter": _broken,
    "control characters": _control,
    "given twice": _twice,
    "wrapped": _wrapped,
    "odd number": _odd_number,
    "deep": _deep,
    "escaped": _escaped,
    "bad escape": _bad_escape,
}


def _interleaved(records: Sequence[Record]) -> Damaged:
    """Both forms in one reply."""
    half = len(records) // 2
    first, second = as_json(records[:half]), as_tuples(records[half:])
    return Damaged(kind="interleaved", text=f"{_text(first)}\n{_text(second)}", intact=_whole([*first, *second]))


def _single_quotes(records: Sequence[Record]) -> Damaged:
    """As Python would print it."""
    value: dict[str, list[object]] = {"entities": [], "assertions": []}
    for record in records:
        value["entities" if isinstance(record, EntityRecord) else "assertions"].append(json.loads(_json(record)))
    return Damaged(kind="single quotes", text=repr(value), intact=Counter(map(mark, records)))
