"""The embedding models of an engine: the main one, and those that knowledge bases may have as their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from evigraph.errors import EmbedderNotConfigured, EvigraphError, UnknownEmbedder
from evigraph.models.ports import Embedder, Vectors

SETTING = "EVIGRAPH_EMBEDDERS"
CHARS_PER_TOKEN = 4


class Embedders:
    """Makes each model once, when it is first needed. `further` are those configured beside the main one, by the names
    they are configured under; who asks for one may also use the model's own name."""

    def __init__(self, main: Callable[[], Embedder], further: Mapping[str, Callable[[], Embedder]]) -> None:
        self._make_main = main
        self._makers = dict(sorted(further.items()))
        self._made: dict[str, Embedder | EvigraphError] = {}
        self._lock = threading.Lock()

    @property
    def main(self) -> Embedder:
        return self._make_main()

    def chosen(self, asked: str) -> Embedder:
        """The model that a knowledge base is to have. Raises `UnknownEmbedder`, which lists what may be named, and what
        making the model raises."""
        main = self.main
        if asked in self._makers:
            return self._required(asked)
        if asked == main.name:
            return main
        found = self._further()
        for embedder in found.values():
            if embedder.name == asked:
                return embedder
        names = [main.name, *self._makers, *(embedder.name for embedder in found.values())]
        raise UnknownEmbedder(asked, list(dict.fromkeys(names)))

    def of(self, model: str, dimension: int) -> Embedder | None:
        """The model of this name that makes vectors of this dimension; None where none is configured."""
        for embedder in (self.main, *self._further().values()):
            if embedder.name == model and embedder.dimension == dimension:
                return embedder
        return None

    def required(self, model: str, dimension: int, whose: str) -> Embedder:
        """The same for what must be embedded; `whose` documents. Raises `EmbedderNotConfigured`."""
        found = self.of(model, dimension)
        if found is None:
            raise EmbedderNotConfigured(
                f"{whose} is embedded with {model!r}, {self.why()}",
                hint=f"configure {model!r} in {SETTING} again, or index into a base of another model",
            )
        return found

    def why(self) -> str:
        """Why a model is not to be had, as the end of a sentence. No path: a request may see it."""
        broken = [f"its entry {name!r} cannot be made ({error.code})" for name, error in self._broken()]
        return "; ".join([f"which {SETTING} does not configure", *broken])

    def told(self) -> list[dict[str, Any]]:
        """Each further model, as `/capabilities` says it."""
        found, broken = self._further(), dict(self._broken())
        return [
            {"name": name, "available": False, "model": None, "dimension": None, "max_tokens": None}
            | {"needs": f"an entry {name!r} of {SETTING} that can be made ({broken[name].code})"}
            if name in broken
            else {"name": name, "available": True, "needs": None, **described(found[name])}
            for name in self._makers
        ]

    def _further(self) -> dict[str, Embedder]:
        every = {name: self._one(name) for name in self._makers}
        return {name: one for name, one in every.items() if not isinstance(one, EvigraphError)}

    def _broken(self) -> list[tuple[str, EvigraphError]]:
        every = ((name, self._one(name)) for name in self._makers)
        return [(name, one) for name, one in every if isinstance(one, EvigraphError)]

    def _required(self, name: str) -> Embedder:
        made = self._one(name)
        if isinstance(made, EvigraphError):
            raise made
        return made

    def _one(self, name: str) -> Embedder | EvigraphError:
        with self._lock:
            if name not in self._made:
                try:
                    self._made[name] = self._makers[name]()
                except EvigraphError as error:
                    self._made[name] = error
            return self._made[name]


def described(embedder: Embedder) -> dict[str, Any]:
    """A model's name and its limits."""
    return {"model": embedder.name, "dimension": embedder.dimension, "max_tokens": embedder.max_tokens}


class NoEmbedder:
    """Stands where a model is not configured: reads no text, and is near to nothing. Its vectors are no unit vectors,
    and nothing stored is compared with them."""

    name = ""
    dimension = 1
    max_tokens = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.zeros((len(texts), 1), dtype=np.float32)

    def count_tokens(self, text: str) -> int:
        """About as many as a model counts."""
        return len(text) // CHARS_PER_TOKEN + 1
