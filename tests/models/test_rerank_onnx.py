"""A cross-encoder run by onnxruntime: a real, tiny model (`tiny_onnx`)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tiny_onnx import write_cross_encoder

from evigraph.errors import InputError
from evigraph.models.onnx import UnusableModel
from evigraph.models.rerank_onnx import OnnxReranker

TEXTS = ["ferry", "pump", "tarn pump pump", ""]
END = 2
"""Token id of the closing token, which counts as the second text."""


def test_each_pair_gets_the_models_number(tmp_path: Path) -> None:
    write_cross_encoder(tmp_path)
    reranker = OnnxReranker.from_folder(tmp_path)
    assert reranker.name == tmp_path.name
    assert reranker.score("who pump", TEXTS) == [10 + END, 100 + END, 240 + END, END]
    assert reranker.score("who pump", []) == []


def test_a_score_depends_on_its_pair_alone(tmp_path: Path) -> None:
    write_cross_encoder(tmp_path)
    reranker = OnnxReranker.from_folder(tmp_path)
    together = reranker.score("who", TEXTS)
    assert together == [reranker.score("who", [text])[0] for text in TEXTS]
    assert together[::-1] == reranker.score("who", TEXTS[::-1])


def test_long_pairs_are_cut_to_what_the_model_reads(tmp_path: Path) -> None:
    write_cross_encoder(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 8}))
    reranker = OnnxReranker.from_folder(tmp_path)
    assert reranker.max_tokens == 8
    # Three special tokens and the question leave room for four words.
    assert reranker.score("who", ["pump " * 50]) == [400 + END]
    assert len(reranker.score("who " * 50, ["pump " * 50])) == 1


def test_a_model_without_segments_is_fed_what_it_takes(tmp_path: Path) -> None:
    write_cross_encoder(tmp_path, inputs=("input_ids",))
    assert OnnxReranker.from_folder(tmp_path).score("who", ["pump"]) == [1 + 4 + END + 100 + END]


def test_what_is_no_cross_encoder_is_refused(tmp_path: Path) -> None:
    write_cross_encoder(tmp_path / "two", labels=2)
    with pytest.raises(UnusableModel, match="2 numbers for a pair"):
        OnnxReranker.from_folder(tmp_path / "two").score("who", ["pump"])
    write_cross_encoder(tmp_path / "pixels", inputs=("pixel_values",))
    with pytest.raises(UnusableModel, match="pixel_values"):
        OnnxReranker.from_folder(tmp_path / "pixels").score("who", ["pump"])


def test_missing_and_broken_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as missing:
        OnnxReranker.from_folder(tmp_path / "absent")
    assert "EVIGRAPH_RERANKER" in missing.value.hint
    with pytest.raises(UnusableModel, match=r"no model\.onnx"):
        OnnxReranker.from_folder(tmp_path)
    write_cross_encoder(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(UnusableModel, match="onnxruntime can run"):
        OnnxReranker.from_folder(tmp_path).score("who", ["pump"])
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UnusableModel, match="not a tokenizer"):
        OnnxReranker.from_folder(tmp_path).score("who", ["pump"])
