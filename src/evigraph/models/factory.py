"""From settings to models: the only place that knows which adapter a setting means."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from pydantic import SecretStr

from evigraph.config import Settings
from evigraph.errors import InvalidValue, ModelNotConfigured
from evigraph.models.advice import Advice, server_advice
from evigraph.models.ports import ChatModel, Embedder, Reranker, WebSearch


def make_further_embedder(settings: Settings, name: str) -> Embedder:
    """The embedder that `settings.embedders` has under this name, made as `make_embedder` makes the main one. What its
    entry leaves out is as the settings say; the key only where it goes to the same address."""
    entry = settings.embedders[name]
    given = {field: value for field in type(entry).model_fields if (value := getattr(entry, field)) is not None}
    if "embedding_url" in given and "embedding_api_key" not in given:
        given["embedding_api_key"] = None
    try:
        return make_embedder(settings.model_copy(update=given), advice=_entry_advice(name, given))
    except (InvalidValue, ModelNotConfigured) as error:
        # Their remedies name the settings of the main embedder.
        where = f"in EVIGRAPH_EMBEDDERS, entry {name!r}"
        raise type(error)(f"{where}: {error}", hint=f"{where}: {error.hint}") from error


def _entry_advice(name: str, given: Container[str]) -> Advice:
    """Names each setting where it is looked for: in the entry, or, where that leaves it out, among those of the main
    embedder. A key is nowhere but beside its address."""
    fields = {"url": "embedding_url", "key": "embedding_api_key", "model": "embedding_model"}
    named = {
        part: f"`{field}` of entry {name!r} in EVIGRAPH_EMBEDDERS" if field in given else f"EVIGRAPH_{field.upper()}"
        for part, field in fields.items()
    }
    return server_advice(**named)


def make_embedder(settings: Settings, *, advice: Advice | None = None) -> Embedder:
    """The embedder `settings.embedder` names: `minilm`, `openai`, or a model folder.

    Weights and connections are opened on first use; `advice` names the settings of a server in errors, where they are
    not those of the main embedder. Raises `ModelNotConfigured` when `openai` lacks its
    address or model, `InvalidValue` when the value is neither a known name nor a folder, and what the
    adapters raise.
    """
    if settings.embedder == "minilm":
        from evigraph.models.onnx import OnnxEmbedder

        return OnnxEmbedder.minilm(threads=settings.threads)
    if settings.embedder == "openai":
        return _openai_embedder(settings, advice)
    folder = Path(settings.embedder).expanduser()
    if not folder.is_dir():
        raise InvalidValue(
            f"EVIGRAPH_EMBEDDER is {settings.embedder!r}, which is neither a known embedder nor a folder",
            hint="valid: minilm, openai, or a folder with `model.onnx` and `tokenizer.json`",
        )
    from evigraph.models.onnx import OnnxEmbedder

    return OnnxEmbedder.from_folder(folder, threads=settings.threads)


def make_chat(settings: Settings) -> ChatModel | None:
    """The chat model of `settings`; None in offline mode (no `chat_url`). Raises `ModelNotConfigured` when an
    address is set without a model name, or a model name without an address."""
    if settings.chat_url is None and settings.chat_model is None:
        return None
    if settings.chat_url is None or settings.chat_model is None:
        given, lacking = ("MODEL", "URL") if settings.chat_url is None else ("URL", "MODEL")
        raise ModelNotConfigured(
            f"EVIGRAPH_CHAT_{given} is set but EVIGRAPH_CHAT_{lacking} is not",
            hint=f"set EVIGRAPH_CHAT_{lacking}, or unset EVIGRAPH_CHAT_{given} to work offline",
        )
    from evigraph.models.openai_compatible import OpenAIChat

    return OpenAIChat(
        settings.chat_url,
        settings.chat_model,
        _secret(settings.chat_api_key),
        max_tokens=settings.chat_reply_tokens,
        timeout=settings.model_timeout,
        retries=settings.model_retries,
        concurrency=settings.model_concurrency,
    )


def make_reranker(settings: Settings) -> Reranker | None:
    """The reranker `settings.reranker` names: a server (`http`) or a model folder. None for `rules` and `llm`, which
    judge by the scope or the chat model of a question and are made for each.

    Weights and connections are opened on first use. Raises `ModelNotConfigured` when `http` lacks its address or model,
    `InvalidValue` when the value is neither a known name nor a folder, `UnusableModel` for a folder without a model.
    """
    if settings.reranker in ("rules", "llm"):
        return None
    if settings.reranker == "http":
        return _http_reranker(settings)
    folder = Path(settings.reranker).expanduser()
    if not folder.is_dir():
        raise InvalidValue(
            f"EVIGRAPH_RERANKER is {settings.reranker!r}, which is neither a known reranker nor a folder",
            hint="valid: rules, llm, http, or a folder with `model.onnx` and `tokenizer.json`",
        )
    from evigraph.models.rerank_onnx import OnnxReranker

    return OnnxReranker.from_folder(folder, threads=settings.threads)


def make_web_search(settings: Settings) -> WebSearch | None:
    """The search service of `settings`; None without a key. Raises `InvalidValue` for a malformed address or key."""
    key = _secret(settings.web_search_key)
    if not key or not key.strip():
        return None
    from evigraph.models.web import HttpWebSearch

    return HttpWebSearch(
        settings.web_search_url,
        key,
        timeout=settings.web_search_timeout,
        retries=settings.model_retries,
        concurrency=settings.model_concurrency,
    )


def _http_reranker(settings: Settings) -> Reranker:
    from evigraph.models.rerank import HttpReranker

    if not settings.rerank_url or not settings.rerank_model:
        lacking = [
            f"EVIGRAPH_RERANK_{name}" for name in ("URL", "MODEL") if not getattr(settings, f"rerank_{name.lower()}")
        ]
        raise ModelNotConfigured(
            f"EVIGRAPH_RERANKER is `http` but {' and '.join(lacking)} is not set",
            hint=f"set {' and '.join(lacking)}, or EVIGRAPH_RERANKER=rules",
        )
    return HttpReranker(
        settings.rerank_url,
        settings.rerank_model,
        _secret(settings.rerank_api_key),
        timeout=settings.model_timeout,
        retries=settings.model_retries,
        concurrency=settings.model_concurrency,
    )


def _openai_embedder(settings: Settings, advice: Advice | None) -> Embedder:
    from evigraph.models.openai_compatible import OpenAIEmbedder

    lacking = [
        name
        for name, value in (
            ("EVIGRAPH_EMBEDDING_URL", settings.embedding_url),
            ("EVIGRAPH_EMBEDDING_MODEL", settings.embedding_model),
        )
        if not value
    ]
    if lacking or settings.embedding_url is None or settings.embedding_model is None:
        raise ModelNotConfigured(
            f"EVIGRAPH_EMBEDDER is `openai` but {' and '.join(lacking)} is not set",
            hint=f"set {' and '.join(lacking)}, or EVIGRAPH_EMBEDDER=minilm",
        )
    return OpenAIEmbedder(
        settings.embedding_url,
        settings.embedding_model,
        _secret(settings.embedding_api_key),
        max_tokens=settings.embedding_max_tokens,
        timeout=settings.model_timeout,
        retries=settings.model_retries,
        concurrency=settings.model_concurrency,
        advice=advice,
    )


def _secret(value: SecretStr | None) -> str | None:
    return value.get_secret_value() if value is not None else None
