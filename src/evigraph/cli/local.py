"""The engine in this process, as the commands see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from evigraph.cli.backend import Json
from evigraph.cli.bases import LocalBases, LocalPipelines
from evigraph.cli.communities import LocalCommunities
from evigraph.cli.conversations import LocalConversations
from evigraph.cli.graph import LocalGraph
from evigraph.cli.values import generation_or_time
from evigraph.engine import Evigraph
from evigraph.query.request import parse
from evigraph.reports import Progress
from evigraph.store.knowledge_bases import of_own_models
from evigraph.wire import answer_to_wire, plain


class LocalEngine:
    """A `Backend` over an open engine."""

    def __init__(self, engine: Evigraph) -> None:
        self.engine = engine

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
        report = self.engine.index(
            paths,
            root=root,
            metadata=metadata,
            sync=sync,
            build_tree=build_tree,
            knowledge_base=knowledge_base,
            progress=progress,
        )
        return {**plain(report), "degraded": []}

    def estimate(self, paths: Sequence[str], *, root: str | None = None, metadata: Mapping[str, str]) -> Json:
        found: Json = plain(self.engine.estimate(paths, root=root, metadata=metadata))
        return found

    def import_graph(
        self,
        path: str,
        *,
        format: str | None,
        metadata: Mapping[str, str],
        extract: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> Json:
        report = self.engine.import_graph(path, format=format, metadata=metadata, extract=extract, progress=progress)
        found: Json = plain(report)
        return found

    def export(self, format: str, filters: Mapping[str, Any]) -> Iterator[str]:
        return self.engine.export(format, **filters)

    def ask(self, question: str, options: Mapping[str, Any]) -> Json:
        return answer_to_wire(self.engine.ask(question, **options))

    def plan(self, plan: Json | str, options: Mapping[str, Any]) -> Json:
        return answer_to_wire(self.engine.plan(plan, **options))

    def schema(self, *, as_of: str | None = None) -> Json:
        found: Json = plain(self.engine.schema(as_of=_moment(as_of)))
        return found

    def set_schema(self, schema: Json | None) -> Json:
        return {"generation": self.engine.set_schema(schema)}

    def documents(self, *, as_of: str | None = None) -> list[Json]:
        found: list[Json] = plain(self.engine.documents(as_of=_moment(as_of)))
        return found

    def document(self, document_id: str, *, as_of: str | None = None) -> Json:
        found: Json = plain(self.engine.document(document_id, as_of=_moment(as_of)))
        return found

    def document_text(self, document_id: str, *, revision: int | None = None) -> str:
        return self.engine.document_text(document_id, revision=revision)

    def revisions(self, document_id: str) -> list[Json]:
        found: list[Json] = plain(self.engine.revisions(document_id))
        return found

    def delete(self, document_id: str) -> Json:
        return {"document_id": document_id, "generation": self.engine.delete(document_id)}

    def prune(self) -> Json:
        report: Json = plain(self.engine.prune())
        return report

    def reembed(self, *, progress: Callable[[Progress], None] | None = None) -> Json:
        done = self.engine.reembed(progress=progress)
        return {"generation": done, "left_alone": of_own_models(self.engine.store, self.engine.workspace)}

    def jobs(self) -> list[Json]:
        found: list[Json] = plain(self.engine.jobs())
        return found

    def capabilities(self) -> Json:
        found: Json = plain(self.engine.capabilities())
        return found

    @property
    def graph(self) -> LocalGraph:
        return LocalGraph(self.engine)

    @property
    def communities(self) -> LocalCommunities:
        return LocalCommunities(self.engine)

    @property
    def conversations(self) -> LocalConversations:
        return LocalConversations(self.engine)

    @property
    def knowledge_bases(self) -> LocalBases:
        return LocalBases(self.engine)

    @property
    def pipelines(self) -> LocalPipelines:
        return LocalPipelines(self.engine)

    def close(self) -> None:
        self.engine.close()


def _moment(as_of: str | None) -> Any:
    """`as_of` by the rules of the query API."""
    if as_of is None:
        return None
    return parse({"query": "as_of", "as_of": generation_or_time(as_of)}).as_of
