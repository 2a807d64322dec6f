"""How anonymous a table of rows is: uniqueness, k-anonymity, l-diversity and t-closeness, measured.

A class is the set of rows with equal quasi-identifiers. k is the size of the smallest class; a row alone in its class
is unique. l (distinct) is the smallest number of sensitive values in a class, entropy l the smallest exp(entropy) of
them. t is the largest distance between the sensitive values of a class and of the whole table: half the sum of absolute
differences of the shares (the earth mover's distance where all values are equally far apart).

None of the four is a promise about a person: see `tacit.audit.attacks.homogeneity`. The figures are exact facts about
private rows and must not be released.

Sources: Sweeney 2002 (k), Machanavajjhala et al. 2007 (l), Li, Li, Venkatasubramanian 2007 (t).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import parameters

Columns: TypeAlias = Mapping[str, Sequence[Any] | NDArray[Any]]
Codes: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Anonymity:
    """What was measured for one set of columns; l, entropy_l and t are None without a sensitive column."""

    columns: tuple[str, ...]
    rows: int
    classes: int
    unique: int
    k: int
    at_risk: int
    l: int | None = None  # noqa: E741 - the letter is the name of the measure
    entropy_l: float | None = None
    t: float | None = None

    @property
    def unique_share(self) -> float:
        """The share of rows that are alone in their class."""
        return self.unique / self.rows if self.rows else 0.0

    def __str__(self) -> str:
        about = (
            f"{', '.join(self.columns)}: {self.unique_share:.1%} of {self.rows} rows are unique, "
            f"{self.at_risk / max(1, self.rows):.1%} share their values with fewer than 5 in all; k = {self.k}"
        )
        return about + ("." if self.l is None else f", l = {self.l} (entropy {self.entropy_l:.2f}), t = {self.t:.2f}.")


def anonymity(columns: Columns, quasi: Sequence[str], sensitive: str | None = None) -> Anonymity:
    """Measure one set of quasi-identifiers, and what a class tells about a sensitive column."""
    if not quasi:
        raise parameters.refuse("quasi", "at least one column", list(quasi))
    for name in [*quasi, *([sensitive] if sensitive is not None else [])]:
        if name not in columns:
            raise parameters.refuse("quasi" if name in quasi else "sensitive", f"among {', '.join(columns)}", name)
    coded = None if sensitive is None else codes(columns[sensitive])
    return measured(tuple(quasi), [codes(columns[name]) for name in quasi], coded)


def codes(values: Sequence[Any] | NDArray[Any]) -> Codes:
    """Equal values get equal small numbers; a missing value equals another missing one."""
    places: dict[Any, int] = {}
    # NaN differs from itself, so it is taken for a missing value
    found = (places.setdefault(None if value != value else value, len(places)) for value in values)
    return np.fromiter(found, np.int64)


def measured(names: tuple[str, ...], quasi: Sequence[Codes], sensitive: Codes | None = None) -> Anonymity:
    """The same for columns that are coded already."""
    classes = joined(quasi)
    sizes = np.bincount(classes)
    if not sizes.size:
        return Anonymity(names, 0, 0, 0, 0, 0)
    few = int(sizes[sizes < 5].sum())
    found = Anonymity(names, classes.size, sizes.size, int(np.count_nonzero(sizes == 1)), int(sizes.min()), few)
    if sensitive is None:
        return found
    kinds = int(sensitive.max()) + 1
    pairs, counts = np.unique(classes * kinds + sensitive, return_counts=True)
    owner, value = pairs // kinds, pairs % kinds
    share = counts / sizes[owner]
    whole = np.bincount(sensitive, minlength=kinds) / classes.size
    entropy = np.bincount(owner, -share * np.log(share), minlength=sizes.size)
    # sum of |p - q| over all values = sum over values in the class of (|p - q| - q), and 1 for the others' q
    distance = 0.5 * (1 + np.bincount(owner, np.abs(share - whole[value]) - whole[value], minlength=sizes.size))
    return Anonymity(
        names,
        found.rows,
        found.classes,
        found.unique,
        found.k,
        found.at_risk,
        int(np.bincount(owner, minlength=sizes.size).min()),
        float(np.exp(entropy.min())),
        float(distance.max()),
    )


def joined(columns: Sequence[Codes]) -> Codes:
    """The class of every row: equal numbers for rows that agree in all columns, numbered without gaps."""
    total = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        wide = int(column.max()) + 1 if column.size else 1
        # made dense again at every step, so that the product of two stays far within 64 bits
        total = np.unique(total * wide + column, return_inverse=True)[1].reshape(-1)
    return total
