"""`ask`: a question to the graph."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from evigraph.cli.render import answer, emit
from evigraph.cli.session import Session, command
from evigraph.cli.values import generation_or_time, key_values

MODES = "naive, local, global, hybrid, mix, bypass, keyword_lookup"
"""Written out, because importing them would cost `--help` a tenth of a second; a test compares."""
ABSTAINED = 3
"""Exit code for "there is no evidence", which is neither an answer nor an error."""

_FILTER = "Which documents"
_TUNING = "How much, and how it is ranked"


def install(app: typer.Typer) -> None:
    command(app, "ask")(ask)


def _option(help_text: str, *names: str, panel: str | None = None) -> Any:
    return typer.Option(*names, help=help_text, show_default=False, rich_help_panel=panel)


def ask(  # noqa: PLR0917 - one parameter an option, all passed by name
    session: Session,
    question: Annotated[str, typer.Argument(help="The question.", show_default=False)],
    mode: Annotated[str | None, _option(f"Where evidence comes from: {MODES}. Default: mix.")] = None,
    method: Annotated[str | None, _option("How the question is asked. Default: standard.")] = None,
    context_only: Annotated[bool, _option("Return the context, without an answer.", "--context-only")] = False,
    prompt_only: Annotated[bool, _option("Return the prompt, without calling a model.", "--prompt-only")] = False,
    llm_model: Annotated[str | None, _option("Chat model instead of the configured one.")] = None,
    document_id: Annotated[list[str] | None, _option("Only this document; may be repeated.", panel=_FILTER)] = None,
    pattern: Annotated[
        str | None, _option("Only sources matching this glob, in union with ids.", panel=_FILTER)
    ] = None,
    date_from: Annotated[str | None, _option("Only documents from this day, YYYY-MM-DD.", panel=_FILTER)] = None,
    date_to: Annotated[str | None, _option("Only documents up to this day.", panel=_FILTER)] = None,
    meta: Annotated[
        list[str] | None,
        _option("Only documents with this metadata, key=value; may be repeated.", panel=_FILTER),
    ] = None,
    as_of: Annotated[
        str | None, _option("An earlier state: a generation, or a time in ISO 8601.", panel=_FILTER)
    ] = None,
    max_chunks: Annotated[int | None, _option("Passages at most. Default: 10.", panel=_TUNING)] = None,
    max_entities: Annotated[int | None, _option("Entities at most. Default: 20.", panel=_TUNING)] = None,
    max_relationships: Annotated[int | None, _option("Relationships at most. Default: 500.", panel=_TUNING)] = None,
    max_context_tokens: Annotated[
        int | None, _option("Token budget of the context. Default: 4000.", panel=_TUNING)
    ] = None,
    graph_depth: Annotated[int | None, _option("Hops from the entities. Default: 2.", panel=_TUNING)] = None,
    per_node_limit: Annotated[
        int | None, _option("Assertions followed from one entity. Default: 20.", panel=_TUNING)
    ] = None,
    predicate: Annotated[
        list[str] | None, _option("A predicate to follow; may be repeated. Default: all.", panel=_TUNING)
    ] = None,
    min_score: Annotated[
        float | None, _option("Least cosine of a passage found by vector. Default: 0.1.", panel=_TUNING)
    ] = None,
    fusion: Annotated[str | None, _option("gate or rrf. Default: gate.", panel=_TUNING)] = None,
    vector_weight: Annotated[float | None, _option("Weight of the vector arms.", panel=_TUNING)] = None,
    graph_weight: Annotated[float | None, _option("Weight of the graph arm.", panel=_TUNING)] = None,
    hybrid: Annotated[bool, _option("With naive: BM25 too.", "--hybrid", panel=_TUNING)] = False,
    parent_context: Annotated[
        bool, _option("Widen passages to their section.", "--parent-context", panel=_TUNING)
    ] = False,
    rerank: Annotated[bool, _option("Rerank the passages.", "--rerank", panel=_TUNING)] = False,
    rerank_top_k: Annotated[int | None, _option("Passages kept after reranking.", panel=_TUNING)] = None,
    compress: Annotated[
        bool, _option("Keep only sentences that bear on the question.", "--compress", panel=_TUNING)
    ] = False,
) -> None:
    """Answer a question from the evidence, with numbered citations that were checked.

    Exit code 0: answered; 3: abstained for want of evidence, with the reason; 1: error.
    """
    filters = {
        "document_ids": document_id or None,
        "pattern": pattern,
        "date_from": date_from,
        "date_to": date_to,
    }
    filters = {name: value for name, value in filters.items() if value is not None}
    given = {
        "mode": mode,
        "method": method,
        "llm_model": llm_model,
        "max_chunks": max_chunks,
        "max_entities": max_entities,
        "max_relationships": max_relationships,
        "max_context_tokens": max_context_tokens,
        "graph_depth": graph_depth,
        "per_node_limit": per_node_limit,
        "predicates": predicate or None,
        "min_score": min_score,
        "fusion": fusion,
        "vector_weight": vector_weight,
        "graph_weight": graph_weight,
        "rerank_top_k": rerank_top_k,
        "document_filter": filters or None,
        "metadata_filter": key_values(meta) or None,
        "as_of": None if as_of is None else generation_or_time(as_of),
        "context_only": context_only or None,
        "prompt_only": prompt_only or None,
        "hybrid": hybrid or None,
        "parent_context": parent_context or None,
        "rerank": rerank or None,
        "compress": compress or None,
    }
    with session.backend() as backend:
        outcome = backend.ask(question, {name: value for name, value in given.items() if value is not None})
    if session.as_json:
        emit(outcome)
    else:
        answer(outcome)
    if outcome["abstained"]:
        raise typer.Exit(ABSTAINED)
