"""How risky a raw table is: who is unique in it, and by which columns; for its owner alone.

`risk("visits.csv", ["zip", "birth", "sex"])` measures every set of up to four of the columns: the share of people who
are alone with their values, k, and, with a sensitive column, l and t (see `anonymity`). A row is taken for a person,
unless `person` names the column that identifies people.

Harm. The share of unique people is divided among the columns by the Shapley value: a column's mean contribution over
all orders in which the columns could become known. The parts add up to the share for all columns. With more than eight
columns the mean is over 200 orders, drawn from a fixed seed.

Promise: nothing here is protected, and every report says so. The file is read and never changed.
"""

from __future__ import annotations

import difflib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tacit import parameters
from tacit.answer.exported import quoted
from tacit.audit.anonymity import Anonymity, Codes, measured, unique_people
from tacit.errors import ParameterError
from tacit.policy.exact_facts import NOT_FOR_RELEASE

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

WARNING: Final = NOT_FOR_RELEASE
_MOST_COLUMNS: Final = 12
_ALL_ORDERS: Final = 8
_ORDERS: Final = 200
_SHOWN_CLASSES: Final = 5


@dataclass(frozen=True, slots=True)
class Harm:
    """What a column adds to the share of unique people, and what that share would be without it.

    >>> Harm("age", 0.5, 0.25).share
    0.5
    """

    column: str
    share: float
    without: float


@dataclass(frozen=True, slots=True)
class SmallClass:
    """One of the smallest classes: the values its people share, and how many they are.

    >>> SmallClass(("F", 31), 2).size
    2
    """

    values: tuple[Any, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Risk:
    """What was found in one file. NOT FOR RELEASE.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = file.write_text("age,sex\\n31,F\\n31,F\\n40,M\\n")
    >>> risk(file, ["age", "sex"]).columns
    ('age', 'sex')
    """

    file: str
    columns: tuple[str, ...]
    sensitive: str | None
    whole: Anonymity
    sets: tuple[Anonymity, ...]
    harm: tuple[Harm, ...]
    smallest: tuple[SmallClass, ...]

    def __str__(self) -> str:
        worst = max(self.harm, key=lambda each: each.share).column
        return f"{WARNING}\n{self.file}: {self.whole}\nMost harm is done by {worst}."


def risk(
    file: str | os.PathLike[str],
    columns: Sequence[str],
    sensitive: str | None = None,
    *,
    person: str | None = None,
    largest_set: int = 4,
) -> Risk:
    """Measure a CSV or Parquet file; `sensitive` is what no one should learn, `person` identifies people.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = file.write_text("age,sex\\n31,F\\n31,F\\n40,M\\n")
    >>> found = risk(file, ["age", "sex"])
    >>> found.whole.unique, found.whole.people
    (1, 3)
    """
    import duckdb

    names = tuple(columns)
    _check(names, sensitive, person, parameters.whole("largest_set", largest_set, least=1))
    with duckdb.connect() as connection:
        try:
            table = _opened(connection, Path(file))
            wanted = [*names, *(name for name in (sensitive, person) if name is not None)]
            _known(table.columns, wanted)
            coded = _coded(table, wanted)
            smallest = _smallest(table, names, person)
        except duckdb.Error as bad:
            raise ParameterError(f"{file} cannot be read: {str(bad).splitlines()[0]}") from None
    if not coded[names[0]].size:
        raise ParameterError(f"{file} has no rows, so there is nothing to measure.")
    hidden, people = (None if name is None else coded[name] for name in (sensitive, person))
    sets = [
        measured(part, [coded[name] for name in part], hidden, people)
        for size in range(1, min(largest_set, len(names)) + 1)
        for part in itertools.combinations(names, size)
    ]
    sets.sort(key=lambda each: (-each.unique, -each.at_risk, len(each.columns)))
    whole = measured(names, [coded[name] for name in names], hidden, people)
    return Risk(Path(file).name, names, sensitive, whole, tuple(sets), _harm(names, coded, people), smallest)


def _check(names: tuple[str, ...], sensitive: str | None, person: str | None, largest: int) -> None:
    if not names or len(set(names)) < len(names) or len(names) > _MOST_COLUMNS:
        raise parameters.refuse("columns", f"1 to {_MOST_COLUMNS} different columns", list(names))
    if sensitive in names:
        raise parameters.refuse("sensitive", "a column that is not among the others", sensitive)
    if person is not None and person in (*names, sensitive):
        raise parameters.refuse("person", "a column that is not among the others", person)
    if largest > _MOST_COLUMNS:
        raise parameters.refuse("largest_set", f"at most {_MOST_COLUMNS}", largest)


def _opened(connection: DuckDBPyConnection, path: Path) -> DuckDBPyRelation:
    readers: dict[str, Callable[[str], DuckDBPyRelation]] = {
        ".csv": connection.read_csv,
        ".parquet": connection.read_parquet,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise parameters.refuse("file", "a .csv or .parquet file", str(path))
    if not path.is_file():
        raise parameters.refuse("file", "a file that exists", str(path))
    return reader(str(path))


def _known(have: Sequence[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in have:
            near = difflib.get_close_matches(name, have, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ParameterError(f"Column {name!r} is not in the file. Columns: {', '.join(have)}.{hint}")


def _coded(table: DuckDBPyRelation, names: Sequence[str]) -> dict[str, Codes]:
    """Each column as small whole numbers, equal for equal values; missing is a value of its own."""
    ranks = ", ".join(
        f"(dense_rank() OVER (ORDER BY {quoted(name)}) - 1)::BIGINT AS c{place}" for place, name in enumerate(names)
    )
    arrays = table.project(ranks).fetchnumpy()
    return {name: np.asarray(arrays[f"c{place}"]) for place, name in enumerate(names)}


def _smallest(table: DuckDBPyRelation, names: Sequence[str], person: str | None) -> tuple[SmallClass, ...]:
    keys = ", ".join(quoted(name) for name in names)
    # a missing person counts as one person, as everywhere here
    size = "count(*)" if person is None else f"count(DISTINCT {quoted(person)}) + max(({quoted(person)} IS NULL)::INT)"
    counted = table.aggregate(f"{keys}, {size} AS class_size", keys)
    rows = counted.order(f"class_size, {keys}").limit(_SHOWN_CLASSES).fetchall()
    return tuple(SmallClass(tuple(row[:-1]), int(row[-1])) for row in rows)


def _harm(names: tuple[str, ...], coded: dict[str, Codes], people: Codes | None) -> tuple[Harm, ...]:
    known: dict[frozenset[str], float] = {frozenset(): 0.0}
    everyone = len(coded[names[0]]) if people is None else np.unique(people).size

    def unique(part: frozenset[str]) -> float:
        if part not in known:
            known[part] = unique_people([coded[name] for name in sorted(part)], people) / everyone
        return known[part]

    gained = dict.fromkeys(names, 0.0)
    orders = list(_orders(names))
    for order in orders:
        for place, name in enumerate(order):
            gained[name] += unique(frozenset(order[: place + 1])) - unique(frozenset(order[:place]))
    everything = frozenset(names)
    found = [Harm(name, gained[name] / len(orders), unique(everything - {name})) for name in names]
    return tuple(sorted(found, key=lambda each: -each.share))


def _orders(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """All orders of the columns, or a fixed draw of them."""
    if len(names) <= _ALL_ORDERS:
        yield from itertools.permutations(names)
        return
    rng = np.random.default_rng(1)
    for _ in range(_ORDERS):
        yield tuple(names[place] for place in rng.permutation(len(names)))
