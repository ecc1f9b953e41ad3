"""Which reranker a setting means."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tiny_onnx import write_cross_encoder

from evigraph.config import Settings
from evigraph.errors import InvalidValue, ModelNotConfigured
from evigraph.models.factory import make_reranker
from evigraph.models.onnx import UnusableModel
from evigraph.models.rerank import HttpReranker
from evigraph.testing.models import ScriptedOpenAIServer


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"EVIGRAPH_{name.upper()}", raising=False)
    monkeypatch.setenv("EVIGRAPH_CONFIG", os.devnull)


@pytest.mark.parametrize("name", ["rules", "llm"])
def test_rules_and_chat_models_are_made_for_each_question(name: str) -> None:
    assert make_reranker(Settings(reranker=name)) is None


def test_a_server_from_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedOpenAIServer() as server:
        monkeypatch.setenv("EVIGRAPH_RERANKER", "http")
        monkeypatch.setenv("EVIGRAPH_RERANK_URL", server.url)
        monkeypatch.setenv("EVIGRAPH_RERANK_MODEL", "tiny")
        monkeypatch.setenv("EVIGRAPH_RERANK_API_KEY", "secret-key")
        settings = Settings()
        reranker = make_reranker(settings)
        assert isinstance(reranker, HttpReranker)
        assert reranker.score("the pump", ["the pump"]) == [1.0]
        reranker.close()
        assert server.requests[0].headers["authorization"] == "Bearer secret-key"
    assert "secret-key" not in repr(settings)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "EVIGRAPH_RERANK_URL and EVIGRAPH_RERANK_MODEL"),
        ({"rerank_url": "http://127.0.0.1/v1"}, "EVIGRAPH_RERANK_MODEL"),
        ({"rerank_model": "tiny"}, "EVIGRAPH_RERANK_URL"),
    ],
)
def test_a_half_configured_server_names_what_is_missing(given: dict[str, str], named: str) -> None:
    with pytest.raises(ModelNotConfigured, match=f"but {named} is not set"):
        make_reranker(Settings(reranker="http", **given))  # type: ignore[arg-type]


def test_a_folder_from_settings(tmp_path: Path) -> None:
    write_cross_encoder(tmp_path / "tiny")
    reranker = make_reranker(Settings(reranker=str(tmp_path / "tiny")))
    assert reranker is not None
    assert reranker.name == "tiny"
    assert len(reranker.score("who", ["pump"])) == 1


def test_an_unknown_reranker_lists_the_valid_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue) as caught:
        make_reranker(Settings(reranker=str(tmp_path / "nothing")))
    assert "rules, llm, http" in caught.value.hint
    with pytest.raises(UnusableModel, match=r"no model\.onnx"):
        make_reranker(Settings(reranker=str(tmp_path)))
