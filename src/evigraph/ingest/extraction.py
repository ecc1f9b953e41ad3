"""The extractor of one index run: as it is, or, where it asks a model, with its cache, budget and account; alone, or
beside the graph that an import brings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evigraph.errors import TokenBudgetReached
from evigraph.ingest.extractors import Extractor
from evigraph.ingest.extractors.base import ExtractionRun, ModelExtractor
from evigraph.ingest.extractors.entities import majority_types
from evigraph.ingest.sources import Given
from evigraph.models.ports import ChatReply
from evigraph.once import once
from evigraph.reports import ExtractionAccount
from evigraph.store import Store
from evigraph.store.extractions import StoredReplies, StoredReply
from evigraph.store.keys import revision_key
from evigraph.text.names import entity_id, split_entity_id
from evigraph.types import Assertion, Extraction, Mention, Passage

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

    @once
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


def distinct(extraction: Extraction) -> Extraction:
    """Without all but the first of equal claims at one place, which would share an id."""
    kept: dict[tuple[int, str, str, str, int], Assertion] = {}
    for item in extraction.assertions:
        kept.setdefault((item.passage_index, item.subject_id, item.predicate, item.object_id, item.start), item)
    return (
        extraction if len(kept) == len(extraction.assertions) else replace(extraction, assertions=tuple(kept.values()))
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenAndExtracted:
    """A `Given` whose passages the run's extractor reads too. What was given comes first, and stays of equal claims.
    Where it is `untyped`, a name of it takes the type that the extractor gives it in the same window of passages."""

    given: Given
    extractor: RunExtractor
    untyped: bool
    counts: Counter[str]

    @property
    def name(self) -> str:
        return f"{self.given.name}+{self.extractor.name}"

    def passages(
        self,
        document_id: str,
        *,
        revision: int,
        language: str,
        chunked: Callable[[], Iterator[Passage]],
        count_tokens: Callable[[str], int],
        max_tokens: int,
    ) -> Iterator[Passage]:
        return self.given.passages(
            document_id,
            revision=revision,
            language=language,
            chunked=chunked,
            count_tokens=count_tokens,
            max_tokens=max_tokens,
        )

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        given = self.given.extract(passages, title=title, language=language)
        found = self.extractor.extract(passages, title=title, language=language)
        if self.untyped:
            given = _typed(given, majority_types((mention.key, mention.type) for mention in found.mentions))
        mentions: dict[tuple[int, str, str, int, int, str], Mention] = {}
        for item in (*given.mentions, *found.mentions):
            mark = item.passage_index, item.entity_id, item.key, item.start, item.end, item.role
            mentions.setdefault(mark, item)
        both = replace(
            found,
            mentions=tuple(mentions.values()),
            assertions=(*given.assertions, *found.assertions),
            descriptions={**found.descriptions, **given.descriptions},
        )
        made = distinct(both)
        self.counts["assertions_given"] += len(given.assertions)
        self.counts["assertions_extracted"] += len(found.assertions)
        self.counts["assertions_repeated"] += len(both.assertions) - len(made.assertions)
        return made


def _typed(given: Extraction, types: Mapping[str, str]) -> Extraction:
    """The extraction with each name that `types` knows as an entity of that type."""

    def named(identity: str) -> tuple[str, str]:
        key, kind = split_entity_id(identity)
        kind = types.get(key, kind)
        return entity_id(key, kind), kind

    def claim(item: Assertion) -> Assertion:
        (subject_id, subject_type), (object_id, object_type) = named(item.subject_id), named(item.object_id)
        return replace(
            item, subject_id=subject_id, subject_type=subject_type, object_id=object_id, object_type=object_type
        )

    def mention(item: Mention) -> Mention:
        identity, kind = named(item.entity_id)
        return replace(item, entity_id=identity, type=kind)

    return replace(
        given,
        mentions=tuple(map(mention, given.mentions)),
        assertions=tuple(map(claim, given.assertions)),
        descriptions={named(identity)[0]: text for identity, text in given.descriptions.items()},
    )
