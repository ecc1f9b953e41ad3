"""From settings to the models an engine works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from evigraph.config import Settings
from evigraph.ingest.extractors import Extractor, make_extractor
from evigraph.models.embedders import Embedders
from evigraph.models.factory import make_chat, make_embedder, make_further_embedder, make_reranker, make_web_search
from evigraph.models.named import NamedChat
from evigraph.models.ports import ChatModel, Embedder, Reranker, WebSearch
from evigraph.once import once
from evigraph.store import Store
from evigraph.store.knowledge_bases import get_base


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
        web_search: WebSearch | None = None,
        embedders: Mapping[str, Embedder] | None = None,
    ) -> None:
        self._settings = settings
        self._given_embedders = embedders
        self._given = embedder, chat, extractor
        self._given_reranker = reranker
        self._given_web_search = web_search

    @once
    def embedder(self) -> Embedder:
        given = self._given[0]
        return make_embedder(self._settings) if given is None else given

    @once
    def embedders(self) -> Embedders:
        """The embedder, and those for knowledge bases that have a model of their own."""
        given = self._given_embedders
        if given is not None:
            return Embedders(lambda: self.embedder, {name: partial(_itself, one) for name, one in given.items()})
        settings = self._settings
        return Embedders(
            lambda: self.embedder, {name: partial(make_further_embedder, settings, name) for name in settings.embedders}
        )

    @once
    def chat(self) -> ChatModel | None:
        given = self._given[1]
        return make_chat(self._settings) if given is None else given

    def chat_of(self, store: Store, workspace: str, knowledge_base: str | None) -> Callable[[], ChatModel | None]:
        """Who writes the summaries of documents of a knowledge base: the chat model that it names, if it does."""

        def chat() -> ChatModel | None:
            if knowledge_base is None or self.chat is None:
                return self.chat
            named = get_base(store, workspace, knowledge_base).llm_model
            return NamedChat(self.chat, named) if named else self.chat

        return chat

    @once
    def reranker(self) -> Reranker | None:
        """None where rules or the chat model re-rank."""
        return make_reranker(self._settings) if self._given_reranker is None else self._given_reranker

    @once
    def web_search(self) -> WebSearch | None:
        """None where no search service is configured."""
        return make_web_search(self._settings) if self._given_web_search is None else self._given_web_search

    @once
    def extractor(self) -> Extractor:
        given = self._given[2]
        return make_extractor(self._settings, self.chat) if given is None else given


def _itself(embedder: Embedder) -> Embedder:
    return embedder
