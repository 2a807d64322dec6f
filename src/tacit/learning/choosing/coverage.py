"""`maximum_coverage`: k of some public sets that cover as many rows as they can; `set_cover`: an order of all of them.

    maximum_coverage(rows, "postcode", sets={"north": ["1010", "1020"], "south": [...]}, choose=2, epsilon=1)

A row is covered by a set that holds its value. A set may also be a mapping from values to worths in [0, 1]; then the
worth of a row is the largest of them, which is submodular (facility location), and the sum of worths is made large.
`set_cover` gives all sets in an order: each row is covered by the first set that holds it, and which one that is stays
private.

Theorem, assumptions, source: `greedy`. Counts are whole, worths are on a grid of 2**16 steps, rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit import parameters
from tacit.learning.choosing.greedy import STEPS, best_worths, plan_greedy
from tacit.learning.columns import Feature, features_of
from tacit.noise import BitSource
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.source import Opened, Whole, source_of

_MOST = 10**7


def maximum_coverage(
    data: Any,
    columns: str | None = None,
    *,
    sets: Mapping[str, Any],
    choose: int,
    epsilon: parameters.Number,
    delta: parameters.Number = 0,
    values: Any = None,
    rows_per_unit: int | None = None,
    analyst: str | None = None,
) -> Finding:
    """`choose` of the sets, in the order in which they were chosen.

    data: a curator and a column, its rows, or an array with its listed `values`. The column has listed values.

    >>> sets = {"hot": ["tea", "coffee"], "cold": ["water"]}
    >>> found = maximum_coverage(["tea", "water"], sets=sets, choose=1, values=["tea", "coffee", "water"], epsilon=1)
    >>> found["set"][0] in sets
    True
    """
    count = parameters.whole("choose", choose, least=1)
    if count > len(sets):
        raise parameters.refuse("choose", f"at most {len(sets)}, the number of sets", count)
    return _chosen("maximum coverage", data, columns, sets, count, epsilon, delta, values, rows_per_unit, analyst)


def set_cover(
    data: Any,
    columns: str | None = None,
    *,
    sets: Mapping[str, Any],
    epsilon: parameters.Number,
    delta: parameters.Number = 0,
    values: Any = None,
    rows_per_unit: int | None = None,
    analyst: str | None = None,
) -> Finding:
    """All sets in an order: a row is covered by the first set that holds its value.

    >>> sets = {"hot": ["tea", "coffee"], "cold": ["water"]}
    >>> found = set_cover(["tea", "water"], sets=sets, values=["tea", "coffee", "water"], epsilon=1, delta=1e-6)
    >>> sorted(found["set"])
    ['cold', 'hot']
    """
    return _chosen("set cover", data, columns, sets, len(sets), epsilon, delta, values, rows_per_unit, analyst)


def _chosen(
    study: str,
    data: Any,
    columns: str | None,
    sets: Mapping[str, Any],
    count: int,
    epsilon: parameters.Number,
    delta: parameters.Number,
    values: Any,
    rows_per_unit: int | None,
    analyst: str | None,
) -> Finding:
    source = source_of(data, columns, values=values, rows_per_unit=rows_per_unit)
    (feature,) = features_of([source.only], [source.only.name])
    names, worths = _worths(feature, sets)
    if study == "set cover" and not (np.isin(worths, [0, STEPS])).all():
        raise parameters.refuse("sets", "lists of values: a set cover knows no worths", "a mapping of values")
    exact, slip = parameters.budget(epsilon, delta)
    plan = plan_greedy(count, source.rows_per_unit, exact, slip)

    def compute(opened: Opened, bits: BitSource) -> Content:
        codes, rows = opened.tally(feature.name)
        places = feature.places(codes[:, 0], opened.meanings(feature.name)[0])
        counts = np.zeros(feature.size, dtype=np.int64)
        np.add.at(counts, places[places >= 0], rows[places >= 0])
        order = plan.choose(len(names), lambda chosen: best_worths(worths, counts, chosen), bits)
        table = (column("round", list(range(1, count + 1))), column("set", [names[place] for place in order]))
        note = f"Each was chosen with epsilon {float(plan.each.event.range):.4g}, given those before it."
        return Content(f"{study.capitalize()} of {feature.name}", table, (note,))

    asked = {"study": study, "choose": count, "epsilon": str(exact), "delta": str(slip), "each": str(plan.each.factor)}
    asked |= {"names": names, "worths": worths.tolist()}
    return source.release(asked, plan.price, compute, analyst=analyst)


def _worths(feature: Feature, sets: Any) -> tuple[list[str], Whole]:
    """Names, and for each set a line with the worth of every value."""
    if not isinstance(sets, Mapping) or not sets:
        raise parameters.refuse("sets", "a mapping from names to lists of values, at least one", sets)
    if len(sets) * feature.size > _MOST:
        raise parameters.refuse("sets", f"at most {_MOST:,} pairs of a set and a value", len(sets) * feature.size)
    place_of: dict[Any, int] = {str(label): place for place, label in enumerate(feature.labels)}
    place_of |= {label: place for place, label in enumerate(feature.labels)}
    found = np.zeros((len(sets), feature.size), dtype=np.int64)
    for line, (name, held) in enumerate(sets.items()):
        if isinstance(held, str) or not hasattr(held, "__iter__"):
            raise parameters.refuse("sets", f"a list of values for {name!r}", held)
        for value in held:
            if value not in place_of:
                known = ", ".join(str(label) for label in feature.labels[:10])
                raise parameters.refuse("sets", f"lists of values of {feature.name!r}, e.g. {known}", value)
            worth = parameters.rational("sets", held[value]) if isinstance(held, Mapping) else 1
            if not 0 <= worth <= 1:
                raise parameters.refuse("sets", "worths from 0 to 1", held[value])
            found[line, place_of[value]] = math.floor(worth * STEPS)
    return [str(name) for name in sets], found
