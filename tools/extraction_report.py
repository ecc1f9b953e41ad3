"""What the extractor makes of recorded model answers, and of damaged variants of them.

    python tools/extraction_report.py FOLDER

FOLDER holds `nano_graphrag_gpt-4o_cache.json` (or has it in `christmas_carol_graphrag/`).
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from evigraph.ingest.extractors.llm.parse import parse
from evigraph.testing.replies import damage, marks

NAME = "nano_graphrag_gpt-4o_cache.json"


def main(folder: Path) -> None:
    path = next(path for path in (folder / NAME, folder / "christmas_carol_graphrag" / NAME) if path.is_file())
    answers = [entry["return"] for entry in json.loads(path.read_text()).values()]
    parsed = [parse(answer) for answer in answers]
    usable = [one for one in parsed if one.usable]
    dropped = sum((one.dropped for one in parsed), Counter())
    print(f"{len(answers)} answers, {len(usable)} with records of entities or claims")
    print(f"entities {sum(len(one.entities) for one in usable)}, claims {sum(len(one.claims) for one in usable)}")
    kept = sum((one.dropped for one in usable), Counter())
    print(f"records dropped from these: {dict(kept) or 'none'}; from all: {dict(dropped)}")
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    started = time.monotonic()
    for number, one in enumerate(parsed):
        records = [*one.entities, *one.claims]
        for damaged in damage(records, seed=number) if len(records) > 1 else ():
            found = parse(damaged.text)
            rows[damaged.kind].update(
                variants=1,
                intact=damaged.intact.total(),
                lost=(damaged.intact - marks(found)).total(),
                kept=len(found.entities) + len(found.claims),
                dropped=found.dropped.total(),
                unusable=not found.usable,
            )
    columns = ("variants", "intact", "lost", "kept", "dropped", "unusable")
    print(f"\n{'damage':28}" + "".join(f"{column:>10}" for column in columns))
    for kind, row in rows.items():
        print(f"{kind:28}" + "".join(f"{row[column]:>10}" for column in columns))
    total = sum(rows.values(), Counter())
    print(f"{'all':28}" + "".join(f"{total[column]:>10}" for column in columns))
    print(f"\n{total['variants']} variants in {time.monotonic() - started:.1f} s; `lost`: intact records not found")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
