"""From settings to the models an engine works with."""

from __future__ import annotations

from functools import cached_property

from evigraph.config import Settings
from evigraph.ingest.extractors import Extractor, make_extractor
from evigraph.models.factory import make_chat, make_embedder, make_reranker
from evigraph.models.ports import ChatModel, Embedder, Reranker


class Models:
    """What was handed in, else what the settings name; shared by all workspaces of an engine."""

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: Embedder | None,
        chat: ChatModel | None,
        extractor: Extractor | None,
        reranker: Reranker | None = None,
    ) -> None:
        self._settings = settings
        self._given = embedder, chat, extractor
        self._given_reranker = reranker

    @cached_property
    def embedder(self) -> Embedder:
        given = self._given[0]
        return make_embedder(self._settings) if given is None else given

    @cached_property
    def chat(self) -> ChatModel | None:
        given = self._given[1]
        return make_chat(self._settings) if given is None else given

    @cached_property
    def reranker(self) -> Reranker | None:
        """None where rules or the chat model re-rank."""
        return make_reranker(self._settings) if self._given_reranker is None else self._given_reranker

    @cached_property
    def extractor(self) -> Extractor:
        given = self._given[2]
        return make_extractor(self._settings, self.chat) if given is None else given
