"""Exact numbers that have been paid for, as a study's computation sees them: all of them whole (`source`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.answer.release import guarded
from tacit.plan.row_plan import Coded, Indicator

Whole: TypeAlias = NDArray[np.int64]
Term: TypeAlias = str | Indicator  # a factor of a product: a variable's code, or whether it has one


class Opened(ABC):
    """Exact numbers that have been paid for. Only a study's computation sees one, and adds noise to what it takes."""

    @abstractmethod
    def tally(self, *asked: Coded) -> tuple[Whole, Whole]:
        """Rows as a matrix of codes, one line for each combination there is, and how many rows have each.

        The order means nothing, and a combination may come twice. Text is numbered as the variable's values are.
        Rows with a missing value are left out, except in a variable that is asked with its missing values
        (`OrMissing`).
        """

    def columns(self, *asked: Coded) -> tuple[list[NDArray[Any]], Whole]:
        """The same column by column, in whole numbers as narrow as public bounds allow: for tables of many rows."""
        codes, rows = self.tally(*asked)
        return [codes[:, place] for place in range(codes.shape[1])], rows

    @abstractmethod
    def meanings(self, *names: str) -> list[str]:
        """What the codes of these variables are: "text" where listed values are numbered."""

    @abstractmethod
    def totals(
        self, products: Sequence[Sequence[Term]], centres: Mapping[str, int] | None = None, using: Sequence[str] = ()
    ) -> tuple[int, list[int]]:
        """The number of rows, and for every product the exact sum of the products of (code - centre) and indicators.

        Rows are those where none of `using` (without it: of the variables in the products) is missing.
        """

    def counts(self, *asked: Coded, shape: Sequence[int]) -> Whole:
        """A dense table of counts for codes 0, 1, ... below `shape`; what lies outside is left out."""
        codes, rows = self.tally(*asked)
        inside = np.all((codes >= 0) & (codes < np.asarray(shape, dtype=np.int64)), axis=1)
        table = np.zeros(tuple(shape), dtype=np.int64)
        np.add.at(table, tuple(codes[inside].T), rows[inside])
        return table

    def other(self, source: Any) -> Opened:
        """Other rows of the same database at the same moment, paid for by the same charge, whose key names them."""
        raise NotImplementedError("These rows have no others next to them.")

    def guarded(self, compute: Callable[[], bytes]) -> bytes:
        """What `compute` makes of these numbers, or one fixed error; where a ledger paid, it is stored as failed."""
        return guarded(compute)

    @abstractmethod
    def by_unit(self, *names: str) -> tuple[Whole, Whole]:
        """Every row's codes, as a matrix, and for each row a number that is the same for rows of one unit.

        Rows of a unit stand together, in an order that follows from these rows alone, and which number a unit has means
        nothing: with one unit less, others may have other numbers.
        """

    def values(self, *names: str) -> Whole:
        """Every row's codes, as a matrix, in an order that means nothing."""
        codes, rows = self.tally(*names)
        return codes if bool(np.all(rows == 1)) else np.repeat(codes, rows, axis=0)

    def each_row(self, *names: str) -> list[NDArray[Any]]:
        """The same column by column, as narrow as in `columns`: half of the memory, or less."""
        columns, rows = self.columns(*names)
        return columns if bool(np.all(rows == 1)) else [np.repeat(each, rows) for each in columns]


def together(codes: Whole, units: Whole) -> tuple[Whole, Whole]:
    """The same rows, those of one unit together and ordered by their codes alone."""
    order = np.lexsort((*codes.T[::-1], units))
    return codes[order], units[order]


def named(term: Term) -> str:
    """The variable that a term is about."""
    return term.name if isinstance(term, Indicator) else term


def exact_sum(numbers: NDArray[Any]) -> int:
    """The sum of whole numbers, which may be wider than a word though each of them is not."""
    if numbers.dtype == object:
        return int(numbers.sum())
    high, low = numbers >> 31, numbers & ((1 << 31) - 1)
    return (int(high.sum()) << 31) + int(low.sum())
