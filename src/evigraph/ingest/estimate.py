"""What an index run would ask of a model, found out without asking it and without writing anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evigraph.ingest.membership import id_space
from evigraph.ingest.pipeline import WINDOW, Indexer, IndexOptions, batched
from evigraph.ingest.read import read
from evigraph.reports import ExtractionAccount, ExtractionEstimate, FileError
from evigraph.text.language import detect_language


class Estimator(Indexer):
    """Goes an `Indexer`'s way through the inputs up to the point where the extractor would be called."""

    def estimate(self, inputs: Sequence[Any], options: IndexOptions) -> ExtractionEstimate:
        self.origin, self.build_tree = options.origin, options.build_tree
        documents = unchanged = passages = 0
        errors: list[FileError] = []
        found = read(
            inputs,
            workspace=id_space(self.workspace, options.knowledge_base),
            root=options.root,
            max_file_bytes=self.settings.max_file_bytes,
            metadata=options.metadata,
        )
        for document in found:
            if isinstance(document, FileError):
                errors.append(document)
                continue
            documents += 1
            known = self.store.known(self.workspace, [document.document_id])
            self.membership.look_up(known)
            before = known.get(document.document_id)
            if before and self._serves(document, before):
                unchanged += 1
                continue
            opening = next((part.text[:4000] for part in document.segments()), "")
            embedder = self.embedders.of(self.membership.home(document.document_id))
            language = detect_language(f"{document.title}\n{opening}")
            # The number of a revision that does not exist; no reply is stored under it.
            for window in batched(self._passages(document, 0, language, embedder), WINDOW):
                passages += len(window)
                self.extractor.estimate(window, title=document.title)
        account = self.extractor.account or ExtractionAccount(model="")
        return ExtractionEstimate(
            extractor=self.extractor.name,
            documents=documents,
            unchanged=unchanged,
            passages=passages,
            calls=account.calls,
            cached=account.cached,
            prompt_tokens=account.prompt_tokens,
            completion_tokens=account.completion_tokens,
            budget=account.budget,
            over_budget=account.budget is not None and account.tokens > account.budget,
            errors=tuple(errors),
        )
