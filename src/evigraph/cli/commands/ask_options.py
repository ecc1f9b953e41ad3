"""The options of `ask`, and the fields of the query API they stand for."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

from evigraph.cli.values import generation_or_time, key_values

MODES = (
    "naive, local, global, hybrid, mix, bypass, keyword_lookup, entity_connections, traverse, plan, "
    "thematic_overview, auto"
)
"""Written out, because importing them would cost `--help` a tenth of a second; a test compares."""

_FILTER = "Which documents"
_TUNING = "How much, and how it is ranked"
_TRANSLATED = (
    "document_id",
    "pattern",
    "date_from",
    "date_to",
    "meta",
    "as_of",
    "predicate",
    "seed",
    "conversation",
    "no_web_search",
)


def _option(help_text: str, *names: str, panel: str | None = None) -> Any:
    return typer.Option(*names, help=help_text, show_default=False, rich_help_panel=panel)


def _filter(help_text: str) -> Any:
    return _option(help_text, panel=_FILTER)


def _tuning(help_text: str, *names: str) -> Any:
    return _option(help_text, *names, panel=_TUNING)


@dataclass(frozen=True, kw_only=True, slots=True)
class AskOptions:
    """One field an option, in the order of the help."""

    mode: Annotated[str | None, _option(f"Where evidence comes from: {MODES}. Default: mix.")] = None
    method: Annotated[str | None, _option("How the question is asked. Default: standard.")] = None
    context_only: Annotated[bool, _option("Return the context, without an answer.", "--context-only")] = False
    prompt_only: Annotated[bool, _option("Return the prompt, without calling a model.", "--prompt-only")] = False
    llm_model: Annotated[str | None, _option("Chat model instead of the configured one.")] = None
    no_web_search: Annotated[
        bool, _option("Keep method corrective off the web, where a search service is configured.", "--no-web-search")
    ] = False
    conversation: Annotated[
        str | None, _option("Make the question a turn of this conversation; a new id begins one.")
    ] = None
    user: Annotated[str | None, _option("Who asks: conversations are each user's own.")] = None
    conversation_owner: Annotated[
        str | None, _option("Whose conversation it is, where it is a shared one of another user.")
    ] = None
    document_id: Annotated[list[str] | None, _filter("Only this document; may be repeated.")] = None
    pattern: Annotated[str | None, _filter("Only sources matching this glob, in union with ids.")] = None
    date_from: Annotated[str | None, _filter("Only documents from this day, YYYY-MM-DD.")] = None
    date_to: Annotated[str | None, _filter("Only documents up to this day.")] = None
    meta: Annotated[list[str] | None, _filter("Only documents with this metadata, key=value; may be repeated.")] = None
    as_of: Annotated[str | None, _filter("An earlier state: a generation, or a time in ISO 8601.")] = None
    max_chunks: Annotated[int | None, _tuning("Passages at most. Default: 10.")] = None
    max_entities: Annotated[int | None, _tuning("Entities at most. Default: 20.")] = None
    max_relationships: Annotated[int | None, _tuning("Relationships at most. Default: 500.")] = None
    max_context_tokens: Annotated[int | None, _tuning("Token budget of the context. Default: 4000.")] = None
    graph_depth: Annotated[int | None, _tuning("Hops from the entities. Default: 2.")] = None
    per_node_limit: Annotated[int | None, _tuning("Assertions followed from one entity. Default: 20.")] = None
    predicate: Annotated[list[str] | None, _tuning("A predicate to follow; may be repeated. Default: all.")] = None
    direction: Annotated[str | None, _tuning("Way along assertions: out, in or both. Default: both.")] = None
    seed: Annotated[list[str] | None, _tuning("Entity id or name `traverse` starts from; may be repeated.")] = None
    limit: Annotated[int | None, _tuning("Paths of `traverse` at most. Default: 50.")] = None
    community_level: Annotated[
        int | None, _tuning("Level of the communities of thematic_overview: 0 is the broadest, larger is finer.")
    ] = None
    min_score: Annotated[float | None, _tuning("Least cosine of a passage found by vector. Default: 0.1.")] = None
    fusion: Annotated[str | None, _tuning("gate or rrf. Default: gate.")] = None
    vector_weight: Annotated[float | None, _tuning("Weight of the vector arms.")] = None
    graph_weight: Annotated[float | None, _tuning("Weight of the graph arm.")] = None
    hybrid: Annotated[bool, _tuning("With naive: BM25 too.", "--hybrid")] = False
    parent_context: Annotated[bool, _tuning("Return passages with their neighbours.", "--parent-context")] = False
    rerank: Annotated[bool, _tuning("Re-rank the passages.", "--rerank")] = False
    rerank_top_k: Annotated[int | None, _tuning("Candidates that are re-ranked. Default: 30 or more.")] = None
    compress: Annotated[bool, _tuning("Answer from sentences that bear on the question.", "--compress")] = False

    def request(self) -> dict[str, Any]:
        """The fields of the query API that were given; what was not is left to its defaults."""
        named = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _TRANSLATED}
        document_filter = _given(
            document_ids=self.document_id, pattern=self.pattern, date_from=self.date_from, date_to=self.date_to
        )
        return _given(
            **named,
            conversation_id=self.conversation,
            predicates=self.predicate,
            seeds=self.seed,
            document_filter=document_filter,
            metadata_filter=key_values(self.meta),
            as_of=None if self.as_of is None else generation_or_time(self.as_of),
        ) | ({"web_search": False} if self.no_web_search else {})


def _given(**values: Any) -> dict[str, Any]:
    """Without flags not set and lists not begun; a zero and an empty text were given."""
    return {
        name: value
        for name, value in values.items()
        if value is not None and value is not False and value not in ([], {})
    }
