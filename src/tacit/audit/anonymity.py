"""How anonymous a table of rows is: uniqueness, k-anonymity, l-diversity and t-closeness, measured.

A class is the set of rows with equal quasi-identifiers. Its size is the number of people in it: the number of its rows
or, where people have several rows, the number of different values of the column that identifies them. k is the size of
the smallest class; a person who is alone in a class is unique. l (distinct) is the smallest number of sensitive values
in a class, entropy l the smallest exp(entropy) of them. t is the largest distance between the sensitive values of a
class and of the whole table: half the sum of absolute differences of the shares (the earth mover's distance where all
values are equally far apart).

None of the four is a promise about a person: see `tacit.audit.attacks.homogeneity`. The figures are exact facts about
private rows and must not be released.

Sources: Sweeney 2002 (k), Machanavajjhala et al. 2007 (l), Li, Li, Venkatasubramanian 2007 (t).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import parameters

Columns: TypeAlias = Mapping[str, Sequence[Any] | NDArray[Any]]
Codes: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Anonymity:
    """What was measured for one set of columns; l, entropy_l and t are None without a sensitive column.

    >>> anonymity({"age": [31, 31, 40]}, ["age"]).people
    3
    """

    columns: tuple[str, ...]
    rows: int
    people: int
    classes: int
    unique: int
    k: int
    at_risk: int
    l: int | None = None  # noqa: E741 - the letter is the name of the measure
    entropy_l: float | None = None
    t: float | None = None

    @property
    def unique_share(self) -> float:
        """The share of people who are alone in a class."""
        return self.unique / self.people if self.people else 0.0

    def __str__(self) -> str:
        about = (
            f"{', '.join(self.columns)}: {self.unique_share:.1%} of {self.people:,} people are unique, "
            f"{self.at_risk / max(1, self.people):.1%} are in a class of fewer than 5; k = {self.k}"
        )
        return about + ("." if self.l is None else f", l = {self.l} (entropy {self.entropy_l:.2f}), t = {self.t:.2f}.")


def anonymity(
    columns: Columns, quasi: Sequence[str], sensitive: str | None = None, *, person: str | None = None
) -> Anonymity:
    """Measure one set of quasi-identifiers, and what a class reveals about a sensitive column.

    `person` names the column that identifies people, where they have several rows; otherwise a row is a person.

    >>> people = {"age": [31, 31, 40], "sex": ["F", "F", "M"]}
    >>> found = anonymity(people, ["age", "sex"])
    >>> found.classes, found.unique, found.k
    (2, 1, 1)
    """
    if not quasi:
        raise parameters.refuse("quasi", "at least one column", list(quasi))
    for said, names in {"quasi": quasi, "sensitive": [sensitive], "person": [person]}.items():
        for name in names:
            if name is not None and name not in columns:
                raise parameters.refuse(said, f"among {', '.join(columns)}", name)
    hidden, people = (None if name is None else codes(columns[name]) for name in (sensitive, person))
    return measured(tuple(quasi), [codes(columns[name]) for name in quasi], hidden, people)


def codes(values: Sequence[Any] | NDArray[Any]) -> Codes:
    """Equal values get equal small numbers; a missing value equals another missing one."""
    places: dict[Any, int] = {}
    # NaN differs from itself; it counts as missing
    found = (places.setdefault(None if value != value else value, len(places)) for value in values)
    return np.fromiter(found, np.int64)


def measured(
    names: tuple[str, ...], quasi: Sequence[Codes], sensitive: Codes | None = None, people: Codes | None = None
) -> Anonymity:
    """The same for columns that are coded already."""
    classes = joined(quasi)
    if not classes.size:
        return Anonymity(names, 0, 0, 0, 0, 0, 0)
    sizes, alone, few, everyone = _people(classes, people)
    found = Anonymity(names, classes.size, everyone, sizes.size, alone, int(sizes.min()), few)
    return found if sensitive is None else replace(found, **_secrets(classes, sensitive))


def unique_people(quasi: Sequence[Codes], people: Codes | None = None) -> int:
    """How many people are alone in a class."""
    return _people(joined(quasi), people)[1]


def _people(classes: Codes, people: Codes | None) -> tuple[Codes, int, int, int]:
    """The size of every class, how many people are alone in one, in one of fewer than five, and in all."""
    if people is None:
        sizes = np.bincount(classes)
        return sizes, int(np.count_nonzero(sizes == 1)), int(sizes[sizes < 5].sum()), classes.size
    wide = int(people.max()) + 1
    pairs = np.unique(classes * wide + people)
    owner, person = pairs // wide, pairs % wide
    sizes = np.bincount(owner)
    alone, few = (np.unique(person[sizes[owner] < limit]).size for limit in (2, 5))
    return sizes, alone, few, np.unique(people).size


def _secrets(classes: Codes, sensitive: Codes) -> dict[str, Any]:
    """l, entropy l and t, by rows."""
    rows = np.bincount(classes)
    kinds = int(sensitive.max()) + 1
    pairs, counts = np.unique(classes * kinds + sensitive, return_counts=True)
    owner, value = pairs // kinds, pairs % kinds
    share = counts / rows[owner]
    whole = np.bincount(sensitive, minlength=kinds) / classes.size
    entropy = np.bincount(owner, -share * np.log(share), minlength=rows.size)
    # sum of |p - q| over all values = sum over values in the class of (|p - q| - q), and 1 for the others' q
    distance = 0.5 * (1 + np.bincount(owner, np.abs(share - whole[value]) - whole[value], minlength=rows.size))
    fewest = int(np.bincount(owner, minlength=rows.size).min())
    return {"l": fewest, "entropy_l": float(np.exp(entropy.min())), "t": float(distance.max())}


def joined(columns: Sequence[Codes]) -> Codes:
    """The class of every row: equal numbers for rows that agree in all columns, numbered without gaps."""
    total = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        wide = int(column.max()) + 1 if column.size else 1
        # numbered without gaps again at every step, so that the product of two stays far within 64 bits
        total = np.unique(total * wide + column, return_inverse=True)[1].reshape(-1)
    return total
