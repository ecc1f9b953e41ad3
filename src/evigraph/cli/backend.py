"""What the commands need, whether the engine runs here or in a server: JSON values, as over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from evigraph.reports import Progress

if TYPE_CHECKING:
    from evigraph.cli.bases import BaseBackend, PipelineBackend
    from evigraph.cli.communities import CommunityBackend
    from evigraph.cli.conversations import ConversationBackend
    from evigraph.cli.graph import GraphBackend

Json = dict[str, Any]


class Backend(Protocol):
    """An engine on one workspace, here or in a server. Raises the errors of `evigraph.errors`, also where a server
    raised them."""

    def index(
        self,
        paths: Sequence[str],
        *,
        root: str | None = None,
        metadata: Mapping[str, str],
        sync: bool = False,
        build_tree: bool = False,
        knowledge_base: str | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Json:
        """Index files and folders, into a knowledge base if one is named; a report as `engine.index` makes it."""
        ...

    def estimate(self, paths: Sequence[str], *, root: str | None = None, metadata: Mapping[str, str]) -> Json:
        """What indexing the files would cost a chat model."""
        ...

    def import_graph(
        self,
        path: str,
        *,
        format: str | None,
        metadata: Mapping[str, str],
        extract: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> Json:
        """Import a graph that another tool wrote; a report by format."""
        ...

    def export(self, format: str, filters: Mapping[str, Any]) -> Iterator[str]:
        """The text of an export, piece by piece."""
        ...

    def ask(self, question: str, options: Mapping[str, Any]) -> Json:
        """Answer a question under the options of the query API."""
        ...

    def plan(self, plan: Json | str, options: Mapping[str, Any]) -> Json:
        """Run a plan, or the one proposed for a question."""
        ...

    def schema(self, *, as_of: str | None = None) -> Json:
        """The domain schema in force, or read off the assertions."""
        ...

    def set_schema(self, schema: Json | None) -> Json:
        """Set the domain schema; None takes it back."""
        ...

    def documents(self, *, as_of: str | None = None) -> list[Json]:
        """Visible documents."""
        ...

    def document(self, document_id: str, *, as_of: str | None = None) -> Json:
        """One visible document."""
        ...

    def document_text(self, document_id: str, *, revision: int | None = None) -> str:
        """The text of a revision, by default the visible one."""
        ...

    def revisions(self, document_id: str) -> list[Json]:
        """Every revision of a document, deletions too."""
        ...

    def delete(self, document_id: str) -> Json:
        """Hide a document from the next generation on."""
        ...

    def prune(self) -> Json:
        """Remove what no visible revision needs; what was removed."""
        ...

    def reembed(self, *, progress: Callable[[Progress], None] | None = None) -> Json:
        """Embed everything again with the configured model."""
        ...

    def jobs(self) -> list[Json]:
        """Index runs and the like, with their states."""
        ...

    def capabilities(self) -> Json:
        """What this store and its models can do."""
        ...

    @property
    def graph(self) -> GraphBackend:
        """What the `graph` commands ask."""
        ...

    @property
    def communities(self) -> CommunityBackend:
        """What the `communities` commands ask."""
        ...

    @property
    def conversations(self) -> ConversationBackend:
        """What the `conversations` commands ask."""
        ...

    @property
    def knowledge_bases(self) -> BaseBackend:
        """What the `bases` commands ask."""
        ...

    @property
    def pipelines(self) -> PipelineBackend:
        """What the `pipelines` commands ask, and `ask --pipeline`."""
        ...

    def close(self) -> None: ...
