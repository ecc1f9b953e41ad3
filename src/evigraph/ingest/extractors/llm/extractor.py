"""Entities and claims by a chat model: ask about each passage, read the replies, check them against the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evigraph.domain import DomainSchema
from evigraph.errors import ModelError
from evigraph.ingest.extractors.base import ReplyCache
from evigraph.ingest.extractors.llm.budget import (
    REPLY_TOKENS,
    TokenBudget,
    count_tokens,
    expected_prompt,
    expected_reply,
)
from evigraph.ingest.extractors.llm.build import Builder, Reading
from evigraph.ingest.extractors.llm.calls import Caller, Question
from evigraph.ingest.extractors.llm.parse import parse
from evigraph.ingest.extractors.llm.prompt import (
    PROMPT,
    Vocabulary,
    cache_key,
    first_messages,
    glean_messages,
    retry_messages,
)
from evigraph.ingest.extractors.llm.records import Parsed
from evigraph.models.ports import ChatModel, ChatReply, Message
from evigraph.reports import ExtractionAccount
from evigraph.types import Extraction, Passage

RULES = 1
"""Version of how replies become mentions and assertions; part of the extractor's name."""


class LLMExtractor:
    """A `ModelExtractor` over a chat model.

    `gleaning` further passes ask for what was left out; `concurrency` calls are under way at once; `token_budget` is
    the most one run may spend, with `reply_tokens` as the longest reply. `schema` serves `extract` outside an index
    run; in one, the workspace's schema does.
    """

    def __init__(
        self,
        chat: ChatModel,
        *,
        gleaning: int = 0,
        concurrency: int = 4,
        token_budget: int | None = None,
        reply_tokens: int = REPLY_TOKENS,
        schema: DomainSchema | None = None,
    ) -> None:
        self.chat = chat
        self.gleaning = gleaning
        self.concurrency = concurrency
        self.token_budget = token_budget
        self.reply_tokens = reply_tokens
        self.schema = schema

    @property
    def name(self) -> str:
        return self.for_run(self.schema).name

    def for_run(self, schema: DomainSchema | None) -> LLMRun:
        return LLMRun(self, schema)

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        """See `Extractor.extract`; nothing is cached beyond the call."""
        run = self.for_run(self.schema)
        return run.extract(passages, title=title, language=language, replies=NoCache())


class NoCache:
    """A `ReplyCache` that forgets."""

    def find(self, keys: Sequence[str]) -> Mapping[str, ChatReply]:
        return {}

    def keep(self, replies: Mapping[str, ChatReply]) -> None:
        pass


@dataclass(kw_only=True, slots=True)
class _Thread:
    """The conversation about one passage, and all that was read off it."""

    passage: Passage
    place: str
    messages: tuple[Message, ...]
    parsed: list[Parsed] = field(default_factory=list)
    reply: str = ""
    open: bool = True


