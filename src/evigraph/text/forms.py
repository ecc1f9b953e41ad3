"""Other spellings by which a name may be typed: acronym, initials, surname, without title or legal form.

All work on keys (`names.name_key`): lower-case words with one blank between. A form is a guess that costs nothing until
somebody types it, so rules are generous; what a form stands for is decided where it is looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import OSA

FormKind = Literal["acronym", "initials", "surname", "title", "suffix", "shortened"]

MAX_WORDS = 10
"""Longer names are sentences or titles of works, which nobody abbreviates."""
SAME_WORD = 0.8
"""Optimal string alignment similarity from which two words of five or more letters may be one word, misspelt."""
SHORTEST_MISSPELT = 5
"""In a shorter word one letter makes another name: Hana and Hans, Iran and Iraq."""

_CONNECTIVES = """
a an and at by de del der des di du for from in la le of on the to und van von y
"""
CONNECTIVES = frozenset(_CONNECTIVES.split())

_PERSON_TITLES = """
admiral ambassador archbishop baron baroness bishop brother cardinal captain capt chairman chairwoman chancellor chief
col colonel commander commissioner count countess dame doctor dr duchess duke emperor empress father fr frau general gen
governor herr hon honorable judge justice king lady lieutenant lord lt madame major mayor minister miss mme monsieur mr
mrs ms mx pastor pope president prince princess prof professor queen rabbi rep representative reverend rev saint
secretary senator sen sergeant sgt sheikh sheriff sir sister
"""
PERSON_TITLES = frozenset(_PERSON_TITLES.split())
_BEFORE_TITLES = frozenset({"acting", "assistant", "deputy", "former", "vice", "prime"})
_GENERATIONS = frozenset({"jr", "junior", "sr", "senior", "ii", "iii", "iv", "phd", "md", "esq"})
_LEGAL_FORMS = """
ab ag as bv co company corp corporation gmbh group holding holdings inc incorporated kg kk limited llc llp lp ltd nv oy
plc pte pty sa sarl se spa srl
"""
LEGAL_FORMS = frozenset(_LEGAL_FORMS.split())
_ROMAN = re.compile(r"[ivxlcdm]+")


@dataclass(frozen=True, order=True, slots=True)
class Form:
    """`text` is a key under which the name may be typed."""

    text: str
    kind: FormKind


def name_forms(key: str, type: str, name: str = "") -> list[Form]:
    """The forms of a name, sorted, without the name itself; a form that two rules give has the first rule's kind.

    `name` is the surface form: whether it is capitalised tells a proper name from a noun phrase, of which only those of
    three or more telling words have an acronym. Persons have initials and surnames, all other types acronyms and legal
    forms.
    """
    words = key.split()
    if not words or len(words) > MAX_WORDS:
        return []
    made = _person(words) if type == "PERSON" else _thing(words, proper=_capitalised(name))
    kinds: dict[str, FormKind] = {}
    for form in made:
        kinds.setdefault(form.text, form.kind)
    kinds.pop(key, None)
    kinds.pop("", None)
    return [Form(text, kinds[text]) for text in sorted(kinds)]


def typed_forms(key: str) -> list[Form]:
    """Names that somebody who typed `key` in full may mean, where the corpus uses the shorter one: without title or
    legal form, `j smith` for `john smith`, and the acronym of three or more words. What kind of thing was typed is not
    known; whoever looks a form up checks that its kind fits the type found."""
    words = key.split()
    if not words or len(words) > MAX_WORDS:
        return []
    found = [form for form in _person(words) if form.kind in ("title", "initials")]
    found += [form for form in _thing(words, proper=False) if form.kind in ("suffix", "acronym")]
    kinds: dict[str, FormKind] = {}
    for form in found:
        if form.text != key:
            kinds.setdefault(form.text, form.kind)
    return [Form(text, kinds[text]) for text in sorted(kinds)]


def fits(kind: FormKind, type: str) -> bool:
    """Whether a name of this type can have a form of this kind."""
    of_persons = kind in ("initials", "surname", "title", "shortened")
    return of_persons if type == "PERSON" else not of_persons


def _person(words: list[str]) -> Iterator[Form]:
    bare = without_title(words)
    if bare != words:
        yield Form(" ".join(bare), "title")
    if len(bare) < 2:
        return
    first, last = bare[0], bare[-1]
    given = [word for word in bare[:-1] if word not in CONNECTIVES]
    if len(bare) > 2:
        yield Form(f"{first} {last}", "shortened")
    initials = [word[0] for word in given]
    if any(len(word) > 1 for word in given):
        yield Form(f"{first[0]} {last}", "initials")
        yield Form(" ".join([*initials, last]), "initials")
        if len(given) > 1:
            yield Form(" ".join([first, *initials[1:], last]), "initials")
    if len(initials) > 1:
        yield Form(f"{''.join(initials)} {last}", "initials")
    if len(last) > 1:
        yield Form(last, "surname")
        particles = len(bare) - 1
        while particles > 1 and bare[particles - 1] in CONNECTIVES:
            particles -= 1
        yield Form(" ".join(bare[particles:]), "surname")


def _thing(words: list[str], *, proper: bool) -> Iterator[Form]:
    bare = without_legal_form(words)
    if bare != words:
        yield Form(" ".join(bare), "suffix")
    if len(words) > 1 and all(len(word) == 1 for word in words):
        yield Form("".join(words), "acronym")  # I.B.M.
        return
    for of in (bare, words):
        telling = [word for word in of if word not in CONNECTIVES]
        if len(telling) > 2 or (len(telling) == 2 and proper):
            for chosen in (telling, of):
                yield Form("".join(word if word.isdigit() else word[0] for word in chosen), "acronym")
            if "and" in of:
                # "C&V" reads "c and v".
                yield Form(
                    " ".join(word if word == "and" else word[0] for word in of if word == "and" or word in telling),
                    "acronym",
                )


def without_title(words: list[str]) -> list[str]:
    """A person's name without titles before and generations or degrees after it; never without any word."""
    first, last = 0, len(words)
    while last - first > 1 and (
        words[first] in PERSON_TITLES or (words[first] in _BEFORE_TITLES and words[first + 1] in PERSON_TITLES)
    ):
        first += 1
    while last - first > 1 and words[last - 1] in _GENERATIONS:
        last -= 1
    return words[first:last]


