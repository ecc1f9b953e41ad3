"""Embedding spaces: documents whose vectors are of one model, within the scope of one question.

Cosines of two models say nothing beside each other, and no text is to reach another model than that of its own
documents. So whatever compares vectors does it space by space, through this module, which does nothing where the scope
is of one space. The question alone goes to the model of each, in whatever words a method puts it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from evigraph.errors import EmbedderMismatch
from evigraph.models.checked import CheckedEmbedder
from evigraph.models.embedders import Embedders, NoEmbedder
from evigraph.models.ports import Embedder, Vectors
from evigraph.query.answer.support import question_weights
from evigraph.query.relevance import Words
from evigraph.query.run import EmbeddingSpace, Question, Run
from evigraph.query.understand import embedded, understood
from evigraph.store import Snapshot
from evigraph.store.keys import PassageKey, revision_key
from evigraph.store.visibility import Space
from evigraph.types import Chunk

Compare = Callable[[Embedder, Vectors, list[str]], Sequence[float]]
"""Cosines of texts with a question's unit vector, by the model that made it."""

_NOWHERE = NoEmbedder()


def divide(snapshot: Snapshot, embedders: Embedders) -> tuple[EmbeddingSpace, ...]:
    """The spaces of a scope, the workspace's first, then by model; none where it is all of the workspace's."""
    spaces = snapshot.spaces()
    if len(spaces) == 1 and spaces[0].of_workspace:
        return ()
    return tuple(
        EmbeddingSpace(
            model=space.model,
            documents=space.documents,
            snapshot=snapshot.narrowed(space, searched=embedder is not None),
            embedder=embedder,
            missing="" if embedder is not None else embedders.why(),
        )
        for space in spaces
        for embedder in [_embedder_of(embedders, space, snapshot)]
    )


def _embedder_of(embedders: Embedders, space: Space, snapshot: Snapshot) -> Callable[[], Embedder] | None:
    if space.of_workspace:
        return lambda: main_embedder(embedders, space.model)
    found = embedders.of(space.model, snapshot.state.base_models[space.model])
    return None if found is None else lambda: CheckedEmbedder(found)


def main_embedder(embedders: Embedders, model: str) -> Embedder:
    """The main embedder, if it is the one that the workspace was embedded with."""
    embedder = embedders.main
    if model and embedder.name != model:
        raise EmbedderMismatch(model, embedder.name)
    return CheckedEmbedder(embedder)


def settle_spaces(run: Run, spaces: tuple[EmbeddingSpace, ...]) -> None:
    """Give the run the model, or the models, of its scope, and say which they are where it is not the workspace's
    alone."""
    first = next((space.embedder for space in spaces if space.embedder is not None), None)
    if len(spaces) == 1 and first is not None:
        run.snapshot = spaces[0].snapshot
    else:
        run.spaces, run.snapshot = spaces, run.snapshot.without_vectors()
    run.embedder = first or (lambda: _NOWHERE)
    told = [
        {"model": space.model, "documents": space.documents, "searched_by_vector": space.embedder is not None}
        for space in spaces
    ]
    run.details["embedding_models"] = told
    run.ledger.count("embedding_models", told)


def miss_models(run: Run) -> None:
    """Say which documents are not searched by vector."""
    for space in run.spaces:
        if space.embedder is None:
            run.ledger.degrade(
                f"embedding: {space.documents} documents of knowledge bases are embedded with {space.model!r}, "
                f"{space.missing}; they were searched by words and names alone"
            )


def models_of(run: Run) -> str:
    """What the vectors that a question is compared with depend on."""
    if not run.spaces:
        return run.snapshot.model
    return "\n".join(f"{space.model}\t{space.embedder is not None}" for space in run.spaces)


# --------------------------------------------------------------------------- one space after the other


@contextmanager
def within(run: Run, space: EmbeddingSpace) -> Iterator[None]:
    """The run over the documents of one space: what the question means there, and its vector by the space's model."""
    kept = run.snapshot, run.counts, run.embedder, run.space, run.question, run.wordings, run.dense_hits
    counted = dict(run.ledger.counts)
    run.snapshot, run.counts, run.space = space.snapshot, space.snapshot.counts(), space
    run.embedder = space.embedder or (lambda: _NOWHERE)
    run.dense_hits = None if space.embedder is not None else []
    try:
        run.question = None if run.question is None else _there(run, run.question)
        run.wordings = [_there(run, wording, what="a wording of the question") for wording in run.wordings]
        run.ledger.counts = counted
        yield
    finally:
        run.snapshot, run.counts, run.embedder, run.space, run.question, run.wordings, run.dense_hits = kept


def _there(run: Run, question: Question, *, what: str = "the question") -> Question:
    if not question.vector_of:
        return understood(run, question.text, what=what)
    meant = understood(run, question.text)
    vector = embedded(run, question.vector_of, by="understand", what="the text searched with instead of the question")
    return replace(meant, vector=vector, vector_of=question.vector_of)


