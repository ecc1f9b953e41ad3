"""Files that are read line by line, and files that are written whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from evigraph.errors import CorruptDocument, InvalidValue, MissingFile, ReadError

MOST_LINKS = 40
"""Symbolic links followed from one name; Linux stops there too."""


# --------------------------------------------------------------------------- reading


def byte_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """The lines of a file, each with its file and number. Raises `MissingFile` and `ReadError`."""
    if not path.is_file():
        raise MissingFile(
            f"{path.name} is missing in {path.parent}",
            hint="check the name; the layouts of a folder are in `evigraph eval --help`",
        )
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                yield f"{path.name}:{number}", line
    except OSError as error:
        hint = "check that the file may be read"
        raise ReadError(f"{path.name} cannot be read: {error.strerror}", hint=hint) from error


def text_lines(path: Path) -> Iterator[tuple[str, str]]:
    """As `byte_lines`, without line ends. Raises `CorruptDocument` too, with file and line, where one is not UTF-8."""
    for where, line in byte_lines(path):
        try:
            yield where, line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            problem = f"{where}: not UTF-8 at byte {error.start + 1} of the line"
            raise CorruptDocument(problem, hint="write the file as UTF-8") from error


# --------------------------------------------------------------------------- writing


def write_records(output: str | Path, records: Iterable[Mapping[str, Any]]) -> None:
    """One JSON object a line. Raises `InvalidValue` where the file cannot be written."""
    with writing(output) as file:
        for record in records:
            # What UTF-8 has no bytes for, lone surrogates, becomes the escape that JSON has for it.
            file.write(json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")


@contextmanager
def writing(output: str | Path) -> Iterator[BinaryIO]:
    """A file to write to, which takes the name `output` only when it is complete, with the mode of what it replaces.

    A symbolic link stays one, and what it points to is written. What is there and no regular file (a FIFO, a device),
    or an open descriptor (/dev/stdout), is written to directly. Raises `InvalidValue` where none of it can be done.
    """
    path = Path(output)
    with _refusal(output):
        if _stays(path):
            with _opened(path) as file:
                yield file
            return
        target = Path(os.path.realpath(path))
        with _partial(target) as file:
            yield file
            file.close()  # before the file takes its name: what is still buffered may not fit
            os.replace(file.name, target)


def check_output(output: str | Path) -> None:
    """Raises the `InvalidValue` that `writing` would raise, as far as it shows before: for work that takes long."""
    path = Path(output)
    with _refusal(output):
        if not _stays(path):
            with _partial(Path(os.path.realpath(path))):
                return
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextmanager
def _refusal(output: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidValue(
            f"{output} cannot be written: {error.strerror}",
            hint="name another file, in a folder that is there and has space",
        ) from error


def _stays(path: Path) -> bool:
    """Whether what has this name must not be replaced. Raises `IsADirectoryError` for a folder."""
    if _descriptor(path) is not None:
        return True
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return not stat.S_ISREG(mode)


def _descriptor(path: Path) -> int | None:
    """The open descriptor of this process that a name such as /dev/stdout stands for."""
    own, name = os.path.realpath("/dev/fd"), os.fspath(path)
    for _ in range(MOST_LINKS):
        folder, last = os.path.split(os.path.abspath(name))
        folder = os.path.realpath(folder)
        if folder == own:
            return int(last) if last.isdecimal() else None
        try:
            name = os.path.join(folder, os.readlink(os.path.join(folder, last)))
        except OSError:
            return None
    return None


def _opened(path: Path) -> BinaryIO:
    """What stays, open for writing. A descriptor is doubled: opened by its name, a file would be written from its
    start, over what the shell's `>>` keeps."""
    descriptor = _descriptor(path)
    # Without O_CREAT, which Linux refuses for another user's FIFO in a folder such as /tmp.
    return os.fdopen(os.open(path, os.O_WRONLY) if descriptor is None else os.dup(descriptor), "wb")


@contextmanager
def _partial(target: Path) -> Iterator[BinaryIO]:
    """A new file beside the target, with its mode, that is gone in the end unless it has been renamed."""
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    with partial.open("xb") as file:
        try:
            if target.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
            yield file
        finally:
            partial.unlink(missing_ok=True)
