"""Import and export through a server: files go up, text comes down as it is made."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2

from evigraph import errors
from evigraph.ingest.imports.openie import CORPUS
from evigraph.ingest.imports.rows import Folder

Json = dict[str, Any]

IMPORT = "/api/v1/graph/import"
EXPORT = "/api/v1/graph/export"
SUFFIXES = (".jsonl", ".parquet", ".txt", ".md")
"""Files of a folder that an import may read: tables, and the texts they are about."""
MAX_FILE_BYTES = 1 << 40
"""None here: the server has the limit."""
_AS_JSON = ("document_filter", "metadata_filter")


def send_graph(
    request: Callable[..., Json],
    path: str,
    *,
    format: str | None,
    metadata: Mapping[str, str],
    extract: bool = False,
) -> Json:
    """Upload the files that an import of `path` would read. Raises what the server's import raises."""
    folder = Folder.open(Path(path), None, MAX_FILE_BYTES)
    files = [file for file in folder.files if file.suffix in SUFFIXES]
    corpus = folder.beside(CORPUS)
    if corpus is not None and Path(path).is_file() and corpus not in files:
        files.append(corpus)
    fields = {"metadata": json.dumps(dict(metadata)), **({} if format is None else {"format": format})}
    if extract:
        fields["extract"] = "true"
    with contextlib.ExitStack() as opened:
        parts = [
            ("files", (file.name, opened.enter_context(folder.checked(file).open("rb")), "application/octet-stream"))
            for file in files
        ]
        return request("POST", IMPORT, files=parts, data=fields)


def receive_graph(
    client: httpx2.Client,
    headers: Mapping[str, str],
    format: str,
    filters: Mapping[str, Any],
    *,
    url: str,
    fail: Callable[[Json], Exception],
) -> Iterator[str]:
    """The pieces of an export. `fail` makes the error that a problem stands for; a server at `url` that does not
    answer, or breaks off, is `StoreUnavailable`."""
    given = {name: json.dumps(value) if name in _AS_JSON else value for name, value in filters.items()}
    try:
        with client.stream("GET", EXPORT, headers=headers, params={"format": format, **given}) as response:
            if response.status_code >= 400:
                response.read()
                raise fail(answered(url, response))
            yield from response.iter_text()
    except httpx2.HTTPError as error:
        raise no_answer(url, error) from error


def no_answer(url: str, error: httpx2.HTTPError) -> errors.StoreUnavailable:
    """What a request that failed on the way becomes."""
    return errors.StoreUnavailable(
        f"the server at {url}, which holds the store, does not answer: {error}",
        hint="wait for it, or restart it with `evigraph serve`",
    )


def answered(url: str, response: httpx2.Response) -> Json:
    """The JSON object of a response. Raises `StoreUnavailable` where it is none, as from another kind of server."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise errors.StoreUnavailable(
            f"{url} answers with status {response.status_code}, and not as an evigraph server",
            hint="see what listens there, or stop it",
        )
    return body
