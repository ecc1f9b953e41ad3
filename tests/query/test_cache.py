"""Answers kept per generation, and when they are forgotten."""

from __future__ import annotations

from evigraph.query.cache import KEPT, ContextCache, Key
from evigraph.query.request import parse
from evigraph.types import Answer, Evidence, Mode

ASKED = parse({"query": "What?"})
ANSWER = Answer(
    text="Pumps.", citations=(), evidence=Evidence(question="What?", mode=Mode.MIX, generation=1), request=ASKED
)


def key(workspace: str, generation: int, question: str = "What?") -> Key:
    return ContextCache.key(workspace, generation, "hash", "", parse({"query": question}))


def test_a_question_at_a_newer_generation_forgets_the_older_answers_of_its_workspace() -> None:
    cache = ContextCache()
    for workspace in ("w", "other"):
        cache.put(key(workspace, 3), ANSWER)
    assert cache.get(key("w", 4)) is None
    assert cache.get(key("w", 3)) is None
    assert cache.get(key("other", 3)) is not None


def test_a_question_about_the_past_forgets_nothing_newer() -> None:
    cache = ContextCache()
    cache.put(key("w", 4), ANSWER)
    cache.put(key("w", 2), ANSWER)
    assert cache.get(key("w", 2)) is not None
    assert cache.get(key("w", 4)) is not None
    assert cache.get(key("w", 2)) is None


def test_the_answers_used_last_are_kept() -> None:
    cache = ContextCache()
    for number in range(KEPT + 1):
        cache.put(key("w", 1, f"What about {number}?"), ANSWER)
    assert cache.get(key("w", 1, "What about 0?")) is None
    assert cache.get(key("w", 1, f"What about {KEPT}?")) is not None
