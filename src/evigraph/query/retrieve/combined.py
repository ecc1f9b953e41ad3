"""`hybrid`: local, global and naive merged round-robin, without repeats."""

from __future__ import annotations

from evigraph.query.fusion import round_robin
from evigraph.query.retrieve import facts, local, naive
from evigraph.query.run import Retrieved, Run, Signals
from evigraph.store.keys import PassageKey


def retrieve(run: Run) -> Retrieved:
    parts = {"local": local.retrieve(run), "global": facts.retrieve(run), "naive": naive.retrieve(run)}
    return merge(parts)


def merge(parts: dict[str, Retrieved]) -> Retrieved:
    """Round-robin over the parts; a passage keeps what each part says of it, and its score is `1 / place`."""
    signals = merged_signals(parts)
    order = round_robin([[key for key, _ in part.passages] for part in parts.values()])
    for place, key in enumerate(order, start=1):
        signals[key].score = 1.0 / place
    entities = round_robin([[entity_id for entity_id, _ in part.entities] for part in parts.values()])
    scores = {entity_id: score for part in reversed(parts.values()) for entity_id, score in part.entities}
    relationships = {item.id: item for part in reversed(parts.values()) for item in part.relationships}
    ranked = round_robin([[item.id for item in part.relationships] for part in parts.values()])
    return Retrieved(
        passages=tuple((key, signals[key]) for key in order),
        entities=tuple((entity_id, scores[entity_id]) for entity_id in entities),
        relationships=tuple(relationships[name] for name in ranked),
        retrieval="+".join(parts),
    )


def merged_signals(parts: dict[str, Retrieved]) -> dict[PassageKey, Signals]:
    """Union of the parts' signals, passage by passage.

    `global` orders its own passages by vector, which is no rank among all: beside another part it has no say in that.
    """
    merged: dict[PassageKey, Signals] = {}
    for name, part in parts.items():
        arms = ("bm25", "graph") if name == "global" and len(parts) > 1 else ("vector", "bm25", "graph")
        for key, signals in part.passages:
            mine = merged.setdefault(key, Signals())
            for arm in arms:
                if getattr(mine, f"{arm}_rank") is None:
                    setattr(mine, f"{arm}_score", getattr(signals, f"{arm}_score"))
                    setattr(mine, f"{arm}_rank", getattr(signals, f"{arm}_rank"))
    return merged