def without_legal_form(words: list[str]) -> list[str]:
    """A company's name without the legal forms at its end; never without any word."""
    last = len(words)
    while last > 1 and words[last - 1] in LEGAL_FORMS:
        last -= 1
    while last > 1 and words[last - 1] in CONNECTIVES:
        last -= 1
    return words[:last]


def _capitalised(name: str) -> bool:
    """Whether every telling word of a surface form begins with a capital."""
    telling = [word for word in re.findall(r"\w+", name) if word.casefold() not in CONNECTIVES]
    return bool(telling) and all(not word[0].islower() for word in telling)


def same_spelling(one: str, other: str) -> float:
    """Similarity in 0-1 of two keys that may be one name, misspelt; 0 where a guard says that they are two.

    Guards: as many words, in order; numbers, Roman numerals and words of up to four letters equal; longer words begin
    with the same letter and are at least `SAME_WORD` alike (Damerau-Levenshtein with adjacent transpositions).
    """
    ours, theirs = one.split(), other.split()
    if len(ours) != len(theirs) or not ours:
        return 0.0
    if not all(same_word(left, right) for left, right in zip(ours, theirs, strict=True)):
        return 0.0
    return float(OSA.normalized_similarity(one, other))


def same_words(one: str, other: str) -> bool:
    """Whether two keys hold the same telling words in any order, each as in `same_spelling`."""
    ours = [word for word in one.split() if word not in CONNECTIVES]
    theirs = [word for word in other.split() if word not in CONNECTIVES]
    if len(ours) != len(theirs) or not ours:
        return False
    for word in ours:
        match = next((candidate for candidate in theirs if same_word(word, candidate)), None)
        if match is None:
            return False
        theirs.remove(match)
    return True


def same_word(one: str, other: str) -> bool:
    """Whether two words may be one, misspelt."""
    if one == other:
        return True
    if min(len(one), len(other)) < SHORTEST_MISSPELT or one[0] != other[0]:
        return False
    if any(letter.isdigit() for letter in one + other) or (_ROMAN.fullmatch(one) and _ROMAN.fullmatch(other)):
        return False
    return float(OSA.normalized_similarity(one, other)) >= SAME_WORD
