"""Which tables matter: sets of columns with whole weights, and the candidates that they make. All of it is public."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from tacit import parameters
from tacit.synthesis.model.tables import Columns, cells
from tacit.synthesis.scoring import MOST_WEIGHT

_MOST_SETS = 5_000
_MOST_CELLS = 1 << 20


def candidates_of(workload: Any, names: Sequence[str], sizes: Sequence[int]) -> dict[Columns, int]:
    """Every set inside one that matters, with its weight: how much of the workload it touches (AIM, section 4).

    workload: None for all pairs, a number for all sets of so many columns, a list of sets, or a mapping to weights.
    """
    wanted = _wanted(workload, names)
    closure = {
        part
        for columns in wanted
        for size in range(1, len(columns) + 1)
        for part in itertools.combinations(columns, size)
    }
    closure |= {(place,) for place in range(len(names))}
    small = sorted((part for part in closure if cells(part, sizes) <= _MOST_CELLS), key=lambda part: (len(part), part))
    if len(small) > _MOST_SETS:
        raise parameters.refuse("workload", f"at most {_MOST_SETS:,} sets with those inside them", len(small))
    touched = {
        part: sum(weight * len(set(part) & set(columns)) for columns, weight in wanted.items()) for part in small
    }
    most = max(touched.values())
    return {part: max(1, round(MOST_WEIGHT * own / most)) for part, own in touched.items()}


def _wanted(workload: Any, names: Sequence[str]) -> dict[Columns, float]:
    if workload is None or isinstance(workload, int):
        degree = min(2 if workload is None else parameters.whole("workload", workload, least=1), len(names))
        if math.comb(len(names), degree) > _MOST_SETS:
            raise parameters.refuse("workload", f"at most {_MOST_SETS:,} sets", math.comb(len(names), degree))
        return dict.fromkeys(itertools.combinations(range(len(names)), degree), 1.0)
    if isinstance(workload, str) or not hasattr(workload, "__iter__"):
        allowed = "a number of columns, a list of sets of columns, or a mapping from them to weights"
        raise parameters.refuse("workload", allowed, workload)
    weights = workload if isinstance(workload, Mapping) else dict.fromkeys(_hashable(workload), 1)
    found: dict[Columns, float] = {}
    for each, weight in weights.items():
        listed = (each,) if isinstance(each, str) else tuple(each)
        for name in listed:
            if name not in names:
                raise parameters.refuse("workload", f"sets of columns: {', '.join(names)}", name)
        columns = tuple(sorted({names.index(name) for name in listed}))
        if not columns or len(columns) > 4:
            raise parameters.refuse("workload", "sets of one to four columns", each)
        found[columns] = found.get(columns, 0.0) + float(parameters.positive("workload", weight))
    if not found:
        raise parameters.refuse("workload", "at least one set", workload)
    return found


def _hashable(sets: Any) -> list[Any]:
    return [each if isinstance(each, str) else tuple(each) for each in sets]
