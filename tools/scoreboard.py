"""Measure the development sets and write `docs/scoreboard.md`.

    python tools/scoreboard.py [FOLDER] [--only SET ...] [--resume] [--fresh] [--cases DIR] [--stores DIR] [--render]

FOLDER (default `../shared/data`) holds the sets; those that are not in it are left out, the sample corpus is always at
hand. Each row of each set is one file of raw cases, and the page is made of these files alone, so a run can be cut in
parts: without `--only`, what has no cases yet is measured; with it, the named sets are measured anew, or with
`--resume` only their missing rows. `--render` measures nothing. Indexed stores are kept, and the page says where an
index is older than the code that asked it; `--fresh` indexes again.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import evigraph
from evigraph import Evigraph
from evigraph.errors import EvigraphError
from evigraph.evaluate import Dataset, EvalReport, evaluate, load_dataset, read_cases, read_lists, score_lists
from evigraph.evaluate.tables import joined, score_table, type_table
from evigraph.sample import corpus_path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "scoreboard.md"
BASELINE = "hybrid-rrf"
NAMES = {
    "dense": "dense",
    "bm25": "BM25",
    BASELINE: "own hybrid",
    "keyword_lookup": "`keyword_lookup`",
    "local": "`local`",
    "global": "`global`",
    "hybrid": "`hybrid`",
    "mix": "`mix` (default)",
}
"""Rows, as modes of `evaluate`, and what they are called on the page."""
PUBLISHED, BEGUN = "published", "published_begun"
LIST_DEPTH = 8
"""Titles in a published list at most: what lies deeper is not known."""

Opener = Callable[[Path], Any]


@dataclass(frozen=True, kw_only=True)
class DevSet:
    """A development set: its folder (None: the sample corpus), which corpus and questions of it, the metric that gains
    are told in, a file of published lists to score beside ours, and what a reader must know."""

    key: str
    folder: str | None
    about: str
    corpus: str | None = None
    only: str | None = None
    sample: int | None = None
    gain: str = "recall@5"
    lists: str | None = None


SETS = (
    DevSet(key="musique_train100", folder="musique_train100", about="Multi-hop questions of MuSiQue, 2 to 4 hops."),
    DevSet(key="hotpotqa_train100", folder="hotpotqa_train100", about="Two-hop questions of HotpotQA."),
    DevSet(key="2wiki_train500", folder="2wiki_train500", about="Multi-hop questions of 2WikiMultiHopQA, by template."),
    DevSet(
        key="2wiki_fast51_780",
        folder="2wiki_fast51",
        corpus="780",
        only="in_51",
        lists="baseline_retrieved_titles.jsonl",
        about="The 51 questions of the fast-graphrag benchmark over the pool its systems drew on, to within a few"
        " distractors. The lists that four systems published for it are scored by the same code.",
    ),
    DevSet(
        key="2wiki_fast51_6119",
        folder="2wiki_fast51",
        corpus="full6119",
        only="in_51",
        about="The same 51 questions over the full corpus. No published lists: those were made over the small pool.",
    ),
    DevSet(
        key="scifact_train",
        folder="scifact_train",
        sample=300,
        gain="nDCG@10",
        about="Claims of SciFact, 300 drawn of 809: one document answers, so a graph can only do harm here.",
    ),
    DevSet(key="sample", folder=None, about="The sample corpus that ships with evigraph, with its labelled questions."),
)

INTRO = """\
How well each mode ranks the documents that a question needs, on development sets. Metrics are means in percent over
the questions that have gold documents. The last column is what a row gains over own hybrid, in points, paired by
question, with the 95 % bootstrap interval; own hybrid is `naive` with `hybrid`: dense and BM25 by standard score, no
graph. Times are of one retrieval, one question at a time. No chat model took part. Read the last section before
quoting anything."""

CLAIMS = """\
## What these numbers allow one to claim, and what not

They compare ways of retrieving inside one engine: the same corpus, passages, embedder, budgets and scoring code, on the
same questions. Where a gain's interval excludes 0, the row and own hybrid differ on questions drawn like these. The
page has many intervals; even where nothing differs, about one in twenty excludes 0 by chance, so a lone one proves
little.

They do not allow more than that:

- **Nothing here is held out.** Constants and the gate of `mix` were chosen while looking at musique_train100,
  hotpotqa_train100 and the small pool of the 51 questions; 2wiki_train500 and scifact_train were looked at on the way.
  Expect `mix` to gain less elsewhere. The gain over own hybrid carries over better than the level does.
- **Small differences say nothing.** At 100 to 200 questions that is anything below about 5 points; at 51, one question
  is 2 points of all-gold.
- **2Wiki is made from templates**, its titles are clean names of entities, each document is a paragraph. Linking names
  nearly solves it. It is a poor stand-in for documents that people wrote, whoever leads on it.
- **Levels are not those of papers.** The sets are samples of training questions over corpora made of their own
  paragraphs, several times smaller than what papers search; 51 of 1,000 questions over the full 2Wiki corpus are no
  more comparable; SciFact is usually reported on its 300 test claims, here are training claims.
