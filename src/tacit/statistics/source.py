"""Where a study's numbers come from: the rows of a curator, or plain arrays. A study is written once, for both.

Promise: public facts (`variables`, `rows_per_unit`, `neighbours`) are known before anything is paid, and nothing else
is. `release` pays first (a curator's ledger; arrays have none, and their receipt says so), then hands the exact numbers
to the study's computation, which adds noise from secure bits and returns what may leave. An error after that says
nothing about the data.

Codes. All exact numbers are whole: a code times the variable's step is what is meant. Real numbers are clamped to
their bounds and rounded to the grid, row by row, before anything is added up; texts are numbered as the listed values
are. Rows with a missing value in a column that is used are left out, row by row. So neighbours differ by at most
`rows_per_unit` rows of codes, added or removed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.answer.release import guarded
from tacit.curator import Curator, Price, Rows
from tacit.curator.elsewhere import must_be_here
from tacit.errors import QuestionError
from tacit.noise import BitSource, secure
from tacit.plan.row_plan import Coded, Cut, Indicator, OrMissing, Variable, missing_code, variable_name
from tacit.policy import RowUnit
from tacit.statistics.asked_rows import narrowed, rows_of_table
from tacit.statistics.engine_rows import EngineRows as EngineRows
from tacit.statistics.finding import Content, Finding
from tacit.statistics.opened import Opened as Opened
from tacit.statistics.opened import Term as Term
from tacit.statistics.opened import Whole as Whole
from tacit.statistics.opened import exact_sum, named

Compute: TypeAlias = Callable[[Opened, BitSource], Content]


class Stage(ABC):
    """Made-up rows, which a rehearsal hands over where a curator would run queries."""

    @abstractmethod
    def opened(self, source: Source) -> Opened:
        """Rows with the columns of this source."""


@dataclass(frozen=True, slots=True, eq=False)
class PricedStudy:
    """A study as a source sees it: what it asks, at which price, and what it computes once that is paid."""

    asked: Mapping[str, Any]
    price: Price
    compute: Compute
    level: parameters.Number
    analyst: str | None


class Source(ABC):
    """Columns with public facts, and a way to pay for a look at them."""

    @property
    @abstractmethod
    def variables(self) -> tuple[Variable, ...]:
        """The columns, with what is public about each."""

    @property
    @abstractmethod
    def rows_per_unit(self) -> int:
        """How many rows one unit has at most."""

    @property
    @abstractmethod
    def neighbours(self) -> str:
        """Which data are neighbours, in words: what one of them has and the other has not."""

    def release(
        self,
        asked: Mapping[str, Any],
        price: Price,
        compute: Compute,
        *,
        level: parameters.Number = "0.95",
        analyst: str | None = None,
    ) -> Finding:
        """The finding of a study, paid for; the stored one, free, where a ledger has it."""
        return self.deliver(PricedStudy(asked, price, compute, level, analyst))

    @abstractmethod
    def deliver(self, study: PricedStudy) -> Finding:
        """What `release` returns: each kind of source pays and computes in its own way."""

    @abstractmethod
    def paid(self, asked: Mapping[str, Any], price: Price, analyst: str | None) -> Opened:
        """Exact numbers for a study that takes its questions one by one, paid for now, each time anew."""

    @property
    def is_clocked(self) -> bool:
        """Whether the time of a step on the way must be kept secret."""
        return False

    def variable(self, name: str) -> Variable:
        """A column by its name."""
        for each in self.variables:
            if each.name.casefold() == str(name).casefold():
                return each
        raise QuestionError(f"Column {name!r} is not there. Columns: {', '.join(e.name for e in self.variables)}.")

    @abstractmethod
    def of(self, *columns: str) -> Source:
        """The same rows with some of their columns."""

    @property
    def only(self) -> Variable:
        """The one column; refused where there are several."""
        if len(self.variables) != 1:
            names = ", ".join(each.name for each in self.variables)
            raise QuestionError(f"This study is about one column, and {len(self.variables)} were given: {names}.")
        return self.variables[0]

    def one_row_each(self, study: str) -> None:
        """Refuse more than one row of a unit, for studies whose theorem is about single rows."""
        if self.rows_per_unit != 1:
            raise QuestionError(
                f"{study} needs one row of each unit, and there may be {self.rows_per_unit:,}. Take one of them with "
                "rows_per_unit=1, or make rows with one for each unit: GROUP BY the unit."
            )


@dataclass(frozen=True, slots=True, eq=False)
class CuratorSource(Source):
    """Rows of a curator."""

    rows: Rows

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The columns of the SELECT."""
        return self.rows.plan.variables

    @property
    def rows_per_unit(self) -> int:
        """The bound on rows of a unit that holds for the SELECT as a whole."""
        return self.rows.plan.rows_per_unit

    @property
    def neighbours(self) -> str:
        """Neighbours differ in all rows of one unit."""
        unit = self.rows.curator.policy.unit_of(self.rows.plan.tables[0]).unit
        return "one row" if isinstance(unit, RowUnit) else f"all rows of one {getattr(unit, 'column', 'unit')}"

    @property
    def is_clocked(self) -> bool:
        """As the policy's `timing` says."""
        return self.rows.is_clocked

    def of(self, *columns: str) -> CuratorSource:
        """The same rows with some of their columns."""
        return CuratorSource(narrowed(self.rows, columns))

    def deliver(self, study: PricedStudy) -> Finding:
        """Charged to the curator's ledger."""
        exact = parameters.level("level", study.level)

        def made(run: Any, receipt: Any) -> bytes:
            opened = run.opened(self) if isinstance(run, Stage) else EngineRows(self.rows.plan, run)
            content = study.compute(opened, secure())
            return finding_of(content, self, study.price, float(exact), str(receipt.sequence)).to_bytes()

        whole = {**study.asked, "columns": [each.name for each in self.variables], "level": str(exact)}
        stored, repeated = self.rows.release(whole, study.price, made, study.analyst)
        return Finding.from_bytes(stored, repeated=repeated)

    def paid(self, asked: Mapping[str, Any], price: Price, analyst: str | None) -> Opened:
        """Charged to the curator's ledger."""
        session = self.rows.paid({**asked, "columns": [each.name for each in self.variables]}, price, analyst)
        return EngineRows(self.rows.plan, session.run, session.guarded)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ArraySource(Source):
    """Plain arrays: one row is one unit, and nothing is written to a ledger."""

    known: tuple[Variable, ...]
    columns: Mapping[str, NDArray[Any]]  # codes, -1 in `missing` rows
    missing: Mapping[str, NDArray[np.bool_]]

    def __repr__(self) -> str:
        return f"ArraySource({', '.join(each.name for each in self.known)})"

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The arrays' columns."""
        return self.known

    @property
    def rows_per_unit(self) -> int:
        """One row is one unit."""
        return 1

    @property
    def neighbours(self) -> str:
        """Neighbours differ in one row."""
        return "one row"

    def of(self, *columns: str) -> ArraySource:
        """The same rows with some of their columns."""
        return replace(self, known=tuple(self.variable(name) for name in columns))

    def deliver(self, study: PricedStudy) -> Finding:
        """The holder of the arrays pays: the receipt says what it cost."""
        opened = self.paid(study.asked, study.price, study.analyst)
        exact = float(parameters.level("level", study.level))

        def made() -> bytes:
            content = study.compute(opened, secure())
            return finding_of(content, self, study.price, exact, "none (arrays have no ledger)").to_bytes()

        return Finding.from_bytes(guarded(made))

    def paid(self, asked: Mapping[str, Any], price: Price, analyst: str | None) -> Opened:
        """The holder of the arrays pays."""
        if analyst is not None:
            raise parameters.refuse("analyst", "left out where the data are arrays: there is no ledger", analyst)
        return _FromArrays(self)


