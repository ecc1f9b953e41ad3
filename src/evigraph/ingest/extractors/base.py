"""What an extractor is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from evigraph.domain import DomainSchema
from evigraph.models.ports import ChatReply
from evigraph.reports import ExtractionAccount
from evigraph.types import Extraction, Passage


class Extractor(Protocol):
    """Finds entities and claims in the passages of one document.

    `name` identifies model, its version and the version of the rules around it: where it is equal, the same
    passages give the same extraction, so it decides whether stored results can be kept.
    """

    @property
    def name(self) -> str: ...

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        """Mentions and assertions of `passages`, all of one document with this `title` and ISO 639-1
        `language`.

        Offsets are absolute in the document. Every endpoint of an assertion has a mention in the same
        passage.
        """
        ...


class ReplyCache(Protocol):
    """Replies of a model that one document revision has asked for, by the hash of all that decides them."""

    def find(self, keys: Sequence[str]) -> Mapping[str, ChatReply]:
        """Those of `keys` that were answered before, for this revision or another."""
        ...

    def keep(self, replies: Mapping[str, ChatReply]) -> None:
        """Store replies for good, before anything is made of them."""
        ...


class ExtractionRun(Protocol):
    """One index run of a `ModelExtractor`: what it costs adds up in `account`."""

    @property
    def name(self) -> str: ...

    @property
    def account(self) -> ExtractionAccount: ...

    def extract(self, passages: Sequence[Passage], *, title: str, language: str, replies: ReplyCache) -> Extraction:
        """As `Extractor.extract`. Raises `TokenBudgetReached` rather than spend more than the run may, and
        the `ModelError` of a model that does not answer at all; what was answered until then is in `replies`."""
        ...

    def estimate(self, passages: Sequence[Passage], *, title: str, replies: ReplyCache) -> None:
        """Add to `account` what extracting `passages` would cost, without calling the model."""
        ...


@runtime_checkable
class ModelExtractor(Extractor, Protocol):
    """An extractor that asks a chat model: its calls cost, so it keeps account, and replies are cached."""

    def for_run(self, schema: DomainSchema | None) -> ExtractionRun:
        """A run over one workspace, in the words of its domain schema."""
        ...
