"""A column's moments in each of two groups of rows, released together.

Theorem. A row is in one group, so the parts of both groups (`one_column`, degree 2) move together by W**2 in L1, as
those of one group would: both get the whole epsilon. Neighbours: one unit's row, added or removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import parameters
from tacit.errors import QuestionError
from tacit.noise import BitSource
from tacit.statistics.domains import Domain, domain_of
from tacit.statistics.moments.additive import Additive, laplace
from tacit.statistics.moments.bounded import Bounded
from tacit.statistics.moments.one_column import Moments, parts, release
from tacit.statistics.source import Opened, Source


@dataclass(frozen=True, slots=True)
class Groups:
    """The column that tells groups apart, and the two cells of it that are compared."""

    cells: Domain
    places: tuple[int, int]

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two groups."""
        return str(self.cells.labels[self.places[0]]), str(self.cells.labels[self.places[1]])


def groups_of(source: Source, by: Any, groups: Any) -> Groups:
    """Two groups of the rows by a column with listed values; without `groups` it must have just two."""
    cells = domain_of(source.variable(str(by).rpartition(".")[2]))
    labels = [str(each) for each in cells.labels]
    if groups is None:
        if cells.size != 2:
            hint = f"Its values: {', '.join(labels[:10])}."
            raise parameters.refuse("groups", "two values, where the column has more or fewer", None, hint)
        return Groups(cells, (0, 1))
    wanted = [str(each) for each in groups] if isinstance(groups, (list, tuple)) else []
    if len(wanted) != 2 or wanted[0] == wanted[1] or not set(wanted) <= set(labels):
        raise parameters.refuse("groups", f"two different values of {cells.name!r}: {', '.join(labels[:10])}", groups)
    return Groups(cells, (labels.index(wanted[0]), labels.index(wanted[1])))


def other_column(source: Source, by: Any) -> str:
    """The one column that is not `by`."""
    name = str(by).rpartition(".")[2].casefold()
    others = [each.name for each in source.variables if each.name.casefold() != name]
    if len(others) != 1 or len(source.variables) != 2:
        names = ", ".join(each.name for each in source.variables)
        raise QuestionError(f"Give two columns: one that is compared, and {by!r}. Columns: {names}.")
    return others[0]


def exact_parts(opened: Opened, known: Bounded, groups: Groups) -> list[tuple[int, ...]]:
    """The parts' exact sums in both groups."""
    codes, rows = opened.tally(known.name, groups.cells.asked)
    shares = (codes[:, 0] - known.low).astype(object)
    cells = codes[:, 1] - groups.cells.first
    found = []
    for place in groups.places:
        inside = cells == place
        a, counted = shares[inside], rows[inside].astype(object)
        sums = [int(np.sum(a * counted)), int(np.sum(a * a * counted))]
        found.append(parts(known, 2, int(counted.sum()), sums))
    return found


def plan_groups(known: Bounded, epsilon: Fraction) -> Additive:
    """The noise for the parts of both groups."""
    return laplace(known.width**2, epsilon)


def release_groups(
    opened: Opened, known: Bounded, groups: Groups, noise: Additive, bits: BitSource
) -> tuple[Moments, Moments]:
    """Both groups' moments, with noise."""
    first, second = (release(known, 2, noise, exact, bits) for exact in exact_parts(opened, known, groups))
    return first, second
