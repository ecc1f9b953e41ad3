"""Names: the key that makes surface forms comparable, the aliases a document's own text gives its subject,
and the word n-grams of a question that may be names.

An entity's identity is `type:key`; homographs of different type share the key and stay apart by the type.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from evigraph.errors import InvalidValue
from evigraph.text.forms import CONNECTIVES

ARTICLES = frozenset({"a", "an", "the"})

# Vowel signs and other marks belong to the word in Indic, Arabic or Thai writing, yet `\w` leaves them out.
_MARKS = "".join(chr(c) for c in range(0x0300, 0xABEF) if unicodedata.category(chr(c))[0] == "M")
WORD = re.compile(rf"[^\W_](?:[{_MARKS}]|[^\W_])*")
"""One word in any script: letters and digits with their marks, no underscore."""

# Only the accents of Latin, Greek and Cyrillic are decoration; marks of other scripts tell words apart.
_ACCENTS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\ufe20-\ufe2f]")
_POSSESSIVE = re.compile(r"(?<=\w)['’ʼ＇]s\b", re.IGNORECASE)
_PARENTHESIS = re.compile(r"\s*[(（][^()（）]*[)）]")
_LEAD_END = re.compile(r"[(（,，\n]|\s(?:is|was|are|were)\s")
_ALSO_KNOWN = re.compile(
    r"\b(?:also known as|better known as|best known as|known professionally as|known as|nicknamed|stage name"
    r"|a\.k\.a\.|aka|née|nee|born)(?!\w)[\s:,]*",
    re.IGNORECASE,
)
_NAME_WORD = re.compile(r"[^\s,;()\[\]\"“”]+")
_INSIDE_NAMES = frozenset(
    (
        "of",
        "the",
        "in",
        "on",
        "de",
        "del",
        "la",
        "le",
        "du",
        "da",
        "di",
        "van",
        "von",
        "der",
        "den",
        "bin",
        "y",
    )
)
_ABBREVIATED_TITLES = """
capt col dr fr gen hon lt mr mrs ms prof rep rev sen sgt st
"""
ABBREVIATED_TITLES = frozenset(_ABBREVIATED_TITLES.split())
"""Titles written with a full stop, which does not end a sentence there."""
_QUOTES = "\"'“”‘’«»*_ "
_SENTENCE_END = frozenset(".?!:;。？！")
_ALSO_KNOWN_WINDOW = 400
RUNS = "runs/2"
"""Changes with what `capitalised_runs` makes of a text."""
_WITHIN_RUN = CONNECTIVES | {"al", "das", "e", "el", "et", "in", "or", "with"}
"""Words without a capital that a name may hold."""
_SHORTEST_RUN = 4
_WITHIN_NAME = re.compile(r"[ \-–&/,.'’]*")

_CALENDAR = """
january february march april may june july august september october november december
monday tuesday wednesday thursday friday saturday sunday
"""
CALENDAR_WORDS = frozenset(_CALENDAR.split())
"""Month and day names: capitalised in English without being names of anything."""


def strip_accents(text: str) -> str:
    """`text` in NFC without the accents of Latin, Greek and Cyrillic letters; compatibility forms are
    resolved."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))


def name_key(name: str) -> str:
    """The normalised form under which a name is stored and looked up; `""` when it holds no letter or digit.

    Accents, case, possessive 's, punctuation and a leading article make no difference, `&` equals `and`. An
    article that is the whole name is kept ("The" remains "the").
    """
    folded = strip_accents(name).casefold()
    if "&" in folded or "＆" in folded:
        folded = folded.replace("&", " and ")
    tokens = WORD.findall(_POSSESSIVE.sub("", folded))
    if len(tokens) > 1 and tokens[0] in ARTICLES:
        del tokens[0]
    return " ".join(tokens)


def entity_id(key: str, type: str) -> str:
    """Identity of an entity: `person:ada lovelace`. `key` comes from `name_key`."""
    return f"{type.lower()}:{key}"


