"""Does the scope-leak test notice when a single predicate is gone? `python tools/mutate_visibility.py [--only TEXT]`.

Every condition of every statement in the store is found by reading the code, so a new statement comes under the check
by itself. Each is removed alone in a copy of the sources, and the leak test runs against the copy: it has to fail.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STORE = Path("src/evigraph/store")
PROBES = Path("tests/properties/scope_mutants.py")

_KEYWORD = re.compile(r"\b(WHERE|AND|OR)\s+")
_END = re.compile(r"\s+(AND|OR|GROUP|ORDER|LIMIT|UNION|SETTINGS|HAVING|WINDOW)\b")
_EXPRESSION = re.compile(r"(?<![=<>])(?<!\bIN)(?<!\bNOT)(?<!\bBETWEEN)(?<!\bAND)\s+\{(?!\{)")
"""An f-string's expression that follows a complete condition."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutation:
    """Replace `text`, which begins at `offset` of the file, by `replacement`."""

    file: str
    function: str
    line: int
    offset: int
    text: str
    replacement: str = "1"

    @property
    def label(self) -> str:
        return f"{self.file}:{self.line} {self.function}"

    @property
    def shown(self) -> str:
        changed = "" if self.replacement in ("1", "") else f" → {self.replacement}"
        return re.sub(r"\s+", " ", self.text) + changed

    def applied(self, source: str) -> str:
        assert source[self.offset : self.offset + len(self.text)] == self.text
        return source[: self.offset] + self.replacement + source[self.offset + len(self.text) :]


@dataclass(frozen=True, kw_only=True, slots=True)
class Harmless:
    """Conditions whose absence no response can show. `condition` is a pattern of their text."""

    file: str
    function: str
    condition: str
    reason: str

    def covers(self, mutation: Mutation) -> bool:
        named = re.fullmatch(self.file, mutation.file) and re.fullmatch(self.function, mutation.function)
        return bool(named and re.fullmatch(self.condition, re.sub(r"\s+", " ", mutation.text)))


FRAGMENTS = ("_conditions", "_metadata_condition", "documents")
"""Functions of `visibility.py` whose texts are conditions without a keyword before them."""

OTHERS: tuple[tuple[str, str, str], ...] = (
    ("visibility.py", "LIMIT 1 BY document_id", ""),
    ("visibility.py", "revision DESC", "revision"),
    ("identity.py", "sorted(group & visible.keys())", "sorted(group)"),
    ("identity.py", "preferred if preferred in visible else kept[0]", "preferred"),
    ("conversations.py", "revision IN {self.scope.revisions}", "1"),
    ("communities.py", "support.1 IN {self.scope.revisions} AS visible", "1 AS visible"),
)
"""What decides on visibility without being a condition: file, text, replacement. Each text must be there once."""

REPLAYED = {"store.py": r"known|reserve|next_revisions|delete|_refuse_shared_generations", "deletion.py": r".*"}
"""Functions that run while worlds are played: worlds are played anew with the mutation."""