def per_space(run: Run, act: Callable[[], Any]) -> list[Any]:
    """What something makes of each space that is searched by vector, or of the whole where there is but one."""
    if not run.divided:
        return [act()]
    made = []
    for space in run.spaces:
        if space.embedder is not None:
            with within(run, space):
                made.append(act())
    return made


# --------------------------------------------------------------------------- comparing with the question


def cosines(run: Run, keys: Sequence[PassageKey]) -> dict[PassageKey, float]:
    """Cosine of each of some passages with the question, by the model of its space; none of one without vectors."""
    return {key: cosine for part in cosines_apart(run, keys) for key, cosine in part.items()}


def cosines_apart(run: Run, keys: Sequence[PassageKey]) -> list[dict[PassageKey, float]]:
    """The same, space by space."""
    if not run.divided:
        found = run.snapshot.similarities([run.asked.vector], keys)
        return [{key: near[0] for key, near in found.items()}]
    parts = []
    at = placed(run, {key.revision_key for key in keys})
    for space in run.spaces:
        mine = [key for key in keys if at.get(key.revision_key) is space]
        if space.embedder is not None and mine:
            found = space.snapshot.similarities([_vector(run, space.embedder())], mine)
            parts.append({key: near[0] for key, near in found.items()})
    return parts


def _vector(run: Run, embedder: Embedder) -> Vectors:
    """The question's vector by a model, made once."""
    key = embedder.name, run.asked.text
    if key not in run.question_vectors:
        vector = embedded(run, run.asked.text, by="understand", what="the question", embedder=embedder)
        run.question_vectors[key] = vector
    return run.question_vectors[key]


def placed(run: Run, revisions: Iterable[int]) -> dict[int, EmbeddingSpace]:
    """The space of each of some revisions of the scope."""
    wanted = set(revisions)
    return {key: space for space in run.spaces for key in space.snapshot.among(wanted)}


def spaces_of(run: Run, chunks: Sequence[Chunk]) -> list[EmbeddingSpace | None]:
    """The space of each chunk; None of one that is no passage of the scope."""
    keys = [revision_key(chunk.document_id, chunk.revision) for chunk in chunks]
    at = placed(run, keys)
    return [at.get(key) for key in keys]


def near(run: Run, owners: Sequence[Chunk], texts: Sequence[str], compare: Compare) -> list[float]:
    """Cosine of each text with the question, by the model of the chunk that it is from. Where these are several, in 0-1
    by its place between the least and the best of its model's, times what that best is worth; one whose model is not
    configured is 0.

    The best of a space that knows nothing of the question is no match. Its worth is what can be compared between
    spaces: the largest share of the question's weighted words that a text of it holds, relative to all spaces'."""
    if not run.divided:
        return list(compare(run.embedder(), run.asked.vector, list(texts)))
    groups: defaultdict[str, list[int]] = defaultdict(list)
    of = {space.model: space for space in run.spaces}
    for number, space in enumerate(spaces_of(run, owners)):
        if space is None or space.embedder is not None:
            groups["" if space is None else space.model].append(number)
    found: dict[int, float] = {}
    for model, numbers in groups.items():
        make = run.embedder if not model else of[model].embedder
        assert make is not None
        embedder = make()
        values = compare(embedder, _vector(run, embedder), [texts[number] for number in numbers])
        found.update(zip(numbers, values, strict=True))
    if len(groups) > 1:
        found = _comparable(run, groups, texts, found)
    return [found.get(number, 0.0) for number in range(len(texts))]


def _comparable(
    run: Run, groups: Mapping[str, Sequence[int]], texts: Sequence[str], cosines: Mapping[int, float]
) -> dict[int, float]:
    words = Words(weights=question_weights(run), languages=run.counts.languages)
    held = {model: max(words.share(words.held(texts[at])) for at in numbers) for model, numbers in groups.items()}
    most = max(held.values())
    made: dict[int, float] = {}
    for model, numbers in groups.items():
        worth = held[model] / most if most else 1.0
        values = scaled([cosines[at] for at in numbers])
        made.update((at, round(worth * value, 6)) for at, value in zip(numbers, values, strict=True))
    return made


def scaled(values: Sequence[float]) -> list[float]:
    """Values by their place between the least (0) and the best (1); one half where all are alike."""
    low, high = min(values), max(values)
    return [round((float(value) - low) / (high - low), 6) if high > low else 0.5 for value in values]


def count_tokens(run: Run, chunk: Chunk, text: str) -> int:
    """Tokens of a text from a chunk, as the model of its space counts them."""
    if not run.divided:
        return run.embedder().count_tokens(text)
    space = spaces_of(run, [chunk])[0]
    if space is None:
        return run.embedder().count_tokens(text)
    return (_NOWHERE if space.embedder is None else space.embedder()).count_tokens(text)
