"""Asking the model: what was answered before, how many calls at once, what they cost, and where the budget ends them.

One thread decides and stores; the others only wait for the model. Calls start in the order given and replies come back
in it, whatever finishes first.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from evigraph.errors import ModelError, ModelUnavailable, TokenBudgetReached
from evigraph.ingest.extractors.base import ReplyCache
from evigraph.ingest.extractors.llm.budget import TokenBudget, count_tokens, expected_prompt
from evigraph.ingest.extractors.llm.parse import shortened
from evigraph.models.meter import readable
from evigraph.models.ports import ChatModel, ChatReply, Message

FAILURES_IN_A_ROW = 5
"""After so many the fault is not the passages', and the run ends."""


@runtime_checkable
class BoundedChat(ChatModel, Protocol):
    """A chat model whose replies can be held to a length."""

    def bounded(self, max_tokens: int) -> ChatModel: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One call: the hash of all that decides its reply, what is said, and of which passage."""

    key: str
    messages: tuple[Message, ...]
    place: str


class Caller:
    """Asks for one run. `calls`, `cached`, `failed` and the tokens count what it did, `notes` what was
    put right in replies before they were stored."""

    def __init__(self, chat: ChatModel, budget: TokenBudget, concurrency: int) -> None:
        self._chat = chat.bounded(budget.reply_tokens) if isinstance(chat, BoundedChat) else chat
        self._concurrency = concurrency
        self.budget = budget
        self.calls = self.cached = self.failed = self.unreported = 0
        self.prompt_tokens = self.completion_tokens = 0
        self.notes: Counter[str] = Counter()
        self.stopped_at: str | None = None
        self._answered = False
        self._in_a_row = 0

    def ask(self, questions: Sequence[Question], replies: ReplyCache) -> list[ChatReply | ModelError]:
        """The reply to each question, or why there is none.

        Raises `TokenBudgetReached` before a call that might cost more than is left, and the model's own error where
        none answers (at the first call of the run, or several times in a row); in both cases when calls under way have
        been answered and stored.
        """
        known: dict[str, ChatReply | ModelError] = {**replies.find(list({q.key: None for q in questions}))}
        waiting = deque({q.key: q for q in questions if q.key not in known}.values())
        self.cached += len(questions) - len(waiting)
        if waiting:
            self._answer(waiting, known, replies)
        return [known[question.key] for question in questions]

    def _answer(self, waiting: deque[Question], known: dict[str, ChatReply | ModelError], replies: ReplyCache) -> None:
        under_way: dict[Future[ChatReply], tuple[int, Question, int]] = {}
        started = 0
        gone: ModelError | None = None
        with ThreadPoolExecutor(max_workers=self._concurrency) as pool:
            while waiting or under_way:
                while waiting and gone is None and len(under_way) < self._concurrency:
                    most = self.budget.most(waiting[0].messages)
                    if not self.budget.admits(most):
                        break
                    question = waiting.popleft()
                    self.budget.reserve(most)
                    under_way[pool.submit(self._chat.complete, question.messages)] = started, question, most
                    started += 1
                if not under_way:
                    break
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                ended = sorted(((*under_way.pop(future), future) for future in done), key=lambda item: item[0])
                gone = self._settle([item[1:] for item in ended], known, replies) or gone
        if gone is not None:
            raise gone
        if waiting:
            self._stop(waiting[0])

    def _settle(
        self,
        ended: Sequence[tuple[Question, int, Future[ChatReply]]],
        known: dict[str, ChatReply | ModelError],
        replies: ReplyCache,
    ) -> ModelError | None:
        """Account for calls that ended, and store their replies. Returns the error of a model that is not there."""
        gone: ModelError | None = None
        fresh: dict[str, ChatReply] = {}
        for question, most, future in ended:
            self.calls += 1
            try:
                reply, removed = readable(future.result())
            except ModelError as error:
                self.failed += 1
                self.budget.settle(most, question.messages, None)
                known[question.key] = error
                self._in_a_row += 1
                never = isinstance(error, ModelUnavailable) and not self._answered
                if never or self._in_a_row >= FAILURES_IN_A_ROW:
                    gone = gone or error
                continue
            self._answered, self._in_a_row = True, 0
            self.notes["not_text"] += removed
            self.notes["reply_cut"] += reply.cut
            reply = replace(reply, text=shortened(reply.text, self.notes))
            self.budget.settle(most, question.messages, reply)
            self._count(question, reply)
            known[question.key] = fresh[question.key] = reply
        replies.keep(fresh)
        return gone

    def _count(self, question: Question, reply: ChatReply) -> None:
        asked, said = reply.prompt_tokens, reply.completion_tokens
        self.unreported += asked is None or said is None
        self.prompt_tokens += expected_prompt(question.messages) if asked is None else asked
        self.completion_tokens += count_tokens(reply.text) if said is None else said

    def _stop(self, question: Question) -> None:
        self.stopped_at = question.place
        limit, most = self.budget.limit, self.budget.most(question.messages)
        raise TokenBudgetReached(
            f"extraction stopped before {question.place}: {self.budget.spent} of {limit} tokens are spent, and the"
            f" next call might cost {most}",
            hint="run it again (answers already paid for are kept), or raise EVIGRAPH_EXTRACTION_TOKEN_BUDGET",
        )
