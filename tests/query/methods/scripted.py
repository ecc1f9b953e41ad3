"""A chat model that plays every part a query has for one, and questions that between them reach every stage."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from evigraph import Evigraph
from evigraph.config import Settings
from evigraph.models.ports import Message, WebResult
from evigraph.testing.models import ScriptedChat, ScriptedWebSearch
from evigraph.types import Answer
from small import OneStore, item
from wide import CORPUS

QUESTION = "Why do the pumps of Tarn stand idle?"
FAR = "Which emperor signed the treaty of Zorbulon?"
PAGE = WebResult(
    title="Treaty of Zorbulon",
    url="https://history.example/zorbulon",
    text="The emperor Otto signed the treaty of Zorbulon. The pumps of Tarn stand idle for want of spare parts.",
)
ALL = "Across all regions, why do pumps stand idle for want of spare parts?"
PLAN = {
    "steps": [
        {"id": "a", "op": "match", "entity": "Mechanic Tarn"},
        {"id": "b", "op": "hop", "source": "a", "predicates": ["VISITED"], "direction": "out"},
    ]
}
SIGNS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ('"usefulness"', lambda shown: json.dumps({"answer": quoted(shown), "usefulness": 80})),
    ('"grade": 7', lambda shown: json.dumps([{"n": n, "grade": n % 4} for n in range(1, passages(shown) + 1)])),
    ('"grades"', lambda shown: json.dumps(graded(shown))),
    ('"critique"', lambda shown: json.dumps({"score": 0.4, "critique": "Say which pumps."})),
    ("JSON list of texts", lambda shown: json.dumps(["Why are the pumps of Tarn out of order?", "Tarn idle pumps"])),
    ("one short paragraph", lambda shown: "The pumps of Tarn stand idle because spare parts are missing."),
    ("into a plan", lambda shown: json.dumps(PLAN)),
    ("make the last question", lambda shown: "Why do the pumps of Tarn stand idle?"),
    ("lookup", lambda shown: json.dumps({"lookup": 0.7, "local": 0.2, "global": 0.05, "linked": 0.05})),
)
"""Words of a system prompt, and what the model replies to it; to any other it answers the question."""


def passages(shown: str) -> int:
    return len(re.findall(r'<passage n="\d+"', shown))


def quoted(shown: str) -> str:
    """The last sentence of the last passage shown, cited."""
    number, text = re.findall(r'<passage n="(\d+)"[^>]*>\n(.*?)\n</passage>', shown, re.DOTALL)[-1]
    return f"{re.split(r'(?<=[.]) ', text)[-1]} [{number}]"


def graded(shown: str) -> dict[str, Any]:
    """Of a question about Garrawe one passage is good; of any other none."""
    good = "Garrawe" in shown.rpartition("Question:")[2]
    grades = [0.1] * passages(shown)
    return {"grades": [0.9, *grades[1:]] if good else grades, "refined_question": "idle pumps of Tarn"}


def reply(messages: Sequence[Message]) -> str:
    system, shown = messages[0].content, messages[-1].content
    return next((make(shown) for sign, make in SIGNS if sign in system), None) or answered(shown)


def answered(shown: str) -> str:
    """The partial answers again, where there are any; else a sentence that cites the first passage."""
    partial = [line for line in shown.splitlines() if re.search(r"\w.*\[\d+\]$", line)]
    return "\n".join(partial) or "The pumps stand idle for want of spare parts [1]."


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """One way to ask. `settings` beside the defaults; `chat` says whether there is a model, `web` whether there is a
    web search; `before` is asked first."""

    name: str
    options: dict[str, Any]
    question: str = QUESTION
    chat: bool = False
    web: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    before: dict[str, Any] | None = None


_MODES = ("naive", "local", "global", "hybrid", "mix", "keyword_lookup", "entity_connections", "traverse")
SCENARIOS = (
    *(Scenario(name=mode, options={"mode": mode}) for mode in _MODES),
    Scenario(name="plan", options={"mode": "plan", "plan": PLAN}),
    Scenario(name="overview", options={"mode": "thematic_overview"}, question=ALL),
    Scenario(name="auto mode", options={"mode": "auto"}),
    *(
        Scenario(name=f"naive, {name}", options={name: True, "mode": "naive", "max_chunks": 3})
        for name in ("rerank", "compress", "parent_context", "hybrid")
    ),
    Scenario(name="multi_query by rules", options={"method": "multi_query"}),
    Scenario(name="raptor", options={"method": "raptor"}, question="What does the long book say of wells?"),
    Scenario(name="auto method", options={"method": "auto"}),
    Scenario(name="bypass", options={"mode": "bypass"}, chat=True),
    Scenario(name="standard by a model", options={}, chat=True),
    Scenario(name="overview by a model", options={"mode": "thematic_overview"}, question=ALL, chat=True),
    Scenario(name="plan by a model", options={"mode": "plan"}, question="Whom did Mechanic Tarn visit?", chat=True),
    Scenario(name="auto by a model", options={"mode": "auto"}, chat=True, settings={"router": "llm"}),
    *(
        Scenario(name=f"{method} by a model", options={"method": method}, chat=True)
        for method in ("hyde", "multi_query", "corrective", "self_rag", "auto", "raptor")
    ),
    Scenario(
        name="corrective, one good", options={"method": "corrective"}, question="Who visited Pump Garrawe?", chat=True
    ),
    Scenario(name="corrective with the web", options={"method": "corrective"}, question=FAR, web=True),
    Scenario(name="corrective with the web, by a model", options={"method": "corrective"}, chat=True, web=True),
    Scenario(name="rerank by a model", options={"rerank": True}, chat=True, settings={"reranker": "llm"}),
    Scenario(
        name="conversation",
        options={"conversation_id": "c"},
        question="Why do its pumps stand idle?",
        before={"question": "Who visited Tarn?"},
    ),
    Scenario(
        name="conversation by a model",
        options={"conversation_id": "c"},
        question="Why do its pumps stand idle?",
        chat=True,
        before={"question": "Who visited Tarn?"},
    ),
)


def long_book() -> dict[str, Any]:
    wells = [
        f"Well {number} of the valley was dug by hand. Its water is clear and its wall of stone holds well number"
        f" {number}. The people of house {number} draw from it each day."
        for number in range(30)
    ]
    return item("book", "\n\n".join(wells), title="A long book", source="book.md", metadata={"region": "north"})


class Asked:
    """Asks scenarios of one indexed workspace, each through a view with its model and settings."""

    def __init__(self, store: OneStore) -> None:
        self._store = store
        self.graph = store.engine("asked")
        assert not self.graph.index(CORPUS).errors
        assert not self.graph.index([long_book()], build_tree=True).errors
        self.graph.communities.build()
        self._turns = 0
        self._answers: dict[str, Answer] = {}

    def answer(self, scenario: Scenario) -> Answer:
        """Of a healthy run, asked once."""
        if scenario.name not in self._answers:
            view = self.view(scenario)
            self._answers[scenario.name] = view.ask(scenario.question, **self.options(scenario, view))
        return self._answers[scenario.name]

    def view(self, scenario: Scenario) -> Evigraph:
        options: dict[str, Any] = {"settings": Settings(**scenario.settings)}
        if scenario.chat:
            options["chat"] = ScriptedChat(reply)
        if scenario.web:
            options["web_search"] = ScriptedWebSearch([PAGE])
        return self._store.engine("asked", **options)

    def options(self, scenario: Scenario, view: Evigraph) -> dict[str, Any]:
        """The scenario's options; a conversation is a new one, with its first turn taken."""
        options = dict(scenario.options)
        if scenario.before is not None:
            self._turns += 1
            options["conversation_id"] = f"c{self._turns}"
            view.ask(scenario.before["question"], conversation_id=options["conversation_id"])
        return options
