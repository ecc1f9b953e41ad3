"""What each step of `mix` is worth: recall@5 without it, paired with the whole by question.

    python tools/ablation.py [FOLDER] [--only SET ...] [--stores DIR]

FOLDER (default `../shared/data`) holds the development sets. Writes `docs/ablation.md`. Indexed stores are those of
`tools/scoreboard.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from scoreboard import ROOT, SETS, DevSet, Opener, code_hash, explained, load, place, prepare_store, say

from evigraph import Evigraph, __version__
from evigraph.evaluate import Dataset
from evigraph.evaluate.metrics import bootstrap, paired_difference
from evigraph.evaluate.run import evaluate
from evigraph.query.parameters import altered

PAGE = ROOT / "docs" / "ablation.md"
MEASURED = ("musique_train100", "hotpotqa_train100", "sample")
METRIC = "recall@5"

WITHOUT: Mapping[str, Mapping[str, float]] = {
    "the whole": {},
    "the graph (plain score alone)": {"title_like": 2.0, "plain_weight": 1e9},
    "the gate: graph score wherever there is a name": {"title_like": 0.0},
    "the gate: both scores always": {"title_like": 2.0},
    "nearness to residual and bridge questions": {"residual_weight": 0.0},
    "bridge questions": {"asked_about": 0},
    "the step outward from the best passages": {"bridges": 0},
    "names that the extractor missed": {"read": 0},
    "titles tying more closely than mentions": {"alias_weight": 1.0},
    "leaving common nouns out": {"name_like": 0.0},
    "names in the restart": {"seed_share": 0.0},
    "passages in the restart": {"seed_share": 1.0},
    "favouring passages near the residual question": {"gain": 0.0},
    "the walk (one round)": {"rounds": 1},
}
"""What is taken away, as other values of `parameters.MIX`."""

INTRO = """\
What each step of `mix` is worth. Each row is the whole without one step: mean recall@5 in percent with its 95 %
bootstrap interval, then the difference from the whole on the same questions, in points. An interval that holds 0 says
that these questions do not tell; so do rows that gain: the numbers were chosen on averages of these sets, and a step
stays where it helps one of them or costs nothing. No chat model took part."""


def measure(one: DevSet, dataset: Dataset, engine: Evigraph) -> Iterator[tuple[str, list[float]]]:
    """What is left out, and the metric of each question."""
    for name, values in WITHOUT.items():
        say(f"{one.key}: {name}")
        with altered(**values):
            report = evaluate(engine, dataset, modes=("mix",), answers="none", index=False, sampled=one.sample)
        failed = [case.error for case in report.rankings if case.error]
        if failed:
            raise SystemExit(f"{one.key}, {name}: {len(failed)} questions failed, the first with {failed[0]}")
        yield name, [case.metrics[METRIC] for case in report.rankings]


def section(one: DevSet, dataset: Dataset, embedder: str, rows: Sequence[tuple[str, list[float]]]) -> Iterator[str]:
    yield f"## {one.key}"
    yield ""
    yield (
        f"{len(dataset.corpus_ids):,} documents, corpus `{dataset.corpus_hash[:12]}`; {len(rows[0][1])} questions;"
        f" {embedder}; evigraph {__version__}, code `{code_hash()}`; {datetime.now(UTC).date()};"
        f" `python tools/ablation.py --only {one.key}`."
    )
    yield ""
    yield f"| without | {METRIC} | difference |"
    yield "| --- | --- | --- |"
    whole = rows[0][1]
    for name, values in rows:
        level = bootstrap({"": values})[""]
        cells = [name, f"{100 * level.mean:.1f} [{100 * level.low:.1f}, {100 * level.high:.1f}]", ""]
        if values is not whole:
            gap = paired_difference(values, whole)
            cells[2] = f"{100 * gap.mean:+.1f} [{100 * gap.low:+.1f}, {100 * gap.high:+.1f}]"
        yield f"| {' | '.join(cells)} |"
    yield ""


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
    parser.add_argument("--stores", type=Path, default=ROOT / ".scoreboard" / "stores", metavar="DIR")
    options = parser.parse_args(arguments)
    lines = ["# Ablation of `mix`", "", "<!-- Written by `make ablation`. -->", "", INTRO, ""]
    for one in sets:
        if one.key not in (options.only or MEASURED):
            continue
        if not place(one, options.folder).is_dir():
            say(f"{one.key}: not in {options.folder}, left out")
            continue
        with explained(one.key):
            dataset = load(one, options.folder)
            prepare_store(one, dataset, options.stores, code_hash(), fresh=False)
            with opener(options.stores / one.key) as engine:
                engine.index(list(dataset.items))
                lines += section(one, dataset, engine.embedder.name, list(measure(one, dataset, engine)))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    say(f"wrote {out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