def split_entity_id(entity_id: str) -> tuple[str, str]:
    """The `(key, TYPE)` an entity id was made of. Raises `InvalidValue` for a text that is no entity id."""
    # A key never holds a colon, a type of a domain schema may.
    kind, colon, key = entity_id.rpartition(":")
    if not colon or not kind or not key:
        raise InvalidValue(
            f"{entity_id[:80]!r} is not an entity id",
            hint="write `type:name`, as in `organization:northwind traders`",
        )
    return key, kind.upper()


def title_aliases(title: str, text: str) -> list[tuple[str, float]]:
    """Names that a document's title and opening give its subject, with weights in (0, 1], heaviest first.

    The title 1.0; the title without "(...)" 0.9; the lead name of the text .8 (up to "(", "," or is/was/are,
    at most seven words, sharing one with the title); first and last word of a three-word lead name .6; the
    title before a comma .5; names after "also known as", "nicknamed", "stage name", "née", "born" in the
    first 400 characters .5. Names with the same key appear once, with the highest weight.
    """
    title = " ".join(title.split())
    found: list[tuple[str, float]] = [(title, 1.0)]
    bare = " ".join(_PARENTHESIS.sub(" ", title).split())
    if bare != title:
        found.append((bare, 0.9))
    body = _body(text)
    lead = _lead_name(body, set(name_key(title).split()))
    if lead:
        found.append((lead, 0.8))
        words = lead.split()
        if len(words) == 3:
            found.append((f"{words[0]} {words[2]}", 0.6))
    if "," in bare:
        found.append((bare.split(",", 1)[0].strip(), 0.5))
    found.extend((name, 0.5) for name in _also_known(body[:_ALSO_KNOWN_WINDOW]))
    best: dict[str, tuple[str, float]] = {}
    for name, weight in found:
        best.setdefault(name_key(name), (name, weight))
    best.pop("", None)
    return sorted(best.values(), key=lambda alias: -alias[1])


def _body(text: str) -> str:
    """The text after its leading headings and blank lines, without emphasis marks around names."""
    lines = text[:4000].split("\n")
    while lines and (not lines[0].strip() or lines[0].lstrip().startswith("#")):
        del lines[0]
    return "\n".join(lines).replace("*", "").strip()


def _lead_name(body: str, title_words: set[str]) -> str:
    end = _LEAD_END.search(body)
    if end is None:
        return ""
    lead = body[: end.start()].strip(_QUOTES)
    words = name_key(lead).split()
    if not words or len(words) > 7 or not title_words.intersection(words):
        return ""
    if lead.split()[0].casefold() in ARTICLES and len(lead.split()) > 1:
        lead = lead.split(None, 1)[1]
    return " ".join(lead.split())


def _also_known(opening: str) -> list[str]:
    names = []
    for cue in _ALSO_KNOWN.finditer(opening):
        name = _capitalised_run(opening[cue.end() :].lstrip(_QUOTES))
        words = name_key(name).split()
        if words and words[0] not in CALENDAR_WORDS:
            names.append(name)
    return names


def _capitalised_run(text: str) -> str:
    """The leading words of `text` as long as they read as one name: up to six, at most one small word in
    between."""
    start = previous = end = small = 0
    for count, word in enumerate(_NAME_WORD.finditer(text)):
        token = word.group().rstrip(_QUOTES + ".")
        if count == 0 and token.casefold() in ARTICLES:
            start = word.end()
        elif not token or count > 6 or text[previous : word.start()].strip(" "):
            break
        elif token[0].isupper():
            end, small = word.start() + len(token), 0
        else:
            small += 1
            if not end or small > 2 or token not in _INSIDE_NAMES:
                break
        if end and len(token) > 2 and word.group()[-1] in ".!?":
            break
        previous = word.end()
    return text[start:end].strip(_QUOTES)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ngram:
    """Consecutive words of a question: `text == question[start:end]`, `key` as in `name_key`, `size` in
    words.

    `capital` holds when a letter in it is upper case other than the first letter of a sentence, which tells
    nothing.
    """

    text: str
    key: str
    start: int
    end: int
    size: int
    capital: bool


