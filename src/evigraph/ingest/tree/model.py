"""Summaries by a chat model, one call a cluster. Where a call fails, or nothing of its reply can be kept, the
extractive summary stays; the document's warnings say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from evigraph.errors import ModelError, TokenBudgetReached
from evigraph.ingest.extractors.base import ReplyCache
from evigraph.ingest.extractors.llm.budget import TokenBudget
from evigraph.ingest.extractors.llm.calls import Caller, Question
from evigraph.ingest.tree.nodes import Draft, Node, Subject
from evigraph.ingest.tree.prompt import NOTHING, cache_key, messages
from evigraph.models.ports import ChatModel, ChatReply, Embedder
from evigraph.text.instructions import Cleaned, gives_orders, without_obedience, without_orders
from evigraph.text.markers import MARKER
from evigraph.text.sentences import sentence_spans
from evigraph.text.support import unsupported_reason

REPLY_TOKENS = 512
"""What a reply may be long: the summary that is asked for, several times over."""

Reply = ChatReply | ModelError | None
"""None: the model was not asked."""


class ModelSummaries:
    """The chat model of one index run. `dropped` counts replies, and sentences of replies, that were not kept, by
    reason; `written` the summaries that are the model's. `stopped` says why it is not asked any more."""

    def __init__(self, chat: ChatModel, *, token_budget: int | None, concurrency: int) -> None:
        self.name = chat.name
        self.caller = Caller(chat, TokenBudget(token_budget, REPLY_TOKENS), concurrency)
        self.dropped: Counter[str] = Counter()
        self.written = 0
        self.unusable = 0
        self.stopped: str | None = None

    def rewritten(
        self,
        drafts: Sequence[Draft],
        groups: Sequence[Sequence[Node]],
        subject: Subject,
        replies: ReplyCache,
        *,
        embedder: Embedder,
        outcome: Counter[str],
    ) -> list[Draft]:
        """The drafts with the model's texts where it wrote any, as much of each as `embedder` reads; `outcome` counts
        what became of the others."""
        shown = [[without_orders(_read(node), subject.language) for node in nodes] for nodes in groups]
        title = "" if gives_orders(subject.context) else subject.context
        asked = [messages(title, [cleaned.text for cleaned in texts]) for texts in shown]
        questions = [
            Question(key=cache_key(self.name, said), messages=said, place=f"a summary of {subject.source}")
            for said in asked
        ]
        found = self._ask(questions, replies)
        return [
            self._kept(draft, reply, texts, subject, embedder=embedder, outcome=outcome)
            for draft, reply, texts in zip(drafts, found, shown, strict=True)
        ]

    def _ask(self, questions: Sequence[Question], replies: ReplyCache) -> Sequence[Reply]:
        """Replies by question. A model that does not answer, or whose budget is spent, is not asked again in this run;
        what it answered before counts."""
        if self.stopped is None:
            try:
                return self.caller.ask(questions, replies)
            except (ModelError, TokenBudgetReached) as error:
                self.stopped = str(error)
        known: Mapping[str, ChatReply] = replies.find(list(dict.fromkeys(question.key for question in questions)))
        return [known.get(question.key) for question in questions]

    def _kept(
        self,
        draft: Draft,
        reply: Reply,
        shown: Sequence[Cleaned],
        subject: Subject,
        *,
        embedder: Embedder,
        outcome: Counter[str],
    ) -> Draft:
        if reply is None or isinstance(reply, ModelError):
            outcome["not asked" if reply is None else "failed"] += 1
            return draft
        text = self._checked(reply.text, shown, subject, embedder)
        if not text:
            self.unusable += 1
            outcome["unusable"] += 1
            return draft
        self.written += 1
        return replace(draft, text=text)

    def _checked(self, reply: str, shown: Sequence[Cleaned], subject: Subject, embedder: Embedder) -> str:
        """What is kept of a reply: whole sentences that hold no number and no name which the nodes do not hold, and
        repeat no order that was left out of them; as many as the embedder reads."""
        if NOTHING in reply:
            self.dropped["declined"] += 1
            return ""
        languages, texts = (subject.language,), [cleaned.text for cleaned in shown]
        orders = [order for cleaned in shown for order in cleaned.orders]
        heard = [sentence for text in texts for sentence in (_sentences(text, subject.language) if orders else ())]
        honest = without_obedience(MARKER.sub("", reply).strip(), orders, heard, languages)
        self.dropped["orders_repeated"] += honest.dropped
        kept: list[str] = []
        for said in _sentences(honest.text, subject.language):
            if not any(letter.isalnum() for letter in said):
                continue
            if unsupported_reason(said, texts, languages) is not None:
                self.dropped["sentences_unsupported"] += 1
            elif embedder.count_tokens(subject.searchable(" ".join([*kept, said]))) > embedder.max_tokens:
                self.dropped["sentences_too_long"] += 1
                break
            else:
                kept.append(said)
        return " ".join(kept)


def _read(node: Node) -> str:
    """What the model reads of a node."""
    return node.text if node.leaf is None else node.leaf.searchable_text


def _sentences(text: str, language: str) -> list[str]:
    return [" ".join(text[start:end].split()) for start, end in sentence_spans(text, language)]
