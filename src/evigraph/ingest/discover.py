"""From paths, folders and globs to the files to read, each with its source: the POSIX path below the
indexed root."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from evigraph.errors import MissingFile, OutsideRoot, ReadError, UnsupportedFormat
from evigraph.reports import FileError

STORE_FOLDER = "evigraph-data"
SIDECAR_SUFFIX = ".meta.json"
_MAGIC = "*?["


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundFile:
    """A regular file below `root`; `source` is its POSIX path relative to it."""

    path: Path
    source: str
    root: Path


def file_error(source: str, error: ReadError | OSError) -> FileError:
    """A per-file report of a typed error, or of what the operating system says."""
    if isinstance(error, ReadError):
        return FileError(source=source, code=error.code, message=str(error), hint=error.hint)
    message = f"{source}: {error.strerror or error}"
    return FileError(source=source, code=ReadError.code, message=message, hint="check that the file may be read")


def discover(
    inputs: Iterable[str | Path], root: Path | None = None, *, seen: dict[str, Path] | None = None
) -> Iterator[FoundFile | FileError]:
    """Files to read, folder by folder in sorted order, and an error for each input that names none.

    A folder is searched at every depth and is itself the root; of a single file the root is its folder, of
    a glob the part before its first wildcard; `root` overrides all three. Hidden files, `NAME.meta.json`
    sidecars and stores (`evigraph-data`) below a folder are left out. Symbolic links to folders are not
    followed; a link or a `..` that leads out of the root is an `OutsideRoot` error. `seen` collects source
    → path, to tell repeats, which are left out, from two files that would get the same source.
    """
    seen = {} if seen is None else seen
    for given in inputs:
        if isinstance(given, str) and not given.strip():
            # `Path("")` would be the current folder.
            yield file_error("", MissingFile("an empty path", hint="name a file or folder; . is the current folder"))
            continue
        for found in _of_input(Path(given), root):
            if isinstance(found, FileError):
                yield found
                continue
            known = seen.setdefault(found.source, found.path)
            if known is found.path:
                yield found
            elif not _same_file(known, found.path):
                message = f"{found.path}: another input already has the source {found.source!r}"
                hint = "index the folder that holds both, so that their sources differ"
                yield FileError(source=found.source, code=ReadError.code, message=message, hint=hint)


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _of_input(path: Path, root: Path | None) -> Iterator[FoundFile | FileError]:
    try:
        status = path.stat()
    except FileNotFoundError:
        status = None
    except (OSError, ValueError) as error:
        yield _missing(path, str(error))
        return
    if status is None and not any(mark in str(path) for mark in _MAGIC):
        yield _missing(path, "no such file or folder")
    elif status is None:
        yield from _glob(path, root)
    elif stat.S_ISDIR(status.st_mode):
        yield from _walk(path, root or path, lambda _: True)
    elif not _describes_another(path):
        yield _check(path, root or path.parent, named=root is None)


def _missing(path: Path, why: str) -> FileError:
    error = MissingFile(f"{path}: {why}", hint="check the spelling; relative paths start at the current folder")
    return file_error(path.as_posix(), error)


def _describes_another(path: Path) -> bool:
    """A sidecar that a shell's wildcard handed over beside its document."""
    if not path.name.endswith(SIDECAR_SUFFIX):
        return False
    name = path.name.removesuffix(SIDECAR_SUFFIX)
    return any(other.name != path.name and name in (other.name, other.stem) for other in path.parent.iterdir())


def _glob(pattern: Path, root: Path | None) -> Iterator[FoundFile | FileError]:
    parts = pattern.parts
    first = next(i for i, part in enumerate(parts) if any(mark in part for mark in _MAGIC))
    base, wanted = Path(*parts[:first]), parts[first:]
    if not base.is_dir():
        yield _missing(pattern, f"no folder {base}")
        return
    matched = False
    for found in _walk(base, root or base, lambda folder: _may_hold(folder.relative_to(base).parts, wanted)):
        # Errors inside the folder concern the pattern only where their path matches it.
        path = found.path if isinstance(found, FoundFile) else (root or base) / found.source
        if path.is_relative_to(base) and _matches(path.relative_to(base).parts, wanted):
            matched = True
            yield found
    if not matched:
        yield _missing(pattern, "the pattern matches no file")


def _matches(parts: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    if not wanted:
        return not parts
    if wanted[0] == "**":
        return _matches(parts, wanted[1:] or ("*",)) or (bool(parts) and _matches(parts[1:], wanted))
    return bool(parts) and fnmatchcase(parts[0], wanted[0]) and _matches(parts[1:], wanted[1:])


def _may_hold(folder: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Whether something below the folder can match, at whatever depth."""
    for part, mark in zip(folder, wanted, strict=False):
        if mark == "**":
            return True
        if not fnmatchcase(part, mark):
            return False
    return len(folder) < len(wanted)


def _walk(folder: Path, root: Path, enter: Callable[[Path], bool]) -> Iterator[FoundFile | FileError]:
    """Files below the folder, and below those of its folders that `enter` accepts."""
    yield from _walk_below(folder, root, enter, inside=_inside(folder, root))


def _walk_below(
    folder: Path, root: Path, enter: Callable[[Path], bool], *, inside: bool
) -> Iterator[FoundFile | FileError]:
    """`inside`: the folder is in the root, and so is what it holds, but for links. To resolve each path to find that
    out would cost more than all else here."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield file_error(_source(folder, root), error)
        return
    for entry in entries:
        path = folder / entry.name
        if entry.name.startswith(".") or entry.name == STORE_FOLDER or entry.name.endswith(SIDECAR_SUFFIX):
            continue
        if entry.is_dir(follow_symlinks=False):
            if enter(path):
                yield from _walk_below(path, root, enter, inside=inside)
        elif inside and entry.is_file(follow_symlinks=False):
            yield FoundFile(path=path, source=_source(path, root), root=root)
        elif not (entry.is_symlink() and path.is_dir() and _inside(path, root)):
            # A linked folder inside the root is read where it really is; one outside is reported like a file.
            yield _check(path, root, named=False)


def _check(path: Path, root: Path, *, named: bool) -> FoundFile | FileError:
    """`named`: the caller gave this very file, so a link to elsewhere is meant."""
    source = _source(path, root)
    try:
        if path.is_symlink() and not path.exists():
            raise MissingFile(f"{source}: a link to nothing", hint="remove or repair the link")
        if not named and not _inside(path, root):
            raise OutsideRoot(
                f"{source}: lies outside {root}",
                hint="copy the file into the folder, or index its own folder",
            )
        if not stat.S_ISREG(path.stat().st_mode):
            raise UnsupportedFormat(f"{source}: not a regular file", hint="give a file or a folder")
    except (ReadError, OSError) as error:
        return file_error(source, error)
    return FoundFile(path=path, source=source, root=root)


def _inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):
        return False


def _source(path: Path, root: Path) -> str:
    absolute, base = Path(os.path.abspath(path)), Path(os.path.abspath(root))
    return absolute.relative_to(base).as_posix() if absolute.is_relative_to(base) else path.as_posix()