def question_ngrams(question: str, max_tokens: int = 12) -> list[Ngram]:
    """All runs of up to `max_tokens` words, longest first and then from the left; those with an empty key
    left out.

    Scripts without spaces give one "word" per run of characters, and without case no `capital`.
    """
    possessives = {match.start() + 1 for match in _POSSESSIVE.finditer(question)}
    words = [match.span() for match in WORD.finditer(question) if match.start() not in possessives]
    capitals = [_has_capital(question, start, end) for start, end in words]
    ngrams = []
    for size in range(min(max_tokens, len(words)), 0, -1):
        for first in range(len(words) - size + 1):
            start, end = words[first][0], words[first + size - 1][1]
            key = name_key(question[start:end])
            if key:
                capital = any(capitals[first : first + size])
                ngrams.append(
                    Ngram(text=question[start:end], key=key, start=start, end=end, size=size, capital=capital)
                )
    return ngrams


def capitalised_runs(text: str, max_tokens: int = 8) -> list[str]:
    """Keys of the runs of up to `max_tokens` words that begin and end with a capital or a number, sorted: what may be a
    name that another document is about. Between them stand such words, and small ones ("of the"). Runs within runs too;
    none goes on over the end of a line, a sentence or a parenthesis, and no number, month or day is one."""
    words = [match.span() for match in WORD.finditer(text)]
    # A word is normalised once, not in each of the runs that it is part of.
    keys = [name_key(text[start:end]) for start, end in words]
    possessives = {match.start() + 1 for match in _POSSESSIVE.finditer(text)}
    capitals = [text[start].isupper() for start, _ in words]
    edges = [capital or text[start].isdigit() for capital, (start, _) in zip(capitals, words, strict=True)]
    found: set[str] = set()
    for first in range(len(words)):
        if not edges[first]:
            continue
        run: list[str] = []
        named = False
        for at in range(first, min(first + max_tokens, len(words))):
            if at > first and _parted(text, words[at - 1], words[at]):
                break
            possessive = words[at][0] in possessives
            if not (edges[at] or possessive or keys[at] in _WITHIN_RUN):
                break
            if at > first and "&" in text[words[at - 1][1] : words[at][0]]:
                run.append("and")
            if not possessive:
                run.append(keys[at])
            named = named or capitals[at]
            if edges[at] and named:
                found.add(" ".join(run[1:] if len(run) > 1 and run[0] in ARTICLES else run))
    return sorted(key for key in found if len(key) >= _SHORTEST_RUN and key not in CALENDAR_WORDS)


def _parted(text: str, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether what stands between two words belongs to no name. A full stop does after an abbreviation."""
    between = text[one[1] : other[0]]
    if between == " ":
        return False
    return not _WITHIN_NAME.fullmatch(between) or ("." in between and not abbreviated(text[one[0] : one[1]]))


def abbreviated(text: str) -> bool:
    """Whether a full stop after `text` ends an abbreviation, not a sentence: "J." Smith, "Dr." Smith."""
    words = WORD.findall(text[-20:])
    if not words or not text.endswith(words[-1]) or not words[-1][0].isupper():
        return False
    return len(words[-1]) == 1 or words[-1].casefold() in ABBREVIATED_TITLES


def _has_capital(question: str, start: int, end: int) -> bool:
    if question[end : end + 1] == "." and abbreviated(question[:end]):
        return True  # "J. Smith", though it begins a sentence
    before = question[:start].rstrip(_QUOTES + "([")
    begins_sentence = not before or (before[-1] in _SENTENCE_END and not abbreviated(before[:-1]))
    return any(letter.isupper() for letter in question[start + 1 if begins_sentence else start : end])