BY_NAME = "fetches by name or id: more rows come back, and are looked up by it"
NARROWS = "narrows what is read; what comes back says the same by itself"
HARMLESS: tuple[Harmless, ...] = (
    Harmless(
        file="(database|extractions|jobs|merging|retention|scopes|trees|vectors).py",
        function=".*",
        condition=".*",
        reason="jobs, replies by content, what prune removes and reembed embeds, sets left behind: no read of a scope",
    ),
    Harmless(file="store.py", function="known|next_revisions", condition="document_id IN .*", reason=BY_NAME),
    Harmless(
        file="assertions.py|planning.py|reading.py",
        function="assertions_at|assertions_named|stated|identities",
        condition=r"(assertion|entity)_id IN .*",
        reason=BY_NAME,
    ),
    Harmless(
        file="entities.py",
        function="_looked_up|_fetch_mentions_of|entity_ids",
        condition=r"key IN .*",
        reason=f"{NARROWS}: `shown IN`, or the comparison of names behind it",
    ),
    Harmless(
        file="entities.py|explore.py",
        function="_described|tallies",
        condition=r"(subject|object|entity|\{side\})_id IN \{\{entities.*",
        reason=BY_NAME,
    ),
    Harmless(
        file="communities.py",
        function="tree_summaries|documents_of",
        condition=r"(number|document_id) IN \{\{.*",
        reason=BY_NAME,
    ),
    Harmless(
        file="communities.py",
        function="first_passages",
        condition=r"entity_id IN .*|revision_key IN .*",
        reason="looked up by entity; the join with the scope's documents keeps the same rows",
    ),
    Harmless(
        file="conversations.py",
        function="threads|append_turn|_state|removals|turn_count",
        condition=".*",
        reason="whose a conversation is, and what prune removes: no read of a scope; the store's contract judges it",
    ),
    Harmless(
        file="conversations.py",
        function="turns|",
        condition=r"(workspace|thread) = .*",
        reason="whose turns are read, by a name of one workspace alone; what they show is in scope all the same",
    ),
    Harmless(
        file="passages.py",
        function="documents_with_trees",
        condition="model = .*",
        reason="tells whether there is any tree; the search that follows asks for the model",
    ),
    Harmless(
        file="knowledge_bases.py|pipelines.py",
        function=".*",
        condition=".*",
        reason="which bases and pipelines there are, and what prune removes: no read of a scope",
    ),
    Harmless(file="conversations.py", function="_documents", condition=r"revision_key IN .*", reason=BY_NAME),
    Harmless(
        file="windows.py",
        function="places|span_texts",
        condition=r"\{BY_KEY\}|revision_key IN .*|arrayExists.*|start .*",
        reason=BY_NAME,
    ),
    Harmless(
        file="entities.py",
        function="_nearest_facts",
        condition=r"workspace = \{\{.*|revision_key IN .*",
        reason="inside `ref IN`: an assertion's id is made of its predicate, and the rows around it are in scope",
    ),
    Harmless(file="explore.py", function="list_entities", condition="true", reason="no condition"),
    Harmless(
        file="explore.py",
        function="_of_type",
        condition=r"position\(entity.*",
        reason="tells types apart that hold a colon; not visibility",
    ),
    Harmless(
        file="exporting.py",
        function="_keys_after",
        condition=r"workspace = .*",
        reason="keys of another workspace fetch nothing: `_passage_pages` asks for the workspace again",
    ),
    Harmless(
        file="exporting.py",
        function="_keys_after|_passage_pages",
        condition="level = 0",
        reason="each of the two asks for what the other lets through",
    ),
    Harmless(
        file="exporting.py",
        function="_documents_of|_first_names|_mentions_of_page",
        condition=r"revision_key IN \{wanted.*|\{BY_KEY\}",
        reason=BY_NAME,
    ),
    Harmless(
        file="lifecycle.py",
        function="predicates",
        condition=".*",
        reason="how a spelling is read depends on it and the schema alone; of others no visible claim has any",
    ),
    Harmless(
        file="explore.py|lifecycle.py",
        function="statements_between|_still_made",
        condition=r"subject_id IN .*|\(\{?subject.*",
        reason=BY_NAME,
    ),
    Harmless(
        file="lifecycle.py",
        function="_ever_mentioned",
        condition="entity_id IN .*",
        reason=BY_NAME,
    ),
    Harmless(
        file="visibility.py|reading.py",
        function="_in_space|spaces",
        condition=".*",
        reason="`tests/query/test_spaces.py` fails without it; the worlds here are of one embedding model",
    ),
    Harmless(
        file="lifecycle.py",
        function="rival_claims",
        condition="predicate != .*",
        reason="the store's contract fails without it: `test_names_side_by_side_are_no_rival_claims`",
    ),
    Harmless(
        file="names.py",
        function="forms_that_are_names",
        condition=r"workspace = \{\{workspace:String\}\}|revision_key IN .*",
        reason="the store's contract fails without it: `test_a_form_is_the_name_of_what_the_scope_mentions`",
    ),
    Harmless(
        file="names.py|planning.py",
        function="forms_that_are_names|links",
        condition=r"\{same_type\}|meanings = 1|place <= .*",
        reason="chooses among rows of the scope: what counts as a proposal, the support of a hop; not visibility",
    ),
    Harmless(
        file="passages.py|reading.py",
        function="passage_keys|among",
        condition=".*",
        reason="asked for in scopes of several embedding spaces alone; the contract fails without:"
        " `test_passages_listed_are_those_of_texts_in_scope`",
    ),
    Harmless(
        file="entities.py",
        function="_fetch_ties",
        condition=r".*role != 'text'.*|weight >= .*",
        reason="which mentions count is no visibility; the contract fails without: `test_what_passages_are_tied_to`",
    ),
    Harmless(
        file="entities.py|passages.py",
        function="_fetch_mentions_in|_fetch_ties|_fetch_vectors",
        condition=r"\{BY_KEY\}",
        reason="what was not asked for is left out of what is handed on; every row is read then, and"
        " `test_a_read_by_key_touches_a_few_granules` fails",
    ),
    Harmless(
        file="names.py",
        function="names_like",
        condition=r"abs\(length.*|distance <= most",
        reason="chooses among names of the scope, which are compared letter by letter afterwards; not visibility",
    ),
    Harmless(
        file="names.py",
        function="entity_vectors",
        condition="kind = 'entity'",
        reason="an assertion's `ref` is a hash, which is no entity's id",
    ),
    Harmless(
        file="names.py",
        function="forms|entity_vectors|together",
        condition=r"(form|ref|subject_id|object_id) IN \{\{.*",
        reason=BY_NAME,
    ),
    Harmless(
        file="passages.py",
        function="_fetch_capitalised",
        condition=r"workspace = .*|\{BY_KEY\}",
        reason="the store's contract fails without it: `test_capitalised_runs_are_those_of_the_passages_asked_for`",
    ),
    Harmless(
        file="passages.py",
        function="_fetch_labels|term_frequencies",
        condition=r"(revision_key|term) IN .*",
        reason=BY_NAME,
    ),
    Harmless(
        file="statements.py",
        function="statements_named|published|_texts",
        condition=r"(subject_id|assertion_id) IN .*|revision_key IN \{revisions.*|\{BY_KEY\}",
        reason=BY_NAME,
    ),
    Harmless(
        file="statements.py",
        function="published",
        condition="NOT deleted",
        reason="a deletion has a revision of its own, under which no row stands",
    ),
)