class _FromArrays(Opened):
    def __init__(self, source: ArraySource) -> None:
        self._source = source

    def _kept(self, names: Sequence[str]) -> tuple[list[NDArray[Any]], NDArray[np.bool_]]:
        """The columns, and which of their rows have all of them."""
        found = [self._source.variable(name).name for name in names]
        kept = np.ones(len(next(iter(self._source.columns.values()))), dtype=bool)
        for name in found:
            kept &= ~self._source.missing[name]
        return [self._source.columns[name] for name in found], kept

    def _present(self, names: Sequence[str]) -> tuple[list[NDArray[Any]], int]:
        columns, kept = self._kept(names)
        return [column[kept] for column in columns], int(kept.sum())

    def meanings(self, *names: str) -> list[str]:
        return [self._source.variable(name).meaning for name in names]

    def tally(self, *asked: Coded) -> tuple[Whole, Whole]:
        _, kept = self._kept([variable_name(each) for each in asked if not isinstance(each, OrMissing)])
        count = int(kept.sum())
        codes = np.empty((len(asked), count), dtype=np.int64).T  # columns lie together: they are written one by one
        for place, each in enumerate(asked):
            inner = each.asked if isinstance(each, OrMissing) else each
            known = self._source.variable(variable_name(each))
            column = self._source.columns[known.name]
            if count < len(kept):  # where nothing is left out, choosing rows would take eight times as long
                column = column[kept]
            codes[:, place] = np.searchsorted(inner.edges, column, side="right") if isinstance(inner, Cut) else column
            if isinstance(each, OrMissing):
                codes[self._source.missing[known.name][kept], place] = missing_code(known, inner)
        return codes, np.ones(count, dtype=np.int64)

    def by_unit(self, *names: str) -> tuple[Whole, Whole]:
        codes, _ = self.tally(*names)
        return codes, np.arange(len(codes), dtype=np.int64)  # a row is a unit

    def totals(
        self, products: Sequence[Sequence[Term]], centres: Mapping[str, int] | None = None, using: Sequence[str] = ()
    ) -> tuple[int, list[int]]:
        used = tuple(using) or tuple(dict.fromkeys(named(term) for product in products for term in product))
        columns, count = self._present(used)
        shifts = {name: int((centres or {}).get(name, 0)) for name in used}
        moved = {name: column - shifts[name] for name, column in zip(used, columns, strict=True)}
        largest = {name: self._largest(name, shifts[name]) for name in used}
        sums = []
        for product in products:
            # 64-bit words where a product surely fits one, otherwise Python's own integers: public bounds decide
            fits = math.prod(1 if isinstance(term, Indicator) else largest[term] for term in product) < 1 << 62
            total = np.ones(count, dtype=np.int64 if fits else object)
            for term in product:
                if isinstance(term, Indicator):
                    own = (moved[term.name] + shifts[term.name] == self._code(term)).astype(np.int64)
                else:
                    own = moved[term]
                total = total * (own if fits else own.astype(object))
            sums.append(exact_sum(total))
        return count, sums

    def _code(self, term: Indicator) -> int:
        """The code of an indicator's value: texts are numbered as they are listed."""
        listed = self._source.variable(term.name)
        return (listed.values or ()).index(term.code) if listed.meaning == "text" else int(term.code)

    def _largest(self, name: str, centre: int) -> int:
        known = self._source.variable(name)
        assert known.low is not None
        assert known.high is not None
        return max(abs(known.low - centre), abs(known.high - centre), 1)


