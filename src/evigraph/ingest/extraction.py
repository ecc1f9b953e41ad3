"""The extractor of one index run: as it is, or, where it asks a model, with its cache, budget and account."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from evigraph.errors import TokenBudgetReached
from evigraph.ingest.extractors import Extractor
from evigraph.ingest.extractors.base import ExtractionRun, ModelExtractor
from evigraph.models.ports import ChatReply
from evigraph.reports import ExtractionAccount
from evigraph.store import Store
from evigraph.store.extractions import StoredReplies, StoredReply
from evigraph.store.keys import revision_key
from evigraph.types import Extraction, Passage

if TYPE_CHECKING:
    from typing_extensions import TypeIs


class RevisionReplies:
    """A `ReplyCache` over the store."""

    def __init__(self, stored: StoredReplies) -> None:
        self._stored = stored

    def find(self, keys: Sequence[str]) -> Mapping[str, ChatReply]:
        return {
            key: ChatReply(
                text=reply.text,
                model=reply.model,
                prompt_tokens=reply.prompt_tokens,
                completion_tokens=reply.completion_tokens,
            )
            for key, reply in self._stored.find(keys).items()
        }

    def keep(self, replies: Mapping[str, ChatReply]) -> None:
        self._stored.keep(
            {
                key: StoredReply(
                    text=reply.text,
                    model=reply.model,
                    prompt_tokens=reply.prompt_tokens,
                    completion_tokens=reply.completion_tokens,
                )
                for key, reply in replies.items()
            }
        )


class RunExtractor:
    """An `Extractor` for one run over one workspace, made when first needed. `stopped` is what ended extraction before
    all was done, if anything did."""

    def __init__(self, make: Callable[[], Extractor], store: Store, workspace: str) -> None:
        self._make = make
        self._store = store
        self._workspace = workspace
        self.stopped: TokenBudgetReached | None = None

    @cached_property
    def _made(self) -> Extractor | ExtractionRun:
        extractor = self._make()
        if not isinstance(extractor, ModelExtractor):
            return extractor
        generation = self._store.generation(self._workspace)
        return extractor.for_run(self._store.state_at(self._workspace, generation).schema)

    @property
    def name(self) -> str:
        return self._made.name

    @property
    def account(self) -> ExtractionAccount | None:
        """What it cost; None for an extractor that asks no model, or that was not needed."""
        made = self.__dict__.get("_made")
        return made.account if _asks(made) else None

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        """See `Extractor.extract`. Raises `TokenBudgetReached` from the call on that does not fit the budget."""
        made = self._made
        if not _asks(made):
            return made.extract(passages, title=title, language=language)
        if self.stopped is not None:
            raise self.stopped
        try:
            return made.extract(passages, title=title, language=language, replies=self._replies(passages))
        except TokenBudgetReached as error:
            self.stopped = error
            raise

    def estimate(self, passages: Sequence[Passage], *, title: str) -> None:
        """Add what `extract` would cost to `account`."""
        if passages and _asks(self._made):
            self._made.estimate(passages, title=title, replies=self._replies(passages, reading=True))

    def _replies(self, passages: Sequence[Passage], *, reading: bool = False) -> RevisionReplies:
        first = passages[0]
        key = revision_key(first.document_id, first.revision)
        return RevisionReplies(StoredReplies(self._store, self._workspace, key, reading=reading))


def _asks(made: Extractor | ExtractionRun | None) -> TypeIs[ExtractionRun]:
    return hasattr(made, "account")
