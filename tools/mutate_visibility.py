"""Does the scope-leak test notice when a single predicate is gone? `python tools/mutate_visibility.py [--only TEXT]`.

Every condition of every statement in the store is found by reading the code, so a new statement comes under the check
by itself. Each is removed alone in a copy of the sources, and the leak test runs against the copy: it has to fail.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STORE = Path("src/evigraph/store")
LEAK_TEST = "tests/properties/test_scope_leak.py"
PROBES = Path("tests/properties/scope_mutants.py")

_KEYWORD = re.compile(r"\b(WHERE|AND|OR)\s+")
_END = re.compile(r"\s+(AND|OR|GROUP|ORDER|LIMIT|UNION|SETTINGS|HAVING|WINDOW)\b")
_EXPRESSION = re.compile(r"(?<![=<>])(?<!\bIN)\s+\{(?!\{)")
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
)
"""What decides on visibility without being a condition: file, text, replacement. Each text must be there once."""

WRITERS = {"store.py": r"known|reserve|revisions"}
"""Functions that are run while worlds are played."""

ELSEWHERE = "shows in no answer about the graph"
HARMLESS: tuple[Harmless, ...] = (
    Harmless(file="database.py", function=".*", condition=".*", reason=f"records of jobs; {ELSEWHERE}"),
    Harmless(
        file="extractions.py", function=".*", condition=".*", reason="cache of extraction, by content, for ingest"
    ),
    Harmless(file="merging.py", function=".*", condition=".*", reason="what prune rewrites; tested with prune"),
    Harmless(file="retention.py", function=".*", condition=".*", reason="what prune removes; tested with prune"),
    Harmless(file="vectors.py", function=".*", condition=".*", reason="what reembed embeds; tested with it"),
    Harmless(
        file="store.py",
        function="_refuse_shared_generations",
        condition=".*",
        reason="finds a second writer; without a condition it refuses too much",
    ),
    Harmless(
        file="store.py",
        function="document_text",
        condition=".*",
        reason="the text of one revision that the caller names, not of a scope",
    ),
    Harmless(
        file="assertions.py|explore.py|entities.py|exporting.py|statements.py|planning.py|passages.py|schema.py",
        function="assertions_at|assertions_named|names|mentions_of|entity_ids|_described|tallies|statements_between"
        "|statements_named|stated|entity_labels|keys_of|surface_names|similarities|passage_vectors|chunks",
        condition=r"(assertion|entity|subject|object)_id IN \{\{.*|(key|shown) IN \{\{.*|\(\{subject\}, .*\) IN .*",
        reason="which of the visible rows are fetched; they are looked up by name or id, so more change nothing",
    ),
    Harmless(
        file=".*",
        function=".*",
        condition=r"model = \{\{?model:String\}?\}",
        reason="which of several embedding models' vectors; not visibility, tested with reembed",
    ),
    Harmless(
        file="explore.py",
        function="search_entities|list_entities|_of_type",
        condition=r"arrayExists\(.*|true|position\(entity.*",
        reason="how well a name matches; no condition; types that hold a colon",
    ),
    Harmless(
        file="exporting.py",
        function=".*",
        condition=r"\(.*\) > \(.*",
        reason="where a page begins; without it the export does not end",
    ),
    Harmless(file=".*", function="prune_horizon", condition=".*", reason="refuses moments before a prune"),
    Harmless(
        file="visibility.py",
        function="",
        condition="kind = 'prune'|UNBOUNDED FOLLOWING",
        reason="how far a prune reached (tested with it); bounds of a window",
    ),
    Harmless(
        file="visibility.py",
        function="published",
        condition=".*until_generation.*",
        reason="leaves out of the history what was pruned; tested with prune",
    ),
)


def writes(mutation: Mutation) -> bool:
    """Whether the mutated function runs while a world is played, rather than when it is asked about."""
    return bool(re.fullmatch(WRITERS.get(mutation.file, "(?!)"), mutation.function))


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
        if opened.count("{") != opened.count("}") or re.search(r"BETWEEN\s+\S+\s+$", opened):
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
            if _EXPRESSION.match(text, position):
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


class Workbench:
    """A copy of the sources and tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in ("src", "tests"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        path = [folder / "src", folder / "tests", folder / PROBES.parent]
        self._environment = {
            **os.environ,
            "PYTHONPATH": ":".join(map(str, path)),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def mutations(self) -> list[Mutation]:
        return mutations(self.folder / STORE)

    def at_reading(self, chosen: Sequence[Mutation], worlds: int) -> Iterator[Verdict]:
        """Judge mutations of statements that read: on worlds that were played before."""
        mutants = [
            {"module": Path(one.file).stem, "source": one.applied((self.folder / STORE / one.file).read_text())}
            for one in chosen
        ]
        command = [sys.executable, str(self.folder / PROBES), str(worlds)]
        with subprocess.Popen(
            command, cwd=self.folder, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
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

    def at_writing(self, mutation: Mutation) -> Verdict:
        """Judge a mutation of what writes: the leak test, in a process of its own, plays its worlds with it."""
        path = self.folder / STORE / mutation.file
        source = path.read_text()
        path.write_text(mutation.applied(source))
        started = time.monotonic()
        command = [sys.executable, "-m", "pytest", LEAK_TEST, "-x", "-q", "-m", "not verify"]
        command += ["-p", "no:cacheprovider", "--tb=short"]
        try:
            done = subprocess.run(
                command,
                cwd=self.folder,
                env=self._environment,
                capture_output=True,
                text=True,
                timeout=900,
                check=False,
            )
        finally:
            path.write_text(source)
        if done.returncode > 1:
            raise SystemExit(f"the leak test did not run:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        marked = [line[1:].strip() for line in done.stdout.splitlines() if re.match(r"E\s+\S", line)]
        telling = [line for line in marked if re.match(r"[.\[].*: .* is not |.*shows \[|.*(Error|refused)", line)]
        why = " / ".join((telling or marked)[:2])[:200]
        state = "survived" if not done.returncode else "invalid" if "refused a statement" in why else "killed"
        return Verdict(mutation=mutation, state=state, why=why, seconds=time.monotonic() - started)


def run_all(only: str, worlds: int) -> list[Verdict]:
    """Judge each mutation; harmless ones are not run."""
    with tempfile.TemporaryDirectory() as temporary:
        bench = Workbench(Path(temporary))
        chosen = [one for one in bench.mutations() if only in f"{one.label} {one.shown}"]
        reasons = {one: reason_harmless(one) for one in chosen}
        verdicts = {
            one: Verdict(mutation=one, state="harmless", why=reason) for one, reason in reasons.items() if reason
        }
        judged = [one for one in chosen if one not in verdicts]
        reading = [one for one in judged if not writes(one)]
        found = bench.at_reading(reading, worlds) if reading else iter(())
        for verdict in itertools.chain(found, map(bench.at_writing, filter(writes, judged))):
            verdicts[verdict.mutation] = verdict
            print(
                f"{verdict.state:9}{verdict.seconds:6.1f} s  {verdict.mutation.label}: {verdict.why}", file=sys.stderr
            )
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
    parser.add_argument("--worlds", type=int, default=12, help="worlds that readers are judged by, ten cases each")
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
