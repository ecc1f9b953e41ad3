from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from evigraph.config import FurtherEmbedder, Settings
from evigraph.errors import InvalidValue, ModelError, ModelNotConfigured
from evigraph.models.embedders import Embedders
from evigraph.models.factory import make_chat, make_embedder, make_further_embedder
from evigraph.testing.models import Fault, HashEmbedder, ScriptedOpenAIServer


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"EVIGRAPH_{name.upper()}", raising=False)
    monkeypatch.setenv("EVIGRAPH_CONFIG", os.devnull)


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


def test_further_embedders_are_made_of_their_entries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    main = {"embedder": "openai", "embedding_url": "http://127.0.0.1:1/v1", "embedding_model": "large"}
    entries = {
        "plain": "minilm",
        "same": {"embedder": "openai", "embedding_model": "small", "embedding_max_tokens": 64},
        "other": {"embedder": "openai", "embedding_url": "http://127.0.0.1:2/v1", "embedding_model": "tiny"},
    }
    monkeypatch.setenv("EVIGRAPH_EMBEDDERS", json.dumps(entries))
    settings = Settings(**main, embedding_api_key="k")  # type: ignore[arg-type]
    made = {name: make_further_embedder(settings, name) for name in settings.embedders}
    assert {name: (one.name, one.max_tokens) for name, one in made.items()} == {
        "plain": ("all-MiniLM-L6-v2-int8", 256),
        "same": ("small", 64),
        "other": ("tiny", 512),
    }
    for name, key in (("same", "k"), ("other", None)):
        assert made[name]._server._api_key == key  # type: ignore[attr-defined]
    (tmp_path / "evigraph.toml").write_text('[embedders]\nplain = "minilm"\n[embedders.x]\nembedder = "minilm"\n')
    monkeypatch.delenv("EVIGRAPH_EMBEDDERS")
    monkeypatch.setenv("EVIGRAPH_CONFIG", str(tmp_path / "evigraph.toml"))
    assert {name: entry.embedder for name, entry in Settings().embedders.items()} == {"plain": "minilm", "x": "minilm"}


@pytest.mark.parametrize("wrong", [{"A b": "minilm"}, {"x": {"embedder": "minilm", "path": "y"}}, {"x": 5}])
def test_an_entry_that_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Settings(embedders=wrong)  # type: ignore[arg-type]


def test_an_entry_that_cannot_be_made_is_named_without_its_path(tmp_path: Path) -> None:
    settings = Settings(embedders={"gone": FurtherEmbedder(embedder=str(tmp_path / "gone"))})
    with pytest.raises(InvalidValue, match="in EVIGRAPH_EMBEDDERS, entry 'gone'"):
        make_further_embedder(settings, "gone")
    embedders = Embedders(HashEmbedder, {"gone": lambda: make_further_embedder(settings, "gone")})
    [told] = embedders.told()
    assert told["available"] is False and "entry 'gone'" in told["needs"] and str(tmp_path) not in str(told)
    assert embedders.of("gone", 384) is None and "'gone' cannot be made (invalid_value)" in embedders.why()
    assert str(tmp_path) not in embedders.why()


@pytest.mark.parametrize(
    ("entry", "status", "named", "not_named"),
    [
        ({"embedding_api_key": "k"}, 401, "`embedding_api_key` of entry 'far'", "EVIGRAPH_EMBEDDING_"),
        ({}, 401, "`embedding_api_key` of entry 'far'", "EVIGRAPH_EMBEDDING_"),
        ({}, 404, "`embedding_url` of entry 'far'", "EVIGRAPH_EMBEDDING_"),
        ({}, 400, "`embedding_model` of entry 'far'", "EVIGRAPH_EMBEDDING_"),
        ({}, 200, "`embedding_model` of entry 'far'", "EVIGRAPH_EMBEDDING_"),
        ({"embedding_url": None}, 401, "EVIGRAPH_EMBEDDING_API_KEY", "entry"),
        ({"embedding_url": None}, 404, "EVIGRAPH_EMBEDDING_URL", "_EMBEDDING_MODEL"),
    ],
)
def test_a_further_embedder_names_where_its_settings_are(
    entry: dict[str, str | None], status: int, named: str, not_named: str
) -> None:
    with ScriptedOpenAIServer(faults=[Fault(status=status, body="{}")]) as server:
        fields = {"embedder": "openai", "embedding_url": server.url, "embedding_model": "small", **entry}
        further = FurtherEmbedder(**fields)  # type: ignore[arg-type]
        settings = Settings(embedders={"far": further}, embedding_url=server.url, model_retries=1)
        with pytest.raises(ModelError) as caught:
            make_further_embedder(settings, "far").embed(["pumps"])
    assert named in caught.value.hint and not_named not in caught.value.hint


def test_an_unknown_embedder_lists_the_valid_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue) as caught:
        make_embedder(Settings(embedder=str(tmp_path / "nothing")))
    assert "minilm" in caught.value.hint
