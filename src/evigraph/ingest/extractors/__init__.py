"""Extractors: who finds entities and claims in passages. `base` says what one is; `spacy_extractor` is the
default, `llm` asks a chat model."""

from evigraph.config import Settings
from evigraph.errors import ModelNotConfigured
from evigraph.ingest.extractors.base import Extractor
from evigraph.models.ports import ChatModel

__all__ = ["Extractor", "make_extractor"]


def make_extractor(settings: Settings, chat: ChatModel | None = None) -> Extractor:
    """The extractor the settings name; an offline model is loaded on first use. Raises `ModelNotConfigured` where it
    needs a chat model and there is none."""
    if settings.extractor == "llm":
        if chat is None:
            raise ModelNotConfigured(
                "EVIGRAPH_EXTRACTOR is `llm` but no chat model is configured",
                hint="set EVIGRAPH_CHAT_URL and EVIGRAPH_CHAT_MODEL, or EVIGRAPH_EXTRACTOR=offline",
            )
        from evigraph.ingest.extractors.llm import LLMExtractor

        return LLMExtractor(
            chat,
            gleaning=settings.extraction_gleaning,
            concurrency=settings.model_concurrency,
            token_budget=settings.extraction_token_budget,
            reply_tokens=settings.extraction_reply_tokens,
        )
    from evigraph.ingest.extractors.spacy_extractor import SpacyExtractor

    return SpacyExtractor(settings.spacy_model)