class LLMRun:
    """See `ExtractionRun`."""

    def __init__(self, extractor: LLMExtractor, schema: DomainSchema | None) -> None:
        self.vocabulary = Vocabulary(schema)
        self._gleaning = extractor.gleaning
        self._model = extractor.chat.name
        budget = TokenBudget(extractor.token_budget, extractor.reply_tokens)
        self._caller = Caller(extractor.chat, budget, extractor.concurrency)
        self._passages = self._entities = self._assertions = 0
        self._retried = self._unusable = self._unverified = 0
        self._dropped: Counter[str] = Counter()
        self._notes: Counter[str] = Counter()

    @property
    def name(self) -> str:
        schema = f"schema-{self.vocabulary.hash}" if self.vocabulary.schema else "open"
        return f"llm:{self._model}/prompt-{PROMPT}.{RULES}/{schema}/gleaning-{self._gleaning}"

    @property
    def account(self) -> ExtractionAccount:
        caller = self._caller
        return ExtractionAccount(
            model=self._model,
            passages=self._passages,
            calls=caller.calls,
            cached=caller.cached,
            failed=caller.failed,
            retried=self._retried,
            unusable=self._unusable,
            unreported=caller.unreported,
            prompt_tokens=caller.prompt_tokens,
            completion_tokens=caller.completion_tokens,
            entities=self._entities,
            assertions=self._assertions,
            unverified=self._unverified,
            dropped=dict(sorted(self._dropped.items())),
            notes=dict(sorted((self._notes + caller.notes).items())),
            budget=caller.budget.limit,
            stopped_at=caller.stopped_at,
        )

    # ---------------------------------------------------------------- extraction

    def extract(self, passages: Sequence[Passage], *, title: str, language: str, replies: ReplyCache) -> Extraction:
        """See `ExtractionRun.extract`. Passages whose call failed or whose replies are unusable yield names of the
        document alone, and a warning; `Extraction.incomplete` tells that asking again may help."""
        threads = [self._thread(passage, title) for passage in passages]
        failures = self._round(threads, "0", replies)
        for number in range(1, self._gleaning + 1):
            going = [thread for thread in threads if thread.open]
            for thread in going:
                thread.messages = glean_messages(thread.messages, thread.reply)
            failures += self._round(going, str(number), replies, retry=False)
        return self._built(threads, title, failures)

    def _thread(self, passage: Passage, title: str) -> _Thread:
        place = f"passage {passage.index} of {passage.document_id}"
        return _Thread(passage=passage, place=place, messages=first_messages(self.vocabulary, passage, title))

    def _round(
        self, threads: Sequence[_Thread], stage: str, replies: ReplyCache, *, retry: bool = True
    ) -> list[ModelError]:
        """Put one question to each thread. A reply that is no answer is asked for once more, then given up."""
        failures = self._put(threads, stage, replies)
        again = [thread for thread in threads if thread.open and not thread.parsed[-1].usable] if retry else []
        if again:
            self._retried += len(again)
            for thread in again:
                problem = thread.parsed.pop().problem
                thread.messages = retry_messages(thread.messages, thread.reply, problem)
            failures += self._put(again, f"{stage}-again", replies)
        for thread in threads:
            if thread.open and not thread.parsed[-1].usable:
                self._unusable += 1
                thread.open = False
        return failures

    def _put(self, threads: Sequence[_Thread], stage: str, replies: ReplyCache) -> list[ModelError]:
        questions = [
            Question(
                key=cache_key(self._model, self.vocabulary, stage, thread.messages),
                messages=thread.messages,
                place=thread.place,
            )
            for thread in threads
        ]
        failures = []
        for thread, reply in zip(threads, self._caller.ask(questions, replies), strict=True):
            if isinstance(reply, ModelError):
                failures.append(reply)
                thread.open = False
            else:
                thread.reply = reply.text
                thread.parsed.append(parse(reply.text))
        return failures

    def _built(self, threads: Sequence[_Thread], title: str, failures: Sequence[ModelError]) -> Extraction:
        builder = Builder(self.vocabulary, self.name)
        dropped: Counter[str] = Counter()
        for thread in threads:
            for parsed in thread.parsed:
                dropped.update(parsed.dropped)
                self._notes.update(parsed.notes)
        found = builder.build([_reading(thread) for thread in threads], title=title)
        dropped.update(builder.dropped)
        self._dropped.update(dropped)
        self._notes.update(+builder.notes)
        self._passages += len(threads)
        self._entities += len({mention.entity_id for mention in found.mentions})
        self._assertions += len(found.assertions)
        self._unverified += builder.unverified
        unanswered = sum(1 for thread in threads if not any(parsed.usable for parsed in thread.parsed))
        return Extraction(
            mentions=found.mentions,
            assertions=found.assertions,
            descriptions=found.descriptions,
            warnings=tuple(_warnings(unanswered, len(threads), failures, dropped)),
            incomplete=bool(failures),
        )

    # ---------------------------------------------------------------- estimate

    def estimate(self, passages: Sequence[Passage], *, title: str, replies: ReplyCache) -> None:
        """See `ExtractionRun.estimate`. Every gleaning pass is taken to be asked for."""
        threads = [self._thread(passage, title) for passage in passages]
        keys = [cache_key(self._model, self.vocabulary, "0", thread.messages) for thread in threads]
        known = replies.find(list(dict.fromkeys(keys)))
        self._passages += len(threads)
        caller = self._caller
        for key, thread in zip(keys, threads, strict=True):
            size = count_tokens(thread.passage.text)
            asked, said = expected_prompt(thread.messages), expected_reply(size)
            for number in range(self._gleaning + 1):
                if number == 0 and key in known:
                    caller.cached += 1
                    continue
                caller.calls += 1
                caller.prompt_tokens += asked + number * said
                caller.completion_tokens += expected_reply(size, gleaning=number > 0)


def _reading(thread: _Thread) -> Reading:
    """Records of all passes; what a later pass repeats is left out."""
    entities = dict.fromkeys(record for parsed in thread.parsed for record in parsed.entities)
    claims = dict.fromkeys(record for parsed in thread.parsed for record in parsed.claims)
    return Reading(passage=thread.passage, entities=tuple(entities), claims=tuple(claims))


def _warnings(unanswered: int, passages: int, failures: Sequence[ModelError], dropped: Mapping[str, int]) -> list[str]:
    said = []
    if failures:
        said.append(
            f"{len(failures)} calls to the chat model failed ({failures[0].code}: {failures[0]}); index again to ask"
            " for what is missing"
        )
    if unanswered:
        said.append(
            f"{unanswered} of {passages} passages have no entities or claims: no usable reply of the chat model"
        )
    lost = {reason: count for reason, count in sorted(dropped.items()) if reason != "duplicate"}
    if lost:
        reasons = ", ".join(f"{count} {reason}" for reason, count in lost.items())
        said.append(f"records of the chat model left out: {reasons}")
    return said
