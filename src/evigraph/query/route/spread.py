"""Which names are everywhere. A corpus is full of its own organisation's name: that does not restrict a question to a
part of it, as other names do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from evigraph.query.run import Run

FEWEST = 5
"""Documents that a name must be in before it is everywhere."""
MOST_DOCUMENTS = 0.5
"""Share of the documents in scope from which a name is everywhere, however they are grouped."""
EVEN = 0.85
"""Evenness of a name's documents over the groups (regions, say) from which it is everywhere: 0 where all are in one
group, 1 where each group has as many."""
FEW_VALUES = 12
"""Values up to which a metadata key is a grouping; the one with most is looked at. Authors, say, are too many."""
MENTIONS = 200
"""Passages of a name that are looked at."""


def everywhere(run: Run, keys: Sequence[str]) -> set[str]:
    """Those of the given names (as `names` knows them) that restrict nothing."""
    rows = run.snapshot.mentions_of(keys, per_name_limit=MENTIONS, limit=MENTIONS * max(len(keys), 1))
    revisions: dict[str, set[int]] = {}
    for row in rows:
        revisions.setdefault(row.key, set()).add(row.passage.revision_key)
    common = {key: among for key, among in revisions.items() if len(among) >= FEWEST}
    if not common:
        return set()
    most = MOST_DOCUMENTS * run.counts.documents
    found = {key for key, among in common.items() if len(among) >= most}
    grouping = _grouping(run.snapshot.group_counts())
    if grouping is None or found == set(common):
        return found
    group, values = grouping
    of_revision = _values(run, group, {revision for among in common.values() for revision in among})
    for key, among in common.items():
        if _evenness((of_revision.get(revision, "") for revision in sorted(among)), values) >= EVEN:
            found.add(key)
    return found


def _grouping(counts: Mapping[str, Mapping[str, int]]) -> tuple[str, int] | None:
    """The metadata key that groups documents most finely while its groups are few, with their number."""
    few = [(len(values), key) for key, values in counts.items() if len(values) <= FEW_VALUES]
    if not few:
        return None
    most = max(number for number, _ in few)
    return min(key for number, key in few if number == most), most


def _values(run: Run, group: str, revisions: set[int]) -> dict[int, str]:
    published = run.snapshot.published(sorted(revisions))
    documents = run.snapshot.documents_of([one.document_id for one in published.values()])
    return {
        revision: documents[one.document_id].metadata.get(group, "")
        for revision, one in published.items()
        if one.document_id in documents
    }


def _evenness(values: Iterable[str], groups: int) -> float:
    """Entropy of the values over that of as many equal groups. A document without a value is in none."""
    counts = Counter(value for value in values if value)
    total = sum(counts.values())
    if not total or groups < 2:
        return 0.0
    entropy = -math.fsum(count / total * math.log(count / total) for count in counts.values())
    return entropy / math.log(groups)