- **Beside the published systems** only ranked lists are compared, on 51 questions. Theirs came from other embedding
  models and, but for the vector store, from graphs that a language model extracted; what that cost, and what answers
  they gave, is not measured. Their lists end at 8 titles. We could look at these questions while building; that they
  could not is an advantage of ours. The pool was put together again afterwards.
- **The sample corpus was written by the makers of this software.** It shows kinds of question apart, not quality.
- **A document found is not a question answered.** Passages ranked are the condition of a good answer, not the answer.
- **Times** depend on the machine and on what else it does; compare rows of one set, not sets.
"""


# --------------------------------------------------------------------------- measuring


def load(one: DevSet, folder: Path) -> Dataset:
    dataset = load_dataset(place(one, folder), corpus=one.corpus)
    return dataset.only(one.only) if one.only else dataset


def place(one: DevSet, folder: Path) -> Path:
    return corpus_path().parent if one.folder is None else folder / one.folder


def measure(one: DevSet, folder: Path, cases: Path, stores: Path, *, resume: bool, fresh: bool, opener: Opener) -> None:
    """Write the cases of the set's rows, each when it is complete."""
    missing = [mode for mode in NAMES if not resume or not case_file(cases, one, mode).is_file()]
    lists_missing = one.lists is not None and (not resume or not case_file(cases, one, BEGUN).is_file())
    if not missing and not lists_missing:
        return
    dataset = load(one, folder)
    if not resume:
        shutil.rmtree(cases / one.key, ignore_errors=True)
    if lists_missing:
        publish(one, dataset, folder, cases)
    if not missing:
        return
    code = code_hash()
    stamp = prepare_store(one, dataset, stores, code, fresh=fresh)
    with opener(stores / one.key) as engine:
        if engine.chat is not None:
            raise SystemExit("a chat model is configured, and the page says that none took part: unset EVIGRAPH_CHAT_*")
        say(f"{one.key}: indexing {len(dataset.corpus_ids)} documents")
        indexed = engine.index(list(dataset.items))
        if indexed.errors:
            raise SystemExit(f"{one.key}: {len(indexed.errors)} documents were refused: {indexed.errors[0]}")
        for mode in missing:
            say(f"{one.key}: {mode}")
            report = evaluate(
                engine,
                dataset,
                modes=(mode,),
                answers="none",
                index=False,
                sampled=one.sample,
                embedder=engine.embedder.name,
            )
            run = {**report.run, "code": code, "indexed_by": stamp["code"], "cores": os.cpu_count()}
            write(dataclasses.replace(report, run=run), case_file(cases, one, mode))


def prepare_store(one: DevSet, dataset: Dataset, stores: Path, code: str, *, fresh: bool) -> dict[str, str]:
    """What is on record of the set's store: the corpus in it and the code that began to index it. A store of another
    corpus, or of which nothing is on record, is removed: what it holds beside this corpus would be measured too."""
    record = stores / f"{one.key}.json"
    known = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
    if fresh or known.get("corpus_hash") != dataset.corpus_hash:
        shutil.rmtree(stores / one.key, ignore_errors=True)
        known = {"corpus_hash": dataset.corpus_hash, "code": code}
        stores.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(known), encoding="utf-8")
    return dict(known)


def publish(one: DevSet, dataset: Dataset, folder: Path, cases: Path) -> None:
    """Write the cases of the published lists: as they are, and with cut titles read as the one title they begin."""
    assert one.lists is not None
    lists = read_lists(place(one, folder) / one.lists)
    for name, begun in ((PUBLISHED, False), (BEGUN, True)):
        report = EvalReport(
            dataset=dataset.name,
            corpus_documents=len(dataset.corpus_ids),
            run={"corpus_hash": dataset.corpus_hash, "embedder": "theirs", "k": LIST_DEPTH},
            rankings=score_lists(dataset, lists, k=LIST_DEPTH, begun=begun),
        )
        write(report, case_file(cases, one, name))


def case_file(cases: Path, one: DevSet, name: str) -> Path:
    return cases / one.key / f"{name}.jsonl"


