"""A local cross-encoder as an ONNX model: question and passage are read together and give one number (Nogueira and Cho,
"Passage re-ranking with BERT", 2019)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evigraph.errors import InputError
from evigraph.models.onnx import UnusableModel, max_tokens_of, model_files, open_session, open_tokenizer

_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})


class OnnxReranker:
    """A `Reranker` over onnxruntime; files are loaded on first use. Safe to share between threads.

    Pairs are run one by one, so that a score depends on question and text alone, whatever stands beside them. What is
    longer than the model reads is cut, the longer of the two first.
    """

    def __init__(self, *, name: str, model: Path, tokenizer: Path, max_tokens: int, threads: int = 2) -> None:
        self.name = name
        self.max_tokens = max_tokens
        self.threads = threads
        self._model_path = model
        self._tokenizer_path = tokenizer
        self._lock = threading.Lock()
        self._tokenizer: Any = None
        self._session: Any = None

    def __repr__(self) -> str:
        return f"OnnxReranker({self.name!r})"

    @classmethod
    def from_folder(cls, folder: Path, *, threads: int = 2) -> OnnxReranker:
        """The model in `folder`: `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`. The reading length is found
        as for an embedder. Raises `UnusableModel` for a missing or malformed file and `InputError` for a folder that
        does not exist."""
        if not folder.is_dir():
            raise InputError(f"{folder} is not a folder", hint="set EVIGRAPH_RERANKER to a folder with `model.onnx`")
        model, tokenizer = model_files(folder)
        return cls(
            name=folder.resolve().name,
            model=model,
            tokenizer=tokenizer,
            max_tokens=max_tokens_of(folder),
            threads=threads,
        )

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """The model's logit for each pair. Raises `UnusableModel` when the model cannot be run or gives something else
        than one number a pair."""
        if not texts:
            return []
        self._load()
        return [self._run(encoding) for encoding in self._tokenizer.encode_batch([(question, text) for text in texts])]

    def _run(self, encoding: Any) -> float:
        feed = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        names = [item.name for item in self._session.get_inputs()]
        try:
            output = self._session.run(None, {name: np.array([feed[name]], dtype=np.int64) for name in names})[0]
        except Exception as error:  # its exception classes are private and derive from Exception alone
            raise UnusableModel(
                f"{self.name} could not be run ({type(error).__name__})", hint="export the model again"
            ) from error
        logits = np.asarray(output, dtype=np.float64).ravel()
        if logits.shape != (1,):
            raise UnusableModel(
                f"{self.name} gives {logits.size} numbers for a pair; expected one",
                hint="use a cross-encoder with a single label, exported for sequence classification",
            )
        return float(logits[0])

    def _load(self) -> None:
        with self._lock:
            if self._session is not None:
                return
            self._tokenizer = open_tokenizer(self._tokenizer_path)
            self._tokenizer.enable_truncation(self.max_tokens, strategy="longest_first")
            session = open_session(self._model_path, self.threads)
            inputs = frozenset(item.name for item in session.get_inputs())
            if "input_ids" not in inputs or not inputs <= _INPUTS:
                raise UnusableModel(
                    f"{self._model_path} takes {', '.join(sorted(inputs))}; expected input_ids and attention_mask",
                    hint="export the cross-encoder for sequence classification, not a whole pipeline",
                )
            self._session = session
