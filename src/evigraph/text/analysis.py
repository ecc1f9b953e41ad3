"""Lexical analysis for BM25: text to terms, the same for passages and questions.

Words are NFKC-normalised and case-folded, then stemmed where Snowball has a stemmer for the language; accents
are dropped after stemming, so that "cafe" finds "café". Scripts written without spaces, and Korean, give
character bigrams whatever the detected language. Codes and numbers (`SKU-8847`, `3.11`, `1,200`) are kept
whole and in parts. Only English has a stop list; elsewhere frequent words are left to BM25's idf.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache
from typing import Any

from evigraph.text.names import WORD, strip_accents

MAX_TERM = 64
"""Longer terms are cut: they are encoded data, not words."""

_RULES = 1  # part of the analyser's name: raise it when the same text would give other terms

_SNOWBALL_CODES = """
ar arabic, ca catalan, cs czech, da danish, de german, el greek, en english, eo esperanto, es spanish,
et estonian, eu basque, fa persian, fi finnish, fr french, ga irish, hi hindi, hu hungarian, hy armenian,
id indonesian, it italian, lt lithuanian, nb norwegian, ne nepali, nl dutch, nn norwegian, no norwegian,
pl polish, pt portuguese, ro romanian, ru russian, sr serbian, sv swedish, ta tamil, tr turkish, yi yiddish
"""
_SNOWBALL: dict[str, str] = dict(entry.split() for entry in _SNOWBALL_CODES.split(","))

_STOP_TEXT = """
a about above after again against all also am an and any are aren as at be because been before being below
between both but by can cannot could couldn d did didn do does doesn doing don down during each either else
ever every few for from further had hadn has hasn have haven having he her here hers herself him himself his
how however i if in into is isn it its itself just ll m may me might more most much must mustn my myself
neither no nor not of off on once only or other our ours ourselves out over own per quite rather re s same
shall shan she should shouldn since so some such t than that the their theirs them themselves then there
these they this those though through thus to too under until up upon us ve very via was wasn we were weren
what when where whether which while who whom whose why will with within without won would wouldn yet you
your yours yourself yourselves
"""
ENGLISH_STOP_WORDS = frozenset(_STOP_TEXT.split())
"""Function words only: nothing that could be the subject of a question."""

_POSSESSIVE = re.compile(r"(?<=\w)['’ʼ]s\b")
# A code: words joined by single signs, at least one digit or underscore in it (checked afterwards).
_JOINED = re.compile(rf"{WORD.pattern}(?:[-‐‑_./:+,]{WORD.pattern})*")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana, Han
    "\uac00-\ud7af\U00020000-\U0003ffff]+"  # Hangul, rarer Han
)

_stemmers: dict[str, Any] = {}
_stemmer_lock = threading.Lock()


def analyser_name(language: str) -> str:
    """Names the rules `analyse` follows for an ISO 639-1 language; terms of equal names are comparable."""
    stop = "+stop" if language == "en" else ""
    return f"{_SNOWBALL.get(language, 'plain')}{stop}/{_RULES}"


def analyse(text: str, language: str) -> list[str]:
    """The terms of `text` in order, repeats included. `language` is ISO 639-1; an unknown one is not
    stemmed."""
    terms: list[str] = []
    for piece in text.split():
        # Prose repeats its words; caching long pieces would only hold encoded data.
        terms.extend(_terms_cached(piece, language) if len(piece) <= 48 else _terms(piece, language))
    return terms


def _terms(piece: str, language: str) -> tuple[str, ...]:
    """Terms of one whitespace-free piece of text."""
    if not piece.isascii():
        piece = unicodedata.normalize("NFKC", piece)
    folded = _POSSESSIVE.sub("", piece.casefold())
    terms: list[str] = []
    for joined in _JOINED.findall(folded):
        parts = WORD.findall(joined)
        if len(parts) > 1 and any(letter.isdigit() or letter == "_" for letter in joined):
            whole = joined.replace(",", "") if _GROUPED.fullmatch(joined) else joined
            terms.append(whole.replace("‐", "-").replace("‑", "-")[:MAX_TERM])
        for part in parts:
            terms.extend(_word_terms(part, language))
    return tuple(terms)


_terms_cached = lru_cache(maxsize=1 << 16)(_terms)


def forget_words() -> None:
    """Forget the pieces of text that were analysed before."""
    _terms_cached.cache_clear()


def _word_terms(word: str, language: str) -> list[str]:
    if not word.isascii() and _UNSPACED.search(word):
        return _split_scripts(word, language)
    if language == "en" and word in ENGLISH_STOP_WORDS:
        return []
    return [_stem(word, language)[:MAX_TERM]]


def _split_scripts(word: str, language: str) -> list[str]:
    """Bigrams of the unspaced runs of `word`, plain terms of what stands between them ("iPhone用")."""
    terms: list[str] = []
    at = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > at:
            terms.extend(_word_terms(word[at : run.start()], language))
        characters = run.group()
        if len(characters) == 1:
            terms.append(characters)
        else:
            terms.extend(characters[i : i + 2] for i in range(len(characters) - 1))
        at = run.end()
    if at < len(word):
        terms.extend(_word_terms(word[at:], language))
    return terms


def _stem(word: str, language: str) -> str:
    algorithm = _SNOWBALL.get(language)
    if algorithm is None or any(letter.isdigit() for letter in word):
        stem = word
    else:
        with _stemmer_lock:  # one stemmer object must not serve two threads at a time
            stemmer = _stemmers.get(algorithm)
            if stemmer is None:
                import Stemmer

                stemmer = _stemmers[algorithm] = Stemmer.Stemmer(algorithm)
            stem = str(stemmer.stemWord(word))
    return strip_accents(stem)
