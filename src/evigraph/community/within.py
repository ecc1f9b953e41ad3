"""Which statements are a community's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def own_rows(
    numbers: NDArray[np.integer[Any]], subject: NDArray[np.integer[Any]], object: NDArray[np.integer[Any]]
) -> tuple[Ints, Ints]:
    """`(community, row)` of every assertion between members of one community; where it has none, of those that touch a
    member. `numbers` is by entity, -1 for one in no community."""
    one, other = numbers[subject].astype(np.int64), numbers[object].astype(np.int64)
    inside = np.flatnonzero((one == other) & (one >= 0))
    silent = np.ones(int(numbers.max(initial=-1)) + 2, dtype=bool)
    silent[one[inside]] = False
    silent[-1] = False  # where -1 points to
    touching = [(side, np.flatnonzero(silent[side])) for side in (one, other)]
    community = np.concatenate([one[inside], *(side[rows] for side, rows in touching)])
    return community, np.concatenate([inside, *(rows for _, rows in touching)]).astype(np.int64)


def runs(sorted_values: NDArray[np.integer[Any]]) -> list[tuple[int, int, int]]:
    """`(value, start, end)` of each run of equal values."""
    if not len(sorted_values):
        return []
    starts = [0, *(np.flatnonzero(np.diff(sorted_values)) + 1).tolist()]
    ends = [*starts[1:], len(sorted_values)]
    return [(int(sorted_values[start]), start, end) for start, end in zip(starts, ends, strict=True)]
