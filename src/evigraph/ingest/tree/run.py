"""The trees of one index run: which documents get one, who writes the summaries, and what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from evigraph.config import Settings
from evigraph.ingest.atoms import TokenCounter
from evigraph.ingest.chunk import ContextParts, bounded_context
from evigraph.ingest.extraction import RevisionReplies
from evigraph.ingest.sources import SourceDocument
from evigraph.ingest.tree.build import FEWEST_LEAVES, TreeBuilder
from evigraph.ingest.tree.model import ModelSummaries
from evigraph.ingest.tree.nodes import Subject
from evigraph.models.ports import ChatModel, Embedder
from evigraph.once import once
from evigraph.reports import TreeAccount
from evigraph.store import Store
from evigraph.store.extractions import StoredReplies
from evigraph.store.keys import revision_key

CONTEXT_SHARE = 4
"""A summary's context takes a quarter of the tokens at most, as a passage's does."""


class RunTrees:
    """Makes a builder for each document and adds up what they did. The chat model is made when first needed."""

    def __init__(
        self,
        store: Store,
        workspace: str,
        chat: Callable[[], ChatModel | None],
        settings: Settings,
    ) -> None:
        self._store = store
        self._workspace = workspace
        self._chat = chat
        self._settings = settings
        self._trees = self._too_short = self._summaries = self._orders = 0
        self.wanted = False
        """Whether any document was to get a tree."""

    @once
    def model(self) -> ModelSummaries | None:
        """Who writes summaries; None offline. Raises `ModelNotConfigured` where the settings name half of one."""
        chat = self._chat()
        if chat is None:
            return None
        return ModelSummaries(
            chat,
            token_budget=self._settings.extraction_token_budget,
            concurrency=self._settings.model_concurrency,
        )

    def builder(self, document: SourceDocument, revision: int, language: str, embedder: Embedder) -> TreeBuilder:
        """A builder for one revision of a document, whose vectors are this model's."""
        self.wanted = True
        parts = ContextParts(title=document.title, headings=(), caption="", header="")
        stored = StoredReplies(self._store, self._workspace, revision_key(document.document_id, revision))
        subject = Subject(
            document_id=document.document_id,
            revision=revision,
            source=document.source,
            context=bounded_context(parts, embedder.max_tokens // CONTEXT_SHARE, TokenCounter(embedder.count_tokens)),
            language=language,
        )
        return TreeBuilder(subject, embedder, self.model, RevisionReplies(stored))

    def close(self, tree: TreeBuilder) -> list[str]:
        """Count a tree that is complete; return its document's warnings."""
        made, outcome = tree.made.total(), tree.outcome
        self._summaries += made
        self._orders += tree.orders
        self._trees += bool(made)
        if tree.leaves < FEWEST_LEAVES:
            self._too_short += 1
            return [f"tree: {tree.leaves} passages are too few for a tree of summaries ({FEWEST_LEAVES}); it has none"]
        said = []
        if unasked := outcome["not asked"]:
            assert self.model is not None
            said.append(
                f"tree: the chat model was not asked for {unasked} of {made} summaries, since {self.model.stopped}; "
                "sentences of the passages were used instead"
            )
        for reason, what in (("failed", "the chat model's call failed"), ("unusable", "nothing of the reply was kept")):
            if outcome[reason]:
                said.append(
                    f"tree: {what} for {outcome[reason]} of {made} summaries; sentences of the passages were used"
                    " instead"
                )
        if outcome["without a sentence"]:
            said.append(
                f"tree: {outcome['without a sentence']} groups of passages hold no sentence to summarise them by; "
                "they have no summary"
            )
        return said

    @property
    def account(self) -> TreeAccount | None:
        """What was made and what it cost; None where no document was to get a tree."""
        if not self.wanted:
            return None
        model = self.model
        dropped: Counter[str] = Counter({"orders": self._orders})
        if model is None:
            return TreeAccount(
                trees=self._trees, too_short=self._too_short, summaries=self._summaries, dropped=dict(+dropped)
            )
        dropped.update(model.dropped)
        caller = model.caller
        return TreeAccount(
            trees=self._trees,
            too_short=self._too_short,
            summaries=self._summaries,
            by_model=model.written,
            model=model.name,
            calls=caller.calls,
            cached=caller.cached,
            failed=caller.failed,
            unusable=model.unusable,
            unreported=caller.unreported,
            prompt_tokens=caller.prompt_tokens,
            completion_tokens=caller.completion_tokens,
            dropped=dict(sorted((+dropped).items())),
            stopped_at=caller.stopped_at,
        )
