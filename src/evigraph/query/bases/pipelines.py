"""`engine.pipelines`: make, list, change and delete pipelines, and ask them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evigraph.bases import Pipeline
from evigraph.errors import UnknownField
from evigraph.query.bases.fields import check_base_ids, check_defaults, check_llm_model, check_name, check_top_k
from evigraph.query.pipeline import QueryEngine
from evigraph.query.request import EMBEDDING_FIXED, check_question, parse
from evigraph.store import Store
from evigraph.store.knowledge_bases import BaseRow, get_base, standing_bases
from evigraph.store.pipelines import add_pipeline, change_pipeline, delete_pipeline, get_pipeline, standing_pipelines
from evigraph.types import Answer, Method, Mode, QueryRequest

TOP_K = 5
"""Passages of an answer where neither the question nor its pipeline says."""

FIELDS = (
    "question",
    "top_k",
    "mode",
    "method",
    "conversation_id",
    "conversation_owner",
    "rerank",
    "rerank_top_k",
    "compress",
    "hybrid",
    "parent_context",
    "metadata_filter",
    "llm_model",
    "web_search",
)
"""Fields of a query to a pipeline."""

_KEEP: Any = object()


class Pipelines:
    """The pipelines of one workspace. Whatever takes a `pipeline_id` raises `NotFound`."""

    def __init__(self, store: Store, workspace: str, *, queries: Callable[[], QueryEngine]) -> None:
        self.store = store
        self.workspace = workspace
        self._queries = queries

    def create(
        self,
        name: str,
        knowledge_bases: Sequence[str],
        *,
        llm_model: str | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> Pipeline:
        """Make a pipeline over one base or more. `defaults` are fields of its queries: `mode`, `method`, `top_k`, and
        the flags. Raises `NotFound` for a base that is none, `NameTaken`, and `InputError`s for fields."""
        name, ids, llm_model = check_name(name), check_base_ids(knowledge_bases), check_llm_model(llm_model)
        fields = check_defaults({} if defaults is None else defaults)
        with self.store.writing:
            self._require_bases(ids)
            return add_pipeline(
                self.store, self.workspace, name, knowledge_bases=ids, llm_model=llm_model, defaults=fields
            )

    def list(self) -> tuple[Pipeline, ...]:
        """All pipelines, by name."""
        return tuple(standing_pipelines(self.store, self.workspace))

    def show(self, pipeline_id: str) -> Pipeline:
        """One pipeline."""
        return get_pipeline(self.store, self.workspace, pipeline_id)

    def update(
        self,
        pipeline_id: str,
        *,
        name: str = _KEEP,
        knowledge_bases: Sequence[str] = _KEEP,
        llm_model: str | None = _KEEP,
        defaults: Mapping[str, Any] = _KEEP,
    ) -> Pipeline:
        """Change what is given; `defaults` takes the place of all there were. Raises as `create`."""
        fields: dict[str, Any] = {}
        if name is not _KEEP:
            fields["name"] = check_name(name)
        if llm_model is not _KEEP:
            fields["llm_model"] = check_llm_model(llm_model)
        if defaults is not _KEEP:
            fields["defaults"] = check_defaults({} if defaults is None else defaults)
        with self.store.writing:
            if knowledge_bases is not _KEEP:
                fields["knowledge_bases"] = check_base_ids(knowledge_bases)
                self._require_bases(fields["knowledge_bases"])
            return change_pipeline(self.store, self.workspace, pipeline_id, fields)

    def delete(self, pipeline_id: str) -> None:
        """Delete a pipeline; its knowledge bases stay as they are."""
        delete_pipeline(self.store, self.workspace, pipeline_id)

    def query(self, pipeline_id: str, question: str, *, user: str = "", **fields: Any) -> Answer:
        """Answer from the documents of the pipeline's bases. `fields` are those of `FIELDS`; what neither they nor the
        pipeline say is `top_k` 5, mode `naive`, method `standard`. With method `raptor` and no mode in the question,
        the mode is `naive` whatever the pipeline says. `details["llm_model"]` of the answer names the chat model and
        who chose it.

        Raises `UnknownField` for any other field, and what `engine.ask` raises.
        """
        pipeline = self.show(pipeline_id)
        request = request_of(
            pipeline, {"question": question, **fields}, user, max_query_chars=self._queries().settings.max_query_chars
        )
        model, origin = chosen_model(request.llm_model, pipeline, standing_bases(self.store, self.workspace))
        queries = self._queries()
        answer = queries.ask(replace(request, llm_model=model))
        if queries.chat is None:
            model, origin = None, "none"
        elif model is None:
            model = queries.chat.name
        return replace(answer, details={**answer.details, "llm_model": {"name": model, "from": origin}})

    def _require_bases(self, ids: Sequence[str]) -> None:
        for base_id in ids:
            get_base(self.store, self.workspace, base_id)


def check_fields(fields: Mapping[str, Any]) -> None:
    """Raises `UnknownField` for what is no field of a query; one for the embedding model is told why there is none."""
    for name in sorted(map(str, fields)):
        if name not in FIELDS:
            raise UnknownField(name, FIELDS, hint=EMBEDDING_FIXED if name.lower().startswith("embed") else "")


def request_of(pipeline: Pipeline, fields: Mapping[str, Any], user: str, *, max_query_chars: int) -> QueryRequest:
    """What a question to a pipeline asks of the engine. Raises `InputError`s, in the words of these fields."""
    check_fields(fields)
    given = {name: value for name, value in fields.items() if value is not None}
    question = check_question(given.pop("question", None), field="question")
    asked = {"mode": Mode.NAIVE, **pipeline.defaults, **given}
    if "mode" not in given and str(given.get("method", "")).lower() == Method.RAPTOR:
        asked["mode"] = Mode.NAIVE
    top_k = asked.pop("top_k", None)
    request = parse(
        {
            **asked,
            "query": question,
            "max_chunks": TOP_K if top_k is None else check_top_k(top_k),
            "document_filter": {"knowledge_bases": pipeline.knowledge_bases},
            "user": user,
        },
        max_query_chars=max_query_chars,
    )
    # Nobody asked for the default of `top_k`: method `auto` may choose. A pipeline that lets questions go to the web
    # does not ask that each of them does.
    unasked = {"max_chunks"} if top_k is None else set()
    unasked |= {"web_search"} - set(given)
    return replace(request, given=tuple(name for name in request.given if name not in unasked))


def chosen_model(asked: str | None, pipeline: Pipeline, bases: Sequence[BaseRow]) -> tuple[str | None, str]:
    """The chat model to use (None: the configured one) and who chose it, the most specific first."""
    if asked is not None:
        return asked, "request"
    if pipeline.llm_model is not None:
        return pipeline.llm_model, "pipeline"
    by_id = {base.base_id: base for base in bases}
    for base_id in pipeline.knowledge_bases:
        if base_id in by_id and by_id[base_id].llm_model:
            return by_id[base_id].llm_model, "knowledge_base"
    return None, "default"