def write(report: EvalReport, path: Path) -> None:
    """The file is there when it is complete, and not before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    begun = path.with_suffix(".part")
    report.write_jsonl(begun)
    begun.replace(path)


@cache
def code_hash() -> str:
    """Of the installed package, as this process found it: rows of one hash were measured by the same code."""
    package = Path(evigraph.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


# --------------------------------------------------------------------------- the page


def page(sets: Sequence[DevSet], cases: Path) -> str:
    """The page, from the cases alone."""
    lines = ["# Scoreboard", "", "<!-- Written by `make scoreboard` from measured cases. -->", "", INTRO, ""]
    unmeasured = []
    for one in sets:
        section = list(_section(one, cases))
        lines += section
        if not section:
            unmeasured.append(one.key)
    if unmeasured:
        lines += [f"Not measured: {', '.join(unmeasured)}.", ""]
    return "\n".join([*lines, CLAIMS.rstrip()]) + "\n"


def _section(one: DevSet, cases: Path) -> Iterator[str]:
    reports = [read_cases(path) for mode in NAMES if (path := case_file(cases, one, mode)).is_file()]
    if not reports:
        return
    ours = joined(reports)
    yield from (f"## {one.key}", "", one.about, "", _facts(one, ours, [report.run for report in reports]), "")
    lists = case_file(cases, one, PUBLISHED)
    published = read_cases(lists) if lists.is_file() else None
    whole = ours if published is None else joined([ours, published])
    theirs = () if published is None else published.modes
    yield from score_table(whole, baseline=BASELINE, gain=one.gain, names=NAMES, untimed=theirs)
    yield ""
    if by_type := type_table(ours, one.gain, NAMES):
        yield from (*by_type, "")
    warnings = [*_warnings(ours), *_mixed([report.run for report in reports])]
    if len(reports) < len(NAMES):
        there = ours.modes
        warnings.append(f"not measured yet: {', '.join(mode for mode in NAMES if mode not in there)}")
    if published is not None:
        warnings += _cut_titles(published, read_cases(case_file(cases, one, BEGUN)))
    yield from (f"- {warning}" for warning in warnings)
    yield from [""] * bool(warnings)


def _facts(one: DevSet, report: EvalReport, runs: Sequence[Mapping[str, Any]]) -> str:
    """What the numbers of a set depend on, in a line."""

    def every(name: str) -> str:
        return ", ".join(dict.fromkeys(str(run.get(name, "unknown")) for run in runs))

    questions = len({case.question_id for case in report.rankings})
    dates = sorted({str(run.get("date", "unknown"))[:10] for run in runs})
    period = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return (
        f"{report.corpus_documents:,} documents, corpus `{report.run['corpus_hash'][:12]}`;"
        f" {questions} questions; {every('embedder')}; evigraph {every('evigraph')}, code"
        f" `{every('code')}`; {every('cores')} cores; {period}; `python tools/scoreboard.py --only {one.key}`."
    )


def _warnings(report: EvalReport) -> Iterator[str]:
    for mode in report.modes:
        cases = [case for case in report.rankings if case.mode == mode]
        for what, number in (
            ("failed and score 0", sum(1 for case in cases if case.error)),
            ("did otherwise than asked, and said so", sum(1 for case in cases if case.degraded)),
        ):
            if number:
                yield f"{NAMES[mode]}: {number} of {len(cases)} retrievals {what}"


def _mixed(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if len({(run.get("code"), run.get("embedder"), run.get("sample")) for run in runs}) > 1:
        yield "the rows were measured by different code or models: measure the set anew before comparing them"
    if any(run.get("indexed_by") != run.get("code") for run in runs):
        yield "the index is older than the code that was asked: `--fresh` indexes again"


def _cut_titles(strict: EvalReport, begun: EvalReport) -> Iterator[str]:
    """How much of the published lists names no document, and what reading those titles generously would change."""
    for system in strict.modes:
        lost = sum(case.notes.get("unknown_titles", 0) for case in strict.rankings if case.mode == system)
        if lost:
            means = [100 * report.row(system).metrics["all-gold@8"].mean for report in (strict, begun)]
            yield (
                f"{system}: {lost} titles, cut short as published, name no document; read as the one title that they"
                f" begin, all-gold@8 is {means[1]:.1f} instead of {means[0]:.1f}"
            )


# --------------------------------------------------------------------------- command


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Errors with their remedy, and no traceback."""
    try:
        yield
    except EvigraphError as error:
        raise SystemExit(f"{what}: {error} ({error.hint})") from error


def main(
    arguments: Sequence[str] | None = None,
    *,
    sets: Sequence[DevSet] = SETS,
    opener: Opener = Evigraph,
    out: Path = PAGE,
) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--only", action="append", choices=[one.key for one in sets], metavar="SET")
    parser.add_argument("--resume", action="store_true", help="with --only: keep the rows that are there")
    parser.add_argument("--fresh", action="store_true", help="index again")
    parser.add_argument("--cases", type=Path, default=ROOT / ".scoreboard", metavar="DIR")
    parser.add_argument("--stores", type=Path, metavar="DIR", help="default: stores/ in the cases' folder")
    parser.add_argument("--render", action="store_true", help="write the page from the cases that are there")
    options = parser.parse_args(arguments)
    wanted = [one for one in sets if not options.only or one.key in options.only]
    for one in [] if options.render else wanted:
        if not place(one, options.folder).is_dir():
            say(f"{one.key}: not in {options.folder}, left out")
            continue
        resume, stores = options.resume or not options.only, options.stores or options.cases / "stores"
        with explained(one.key):
            measure(one, options.folder, options.cases, stores, resume=resume, fresh=options.fresh, opener=opener)
    if not any(case_file(options.cases, one, mode).is_file() for one in sets for mode in NAMES):
        raise SystemExit(f"there are no cases in {options.cases}: measure first")
    out.parent.mkdir(parents=True, exist_ok=True)
    with explained("the page"):
        out.write_text(page(sets, options.cases), encoding="utf-8")
    say(f"wrote {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