def replays(mutation: Mutation) -> bool:
    """Whether the mutated function runs while a world is played, rather than when it is asked about."""
    return bool(re.fullmatch(REPLAYED.get(mutation.file, "(?!)"), mutation.function))


# --------------------------------------------------------------------------- finding conditions


def mutations(store: Path) -> list[Mutation]:
    """Every mutation of the store's sources, by file and place."""
    found: list[Mutation] = []
    for path in sorted(store.glob("*.py")):
        if path.name != "migrations.py":
            found += _in_file(path.name, path.read_text())
    return found


def _in_file(name: str, source: str) -> list[Mutation]:
    found: dict[tuple[int, str], Mutation] = {}
    for function, start, text in _texts(source):
        spans = list(_conditions(text))
        if name == "visibility.py" and function in FRAGMENTS:
            spans += _fragment(text)
        for begin, end in spans:
            offset = start + begin
            key = offset, text[begin:end]
            line = source.count("\n", 0, offset) + 1
            found[key] = Mutation(file=name, function=function, line=line, offset=offset, text=text[begin:end])
    for file, text, replacement in OTHERS:
        if file == name:
            if source.count(text) != 1:
                raise SystemExit(f"{file}: {text!r} is there {source.count(text)} times; bring OTHERS up to date")
            offset = source.index(text)
            line = source.count("\n", 0, offset) + 1
            one = Mutation(file=file, function="", line=line, offset=offset, text=text, replacement=replacement)
            found[offset, text] = one
    return [found[key] for key in sorted(found)]