def finding_of(content: Content, source: Source, price: Price, level: float, entry: str) -> Finding:
    facts = {
        "unit": source.neighbours,
        "neighbours": f"{source.neighbours}, added or removed",
        "epsilon": parameters.as_text(price.epsilon),
        "delta": parameters.as_text(price.delta),
        "rows_per_unit": str(source.rows_per_unit),
        "entry": entry,
        "event": price.event.to_json(),
    }
    return Finding(content.title, content.columns, content.notes, dict(content.arrays), level, facts, content.drawing)


def source_of(
    data: Any,
    columns: str | Sequence[str] | None = None,
    *,
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
) -> Source:
    """The source that `data` and `columns` mean.

    data: a `Curator` with columns written "table.column" (all of one table), or rows of a curator, with or without a
    choice of columns; or arrays: a vector, a matrix, or a mapping of names to vectors, with `bounds` (low, high) or
    listed `values`, one for all columns or a mapping by name.
    """
    from tacit.statistics.arrays import array_source

    must_be_here(data)
    chosen = None if columns is None else [columns] if isinstance(columns, str) else list(columns)
    if isinstance(data, Source):
        return data if chosen is None else data.of(*chosen)
    if isinstance(data, (Curator, Rows)):
        for name, given in (("bounds", bounds), ("values", values)):
            if given is not None:
                raise parameters.refuse(name, "left out where a curator has the data: its policy states it", given)
    if isinstance(data, Curator):
        return CuratorSource(rows_of_table(data, chosen, rows_per_unit))
    if isinstance(data, Rows):
        if rows_per_unit is not None:
            raise parameters.refuse("rows_per_unit", "said where the rows are made: curator.rows(...)", rows_per_unit)
        return CuratorSource(data if chosen is None else narrowed(data, chosen))
    if rows_per_unit not in (None, 1):
        raise parameters.refuse("rows_per_unit", "1 for arrays, where every row is a unit", rows_per_unit)
    return array_source(data, chosen, bounds, values)
