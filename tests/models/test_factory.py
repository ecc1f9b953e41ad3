from __future__ import annotations

from pathlib import Path

import pytest

from evigraph.config import Settings
from evigraph.errors import InvalidValue, ModelNotConfigured
from evigraph.models.factory import make_chat, make_embedder
from evigraph.testing.models import ScriptedOpenAIServer


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"EVIGRAPH_{name.upper()}", raising=False)
    monkeypatch.setenv("EVIGRAPH_CONFIG", str(tmp_path / "absent.toml"))


def test_defaults_are_offline() -> None:
    embedder = make_embedder(Settings())
    assert (embedder.name, embedder.dimension, embedder.max_tokens) == ("all-MiniLM-L6-v2-int8", 384, 256)
    assert make_chat(Settings()) is None


def test_remote_models_from_settings() -> None:
    with ScriptedOpenAIServer(["yes"], dimension=12) as server:
        settings = Settings(
            embedder="openai",
            embedding_url=server.url,
            embedding_model="small",
            embedding_max_tokens=64,
            chat_url=server.url,
            chat_model="tiny",
            chat_api_key="k",
        )
        embedder, chat = make_embedder(settings), make_chat(settings)
        assert (embedder.name, embedder.max_tokens, embedder.dimension) == ("small", 64, 12)
        assert chat is not None
        assert chat.name == "tiny"
        assert "k'" not in repr(settings.chat_api_key)
        for model in (embedder, chat):
            model.close()  # type: ignore[union-attr, attr-defined]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"embedder": "openai"}, "EVIGRAPH_EMBEDDING_URL and EVIGRAPH_EMBEDDING_MODEL"),
        ({"embedder": "openai", "embedding_url": "http://127.0.0.1/v1"}, "EVIGRAPH_EMBEDDING_MODEL"),
    ],
)
def test_a_half_configured_embedder_names_what_is_missing(given: dict[str, str], named: str) -> None:
    with pytest.raises(ModelNotConfigured, match=named):
        make_embedder(Settings(**given))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"chat_url": "http://127.0.0.1/v1"}, "EVIGRAPH_CHAT_MODEL"),
        ({"chat_model": "tiny"}, "EVIGRAPH_CHAT_URL"),
    ],
)
def test_a_half_configured_chat_names_what_is_missing(given: dict[str, str], missing: str) -> None:
    with pytest.raises(ModelNotConfigured) as caught:
        make_chat(Settings(**given))  # type: ignore[arg-type]
    assert missing in caught.value.hint


def test_an_unknown_embedder_lists_the_valid_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue) as caught:
        make_embedder(Settings(embedder=str(tmp_path / "nothing")))
    assert "minilm" in caught.value.hint
