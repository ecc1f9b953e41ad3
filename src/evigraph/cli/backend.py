"""What the commands need, whether the engine runs here or in a server: JSON values, as over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from evigraph.reports import Progress

if TYPE_CHECKING:
    from evigraph.cli.graph import GraphBackend

Json = dict[str, Any]


class Backend(Protocol):
    """Raises the errors of `evigraph.errors`, also where a server raised them."""

    def index(
        self,
        paths: Sequence[str],
        *,
        root: str | None = None,
        metadata: Mapping[str, str],
        sync: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> Json: ...

    def estimate(self, paths: Sequence[str], *, root: str | None = None, metadata: Mapping[str, str]) -> Json: ...

    def import_graph(
        self,
        path: str,
        *,
        format: str | None,
        metadata: Mapping[str, str],
        progress: Callable[[Progress], None] | None = None,
    ) -> Json: ...

    def export(self, format: str, filters: Mapping[str, Any]) -> Iterator[str]: ...

    def ask(self, question: str, options: Mapping[str, Any]) -> Json: ...

    def plan(self, plan: Json | str, options: Mapping[str, Any]) -> Json: ...

    def schema(self, *, as_of: str | None = None) -> Json: ...

    def set_schema(self, schema: Json | None) -> Json: ...

    def documents(self, *, as_of: str | None = None) -> list[Json]: ...

    def document(self, document_id: str, *, as_of: str | None = None) -> Json: ...

    def document_text(self, document_id: str, *, revision: int | None = None) -> str: ...

    def revisions(self, document_id: str) -> list[Json]: ...

    def delete(self, document_id: str) -> Json: ...

    def prune(self) -> Json: ...

    def reembed(self, *, progress: Callable[[Progress], None] | None = None) -> Json: ...

    def jobs(self) -> list[Json]: ...

    def capabilities(self) -> Json: ...

    @property
    def graph(self) -> GraphBackend: ...

    def close(self) -> None: ...
