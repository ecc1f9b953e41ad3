"""Plain statements of an attribute, read off words and tags: a parser errs on them when the names are unusual.

The wife of Allen Hord is Rowena Hord.            Allen Hord WIFE Rowena Hord
The friends of Ada are Bea Lund, Cy and Dee.      Ada FRIEND Bea Lund, Ada FRIEND Cy, Ada FRIEND Dee
Ada's date of birth is 1815-12-10.                Ada DATE_OF_BIRTH 1815-12-10
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evigraph.ingest.extractors.entities import Found, trim

_SINGULAR = frozenset({"is", "was"})
_PLURAL = frozenset({"are", "were"})
_NOUN_TAGS = frozenset({"NN", "NNS", "JJ"})
_VALUE_TAGS = frozenset(
    {"NN", "NNS", "NNP", "NNPS", "JJ", "CD", "VBG", "SYM", "HYPH", "POS", "FW", "CC", "DT", ":", "-"}
)
_VERBAL_TAGS = frozenset({"VB", "VBD", "VBN", "VBP", "VBZ", "RB"})
_INSIDE_VALUES = frozenset({"of", "as"})
_INSIDE_NAMES = frozenset({"de", "del", "van", "von", "der", "la", "bin", "al", "da", "di", "du", "le"})
_MAX_NOUN = 4
_MAX_ITEM = 8

_KIN = """
aunt brother child colleague cousin daughter father friend granddaughter grandfather grandmother grandson husband
mother nephew niece parent sibling sister son spouse uncle wife
"""
_KIN_NOUNS = frozenset(_KIN.split())
"""Relations of one person to another: both names are those of persons."""
_PERSONAL_NOUNS = frozenset({"age", "birth", "birthday", "birthplace", "gender", "hobby", "occupation", "profession"})
"""What only persons have."""
_INACTIVE_NOUNS = _PERSONAL_NOUNS | {"aim", "goal", "job", "purpose", "role"}
_OFFICES = "author boss ceo chair chairman chairwoman director founder head manager mayor minister owner president"
_OFFICE_NOUNS = frozenset(_OFFICES.split())
"""What only persons are."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A statement: the tokens of its holder, its noun (its parts and the head among them), and its objects, each with
    whether it is a name."""

    holder: Sequence[Any]
    noun: Sequence[Any]
    objects: tuple[tuple[Sequence[Any], bool], ...]

    @property
    def head(self) -> Any:
        """The noun before the first "of": `date` of birth."""
        words = [token.lower_ for token in self.noun]
        return self.noun[words.index("of") - 1] if "of" in words else self.noun[-1]


def attribute_of(sentence: Any) -> Attribute | None:
    """The statement that a sentence consists of, if it does."""
    tokens = [token for token in sentence if not token.is_space]
    verb = next((at for at, token in enumerate(tokens) if token.lower_ in _SINGULAR | _PLURAL), -1)
    parts = (_of_phrase(tokens[:verb]) or _possessive(tokens[:verb])) if verb >= 2 else None
    if parts is None:
        return None
    holder, noun = parts
    # A committee is repairing wells, but a hobby is climbing: what cannot act has no auxiliary.
    inactive = any(token.lower_ in _INACTIVE_NOUNS for token in noun)
    if tokens[verb].dep_ in ("aux", "auxpass") and not inactive:
        return None
    rest = tokens[verb + 1 :]
    while rest and rest[-1].text in (".", ";", "!"):
        rest = rest[:-1]
    objects = [(item, _is_name(item)) for item in _items(rest, several=tokens[verb].lower_ in _PLURAL)]
    if not objects or not all(named or _is_value(item, inactive) for item, named in objects):
        return None
    return Attribute(holder, noun, tuple(objects))


def with_attribute_names(doc: Any, text: str, entities: Sequence[Found]) -> list[Found]:
    """`entities` of `doc`, in text order, with the names of its attribute statements in place of those that overlap
    them: where the tagger found a part, or took a person for a place."""
    stated: list[Found] = []
    for sentence in doc.sents:
        attribute = attribute_of(sentence)
        if attribute is not None:
            stated.extend(_names(attribute, text, entities))
    if not stated:
        return list(entities)
    kept = [e for e in entities if not any(e.start < s.end and s.start < e.end for s in stated)]
    return sorted([*kept, *stated], key=lambda found: (found.start, -found.end))


def _names(attribute: Attribute, text: str, entities: Sequence[Found]) -> Iterator[Found]:
    words = {token.lower_ for token in attribute.noun} | {attribute.head.lower_.removesuffix("s")}
    personal = bool(words & (_KIN_NOUNS | _PERSONAL_NOUNS))
    spans = [(attribute.holder, personal)]
    spans += [(item, bool(words & (_KIN_NOUNS | _OFFICE_NOUNS))) for item, named in attribute.objects if named]
    for item, is_person in spans:
        trimmed = trim(text, *span_of(item))
        if trimmed is not None:
            start, end, name, key = trimmed
            overlapping = [found.type for found in entities if found.start < end and start < found.end]
            kind = "PERSON" if is_person else overlapping[0] if overlapping else "CONCEPT"
            yield Found(start=start, end=end, name=name, key=key, type=kind)


def span_of(tokens: Sequence[Any]) -> tuple[int, int]:
    """Character span of a run of tokens."""
    return tokens[0].idx, tokens[-1].idx + len(tokens[-1])


def _of_phrase(tokens: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]] | None:
    """`(holder, noun)` of "the NOUN of HOLDER"."""
    links = [at for at, token in enumerate(tokens) if token.lower_ == "of"]
    if not links or tokens[0].lower_ != "the":
        return None
    holder, noun = tokens[links[-1] + 1 :], tokens[1 : links[-1]]
    if holder and holder[0].lower_ == "the":
        holder = holder[1:]
    return (holder, noun) if _is_name(holder) and _is_noun(noun) else None


def _possessive(tokens: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]] | None:
    """`(holder, noun)` of "HOLDER's NOUN"."""
    links = [at for at, token in enumerate(tokens) if token.tag_ == "POS"]
    if len(links) != 1:
        return None
    holder, noun = tokens[: links[0]], tokens[links[0] + 1 :]
    return (holder, noun) if _is_name(holder) and _is_noun(noun) else None


def _is_noun(tokens: Sequence[Any]) -> bool:
    """A common noun with adjectives, or one "of" another."""
    words = [token for token in tokens if token.lower_ != "of"]
    return (
        0 < len(tokens) <= _MAX_NOUN
        and all(token.tag_ in _NOUN_TAGS and token.is_lower for token in words)
        and tokens[-1].lower_ != "of"
        and tokens[0].lower_ != "of"
    )


def _is_name(tokens: Sequence[Any]) -> bool:
    """A run of capitalised words, with small ones inside."""
    if not 0 < len(tokens) <= _MAX_ITEM or not (tokens[0].text[0].isupper() and tokens[-1].text[0].isupper()):
        return False
    return all(t.text[0].isupper() or t.lower_ in _INSIDE_NAMES or t.text in ("-", ".", "'", "’") for t in tokens)


def _is_value(tokens: Sequence[Any], inactive: bool) -> bool:
    """Nouns, adjectives, numbers and dates, without clauses and further phrases. What stands after a noun that cannot
    act may look like a verb to the tagger."""
    tags = _VALUE_TAGS | _VERBAL_TAGS if inactive else _VALUE_TAGS
    said = all(token.tag_ in tags or token.lower_ in _INSIDE_VALUES for token in tokens)
    return said and 0 < len(tokens) <= _MAX_ITEM and tokens[-1].tag_ not in ("DT", "CC")


def _items(tokens: Sequence[Any], *, several: bool) -> Iterator[Sequence[Any]]:
    """The things listed. After a singular verb that is one, up to a comma."""
    item: list[Any] = []
    for token in tokens:
        if token.text == "," or (several and token.lower_ == "and"):
            if item:
                yield item
            item = []
            if not several:
                return
        elif item or token.tag_ != "DT":
            item.append(token)
    if item:
        yield item