def _texts(source: str) -> Iterator[tuple[str, int, str]]:
    """Enclosing function, offset and source text of every string that is no docstring."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    def visit(node: ast.AST, function: str) -> Iterator[tuple[str, int, str]]:
        for child in ast.iter_child_nodes(node):
            inside = child.name if isinstance(child, ast.FunctionDef) else function
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue
            if isinstance(child, ast.JoinedStr) or (isinstance(child, ast.Constant) and isinstance(child.value, str)):
                begin = offset(child.lineno, child.col_offset)
                yield inside, begin, source[begin : offset(child.end_lineno or 0, child.end_col_offset or 0)]
                # The expressions of an f-string may hold texts, whose places Python 3.11 does not tell.
                continue
            yield from visit(child, inside)

    yield from visit(ast.parse(source), "")


def _conditions(text: str) -> Iterator[tuple[int, int]]:
    """Where the conditions of a statement begin and end, those inside compound ones included."""
    for keyword in _KEYWORD.finditer(text):
        opened = text[: keyword.start()]
        if opened.count("{") != opened.count("}") or re.search(r"BETWEEN\s+\S+(\s+FOLLOWING)?\s+$", opened):
            continue
        begin = keyword.end()
        end = _condition_end(text, begin)
        if end > begin:
            yield begin, end
        if text[begin] == "(" and not text.startswith("(SELECT", begin) and _closing(text, begin) == end - 1:
            yield begin + 1, _condition_end(text, begin + 1)


def _condition_end(text: str, begin: int) -> int:
    depth, position = 0, begin
    between = False
    while position < len(text):
        char = text[position]
        depth += (char in "({[") - (char in ")}]")
        if depth < 0 or (depth == 0 and char in "\"'" and not text[begin:position].count("'") % 2 and char == '"'):
            break
        if depth == 0 and position > begin:
            stop = _END.match(text, position)
            if stop and not (between and stop.group(1) == "AND"):
                break
            if char == "," or _EXPRESSION.match(text, position):
                break
            between = (between or text.startswith("BETWEEN", position)) and not (between and bool(stop))
        position += 1
    return begin + len(text[begin:position].rstrip())


def _closing(text: str, opening: int) -> int:
    depth = 0
    for position in range(opening, len(text)):
        depth += (text[position] in "({[") - (text[position] in ")}]")
        if not depth:
            return position
    return -1


def _fragment(text: str) -> list[tuple[int, int]]:
    """A text that is a condition as a whole, without its quotes."""
    prefix = text.index('"') + 1 if '"' in text else 0
    whole = prefix, len(text) - 1
    first = [(prefix + 1, _condition_end(text, prefix + 1))] if re.match(r'f?"\((?!\{)', text) else []
    condition = (
        re.search(r" IN | <?>?= |match\(|NOT | OR ", text) and "SELECT" not in text and text[prefix:-1] != " AND "
    )
    return [whole, *first] if condition else []


def reason_harmless(mutation: Mutation) -> str | None:
    return next((one.reason for one in HARMLESS if one.covers(mutation)), None)


# --------------------------------------------------------------------------- judging them


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """`state`: killed, survived, invalid (the engine refused the statement) or harmless; `why`: how it showed."""

    mutation: Mutation
    state: str
    why: str
    seconds: float = 0.0


def by_worlds(chosen: Sequence[Mutation], worlds: int) -> Iterator[Verdict]:
    """Judge mutations on worlds: those that were played before, or, where it writes, on ones played with it."""
    mutants = [
        {
            "module": Path(one.file).stem,
            "source": one.applied((ROOT / STORE / one.file).read_text()),
            "writes": replays(one),
        }
        for one in chosen
    ]
    path = [ROOT / "src", ROOT / "tests", ROOT / PROBES.parent]
    environment = {**os.environ, "PYTHONPATH": ":".join(map(str, path))}
    command = [sys.executable, str(ROOT / PROBES), str(worlds)]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(mutants))
        process.stdin.close()
        sound = json.loads(process.stdout.readline() or '{"outcome": "did not start", "why": ""}')
        if sound["outcome"] != "survived":
            raise SystemExit(f"the probes fail without any mutation: {sound}")
        print(f"{sound['cases']} cases, {sound['probes']} probes", file=sys.stderr)
        for one, line in zip(chosen, process.stdout, strict=True):
            found = json.loads(line)
            yield Verdict(mutation=one, state=found["outcome"], why=found["why"][:200], seconds=found["seconds"])


def run_all(only: str, worlds: int) -> list[Verdict]:
    """Judge each mutation; harmless ones are not run."""
    chosen = [one for one in mutations(ROOT / STORE) if only in f"{one.label} {one.shown}"]
    reasons = {one: reason_harmless(one) for one in chosen}
    verdicts = {one: Verdict(mutation=one, state="harmless", why=reason) for one, reason in reasons.items() if reason}
    judged = [one for one in chosen if one not in verdicts]
    for verdict in by_worlds(judged, worlds) if judged else ():
        verdicts[verdict.mutation] = verdict
        told = f"{verdict.mutation.label}: {verdict.mutation.shown[:60]}: {verdict.why}"
        print(f"{verdict.state:9}{verdict.seconds:6.1f} s  {told}", file=sys.stderr, flush=True)
    return [verdicts[one] for one in chosen]


def table(verdicts: Sequence[Verdict]) -> str:
    lines = ["| place | removed | outcome | how it showed, or why it cannot |", "| --- | --- | --- | --- |"]
    for verdict in verdicts:
        cells = (verdict.mutation.label, f"`{verdict.mutation.shown}`", verdict.state, verdict.why)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a text that the mutation's file, function or condition holds")
    parser.add_argument("--worlds", type=int, default=3, help="random worlds beside those made by hand")
    parser.add_argument("--list", action="store_true", help="list the mutations, run none")
    options = parser.parse_args(arguments)
    if options.list:
        for one in mutations(ROOT / STORE):
            print(f"{'  ' if reason_harmless(one) is None else '- '}{one.label}: {one.shown}")
        return 0
    started = time.monotonic()
    verdicts = run_all(options.only, options.worlds)
    print(table(verdicts))
    states = {
        state: sum(one.state == state for one in verdicts) for state in ("killed", "survived", "invalid", "harmless")
    }
    print(f"\n{', '.join(f'{number} {state}' for state, number in states.items())}; {time.monotonic() - started:.0f} s")
    return int(bool(states["survived"] or states["invalid"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
