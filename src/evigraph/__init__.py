"""evigraph: index documents into an evidence graph and answer questions from it with checked citations."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evigraph.config import Settings
    from evigraph.engine import Evigraph
    from evigraph.errors import *  # noqa: F403
    from evigraph.reports import IndexReport
    from evigraph.types import Answer, Chunk, Citation, Entity, Evidence, Mode, Relationship

__version__ = "0.1.0"

_HOMES = {
    "Evigraph": "engine",
    "IndexReport": "reports",
    "Settings": "config",
    **dict.fromkeys(("Answer", "Chunk", "Citation", "Entity", "Evidence", "Mode", "Relationship"), "types"),
}

__all__ = [
    "Answer",
    "Chunk",
    "Citation",
    "Entity",
    "Evidence",
    "Evigraph",
    "IndexReport",
    "Mode",
    "Relationship",
    "Settings",
]


def __getattr__(name: str) -> Any:
    """Load the engine on first use, so that `evigraph --help` does not pay for the models and the store."""
    home = _HOMES.get(name)
    if home is None:
        errors = importlib.import_module("evigraph.errors")
        found = getattr(errors, name, None)
        if isinstance(found, type) and issubclass(found, errors.EvigraphError):
            return found
        raise AttributeError(f"module 'evigraph' has no attribute {name!r}")
    return getattr(importlib.import_module(f"evigraph.{home}"), name)
