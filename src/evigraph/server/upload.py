"""Uploaded files: received within bounds, laid out in a temporary folder, indexed from there."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request

from evigraph.engine import Evigraph
from evigraph.errors import InvalidItem
from evigraph.reports import IndexReport
from evigraph.server.bodies import UploadForm, check_texts, decode, upload_form
from evigraph.server.problems import InvalidForm, InvalidJson

_FIELDS = ("metadata", "sources", "build_tree")
_MAX_NAME_BYTES = 255
_MAX_DEPTH = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """Files with the relative names they will have, and what holds for all of them."""

    files: tuple[UploadFile, ...]
    names: tuple[tuple[str, ...], ...]
    metadata: dict[str, Any]
    build_tree: bool
    form: UploadForm

    async def close(self) -> None:
        await self.form.form.close()


async def receive_upload(request: Request, *, max_file_bytes: int) -> Upload:
    """Read and check the form. Raises `UploadTooLarge`, `InvalidForm` and `InvalidItem`."""
    form = await upload_form(request, max_file_bytes=max_file_bytes, known=_FIELDS)
    try:
        return _checked(form)
    except BaseException:
        await form.form.close()
        raise


def index_upload(engine: Evigraph, upload: Upload, knowledge_base: str | None = None) -> IndexReport:
    """Write the files below a fresh temporary folder, index that folder (into a knowledge base), remove it."""
    with tempfile.TemporaryDirectory(prefix="evigraph-upload-") as folder:
        root = Path(folder).resolve()
        paths = []
        for file, name in zip(upload.files, upload.names, strict=True):
            path = root.joinpath(*name)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as target:
                shutil.copyfileobj(file.file, target)
            paths.append(path)
        documents = [path for path in paths if not path.name.endswith(".meta.json")]
        return engine.index(
            documents,
            root=root,
            metadata=upload.metadata,
            origin="",
            build_tree=upload.build_tree,
            knowledge_base=knowledge_base,
        )


def _checked(form: UploadForm) -> Upload:
    if not form.files:
        raise InvalidForm("the form holds no file", hint="for example curl -F files=@report.pdf")
    sources = json_field(form, "sources", list)
    names: tuple[tuple[str, ...], ...]
    if sources is None:
        names = tuple((bare_name(file.filename or ""),) for file in form.files)
    elif len(sources) != len(form.files):
        raise InvalidForm(
            f"{len(sources)} sources for {len(form.files)} files", hint="give one source name for each file"
        )
    else:
        names = tuple(_relative_name(source) for source in sources)
    if len({"/".join(name).casefold() for name in names}) != len(names):
        raise InvalidForm(
            "two files have the same name", hint="name them apart with `sources`, or upload them one by one"
        )
    return Upload(
        files=form.files,
        names=names,
        metadata=json_field(form, "metadata", dict) or {},
        build_tree=flag(form, "build_tree"),
        form=form,
    )


def json_field(form: UploadForm, name: str, kind: type) -> Any:
    """A JSON field of the form, or None where it was not sent."""
    given = form.fields.get(name, [])
    if not given or not given[0]:
        return None
    try:
        value = decode(given[0])
    except InvalidJson as error:
        raise InvalidForm(f"form field {name}: {error}", hint="send JSON in it") from None
    if len(given) > 1 or not isinstance(value, kind):
        what = "object" if kind is dict else "list"
        raise InvalidForm(f"form field {name} must be one JSON {what}", hint="GET /docs describes it")
    check_texts(name, value)
    return value


def flag(form: UploadForm, name: str) -> bool:
    value = form.fields.get(name, ["false"])[-1].strip().lower()
    if value in ("true", "1", "yes", "on"):
        return True
    if value in ("false", "0", "no", "off", ""):
        return False
    raise InvalidForm(f"form field {name} must be true or false", hint=f"got {value[:40]!r}")


def bare_name(filename: str) -> str:
    """The last component of a client's file name, under either system's separators."""
    return _checked_part(filename.replace("\\", "/").rpartition("/")[2])


def _relative_name(source: Any) -> tuple[str, ...]:
    """A source name as its parts. Nothing in it can lead out of the folder: each part is a plain name."""
    if not isinstance(source, str):
        raise InvalidItem("a source name must be text", hint="send a JSON list of texts in `sources`")
    parts = source.split("/")
    if len(parts) > _MAX_DEPTH:
        raise InvalidItem(f"source name {source[:80]!r} is too deep", hint=f"at most {_MAX_DEPTH} parts")
    return tuple(_checked_part(part) for part in parts)


def _checked_part(part: str) -> str:
    printable = all(character.isprintable() for character in part)
    fits = 0 < len(part.encode(errors="replace")) <= _MAX_NAME_BYTES
    if part in (".", "..") or "\\" in part or not printable or not fits:
        raise InvalidItem(
            f"{part[:80]!r} cannot be a file name",
            hint="use relative names with `/` between parts, without `..`, `\\` and control characters",
        )
    return part
