"""Share of the phantomwiki questions that hand-written plans answer exactly, from gold triples and from the text.

    python bench/plan_phantomwiki.py ../shared/data/phantomwiki_easy --json plan_phantomwiki.json

A template for each of the 14 question types turns the English question into a plan. A question counts as answered only
if the complete list is right; where it asks "how many", the list of the counts of all bindings. Four stores:

- gold: the given triples alone. They leave the dates of birth out, which 79 questions need.
- gold + dates: with the date of birth that each article states.
- text: what the offline extractor reads off the same articles. A name that several entities carry is settled by taking
  all of them, as a caller would who is shown the candidates.
- import --extract: the given triples as `import --extract` takes them in, with what the extractor adds.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evigraph import Evigraph
from evigraph.domain import predicate_key
from evigraph.ingest.extractors import Extractor
from evigraph.ingest.extractors.spacy_extractor import SpacyExtractor
from evigraph.plans import Count, Hop, Match, Plan, Step
from evigraph.testing.models import HashEmbedder
from evigraph.text.names import entity_id, name_key
from evigraph.types import Assertion, Extraction, Mention, Passage

Triple = tuple[str, str, str]
IMPORTED = "import --extract"

PERSON = r"(?P<name>.+)"
HOLDER = r"the person whose (?P<attribute>[a-z ]+) is (?P<value>.+)"
FIRST = r"the (?P<first>[a-z-]+) of "
SECOND = r"the (?P<second>[a-z-]+) of "
TEMPLATES: Mapping[int, str] = {
    0: f"Who is {SECOND}{FIRST}{HOLDER}",
    1: f"Who is {SECOND}{FIRST}{PERSON}",
    2: f"Who is {FIRST}{HOLDER}",
    3: f"Who is {FIRST}{PERSON}",
    4: f"Who is {HOLDER}",
    5: rf"What is the (?P<asked>[a-z ]+) of {SECOND}{FIRST}{PERSON}",
    6: rf"What is the (?P<asked>[a-z ]+) of {FIRST}{HOLDER}",
    7: rf"What is the (?P<asked>[a-z ]+) of {FIRST}{PERSON}",
    8: rf"What is the (?P<asked>[a-z ]+) of {HOLDER}",
    9: rf"How many (?P<counted>[a-z-]+) does {SECOND}{FIRST}{PERSON} have",
    10: rf"How many (?P<counted>[a-z-]+) does {FIRST}{HOLDER} have",
    11: rf"How many (?P<counted>[a-z-]+) does {FIRST}{PERSON} have",
    12: rf"How many (?P<counted>[a-z-]+) does {HOLDER} have",
    13: rf"How many (?P<counted>[a-z-]+) does {PERSON} have",
}
"""The question of each type. Its parts are hops, in the order anchor, `first`, `second`, then `asked` or `counted`."""

KIN = {
    "friend": ("friend", "friends"),
    "brother": ("brother", "brothers"),
    "sister": ("sister", "sisters"),
    "son": ("son", "sons"),
    "daughter": ("daughter", "daughters"),
    "sibling": ("brother", "brothers", "sister", "sisters"),
    "child": ("son", "sons", "daughter", "daughters"),
    "parent": ("mother", "father"),
}
"""Relations that articles state in several ways."""
IRREGULAR = {"wives": "wife", "children": "child"}


def plan_of(kind: int, question: str, known: Collection[str]) -> Plan:
    """The plan of a question, by the template of its type. `known` are the predicates of the schema, of which those
    that mean a relation make one set."""

    def predicates(words: str) -> tuple[str, ...]:
        word = IRREGULAR.get(words, words.removesuffix("s"))
        forms = KIN.get(word, (word,))
        return tuple(form for form in forms if predicate_key(form) in known) or forms

    found = re.fullmatch(TEMPLATES[kind] + r"\?", question)
    assert found is not None, (kind, question)
    parts = found.groupdict()
    if "name" in parts:
        steps: list[Step] = [Match(id="anchor", entities=(parts["name"],))]
    else:
        steps = [
            Match(id="value", entities=(parts["value"],)),
            Hop(id="anchor", source="value", predicates=predicates(parts["attribute"]), direction="in"),
        ]
    for name in ("first", "second", "asked", "counted"):
        if name in parts:
            steps.append(Hop(id=name, source=steps[-1].id, predicates=predicates(parts[name])))
    if "counted" in parts:
        steps.append(Count(id="count", source="counted", by=steps[-2].id))
    return Plan(steps=tuple(steps))


class GoldExtractor:
    """Hands out the triples of an article, each with the line that states it."""

    def __init__(self, triples: Mapping[str, Sequence[Triple]], name: str) -> None:
        self.name = name
        self._triples = triples

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        mentions: dict[tuple[int, str, int], Mention] = {}
        assertions = []
        for subject, relation, target in self._triples[title]:
            said = re.compile(rf"The {re.escape(relation)} of {re.escape(subject)} (?:is|are) .*")
            for passage in passages:
                line = said.search(passage.text)
                if line is not None:
                    start, end = passage.start + line.start(), passage.start + line.end()
                    kind = "CONCEPT" if relation in ("occupation", "hobby", "gender", "date of birth") else "PERSON"
                    ends = (
                        _mention(passage, subject, "PERSON", start, end),
                        _mention(passage, target, kind, start, end),
                    )
                    mentions.update({(passage.index, item.entity_id, start): item for item in ends})
                    assertions.append(_assertion(ends, relation, line.group(), self.name))
        return Extraction(mentions=tuple(mentions.values()), assertions=tuple(assertions))


def _mention(passage: Passage, name: str, kind: str, start: int, end: int) -> Mention:
    key = name_key(name)
    return Mention(
        passage_index=passage.index,
        entity_id=entity_id(key, kind),
        key=key,
        name=name,
        type=kind,
        start=start,
        end=end,
        extractor="gold",
    )


def _assertion(ends: tuple[Mention, Mention], relation: str, line: str, extractor: str) -> Assertion:
    subject, target = ends
    return Assertion(
        passage_index=subject.passage_index,
        subject_id=subject.entity_id,
        subject_name=subject.name,
        subject_type=subject.type,
        predicate=relation.replace(" ", "_").upper(),
        object_id=target.entity_id,
        object_name=target.name,
        object_type=target.type,
        description=line,
        start=subject.start,
        end=subject.end,
        extractor=extractor,
    )


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def triples_of(folder: Path, *, dates: bool) -> dict[str, list[Triple]]:
    found: dict[str, list[Triple]] = defaultdict(list)
    for row in records(folder / "gold_triples.jsonl"):
        found[row["article"]].append((row["subject"], row["relation"], row["object"]))
    if dates:
        for article in records(folder / "corpus.jsonl"):
            for subject, date in re.findall(r"The date of birth of (.+) is (\S+)\.", article["text"]):
                found[article["title"]].append((subject, "date of birth", date))
    return found


def outcome_of(graph: Evigraph, question: Mapping[str, Any], known: Collection[str]) -> tuple[bool, str]:
    """Whether the answer is exactly the gold one; and what became of the question."""
    plan = plan_of(question["type"], question["question"], known)
    found = graph.plan(plan, query=question["question"]).evidence.plan
    note = ""
    if found is not None and found.reason is not None and found.reason.startswith("ambiguous"):
        note = "name settled; "
        anchors = {found.failed_step: found.alternatives}
        settled = [replace(s, entities=anchors[s.id]) if isinstance(s, Match) else s for s in plan.steps]
        found = graph.plan(Plan(steps=tuple(settled)), query=question["question"]).evidence.plan
    if found is None or found.reason is not None:
        return False, f"{note}abstained: {found.reason if found else 'no plan'}"
    bindings = found.steps[-1].bindings
    given = {binding.name if binding.count is None else str(binding.count) for binding in bindings}
    missing, extra = set(question["answer"]) - given, given - set(question["answer"])
    if not missing and not extra:
        return True, f"{note}exact"
    return False, f"{note}{len(missing)} missing, {len(extra)} too many: {sorted(missing)[:2]} {sorted(extra)[:2]}"


def score(graph: Evigraph, questions: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    by_type: dict[int, list[bool]] = defaultdict(list)
    failures = []
    known = {item.name for item in graph.schema().predicates}
    for question in questions:
        exact, note = outcome_of(graph, question, known)
        by_type[question["type"]].append(exact)
        if not exact:
            failures.append({"type": question["type"], "question": question["question"], "outcome": note})
    everything = [exact for results in by_type.values() for exact in results]
    return {
        "share": sum(everything) / len(everything),
        "abstained": sum("abstained" in failure["outcome"] for failure in failures),
        "wrong": sum("abstained" not in failure["outcome"] for failure in failures),
        "by_type": {kind: sum(results) / len(results) for kind, results in sorted(by_type.items())},
        "failures": failures,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", choices=("gold", "gold + dates", "text", IMPORTED))
    arguments = parser.parse_args()
    items = [
        {"document_id": row["id"], "title": row["title"], "text": row["text"]}
        for row in records(arguments.folder / "corpus.jsonl")
    ]
    questions = records(arguments.folder / "questions.jsonl")
    extractors: dict[str, Extractor] = {
        "gold": GoldExtractor(triples_of(arguments.folder, dates=False), "gold"),
        "gold + dates": GoldExtractor(triples_of(arguments.folder, dates=True), "gold-dates"),
        "text": SpacyExtractor(),
        IMPORTED: SpacyExtractor(),
    }
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, extractor) in enumerate(extractors.items()):
            if arguments.only not in (None, name):
                continue
            # Plans compare no vectors, so the quickest embedder will do.
            with Evigraph(f"{folder}/store", workspace=f"w{number}", embedder=HashEmbedder(), extractor=extractor) as g:
                if name == IMPORTED:
                    imported = g.import_graph(arguments.folder, format="openie", extract=True)
                    assert not imported.errors, imported.errors
                    print({what: count for what, count in imported.counts.items() if "assertions" in what})
                else:
                    report = g.index(items)
                    assert report.ok, report.errors
                results[name] = score(g, questions)
    print(f"{'type':>8} " + " ".join(f"{name:>16}" for name in results))
    for kind in sorted(TEMPLATES):
        print(f"{kind:>8} " + " ".join(f"{found['by_type'][kind]:>16.2f}" for found in results.values()))
    print(f"{'all':>8} " + " ".join(f"{found['share']:>16.3f}" for found in results.values()))
    for row in ("abstained", "wrong"):
        print(f"{row:>9}" + " ".join(f"{found[row]:>16}" for found in results.values()))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
