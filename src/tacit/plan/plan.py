"""The plan of an answer: what is computed exactly, what noise is added, what it costs, and how the answer is finished.

Promise: a plan is made from the question and the policy alone. Its query returns whole numbers, one row for each cell
that has rows; `measures` says which column gets which noise; `event` is what the release costs, all of it.

How an answer is made from a plan (`tacit.plan.answers.finish` does the last step):
1. run `query`: columns `query.key_columns`, then `query.measure_columns`, and `query.unit_column` for unknown keys;
2. known keys: arrange the cells as `keys.cells` lists them, zero where the query had no row, and drop any other row;
   unknown keys: keep what `keys.selection.choose(unit counts)` keeps, and use nothing of the others;
3. measure i: `measures[i].mechanism.release(column i)`, with `bins` of its own query's numbers of all bins of the
   cells, zero where there was no row; where the mechanism is `keys.selection` itself, steps 2 and 3 are one:
   `keys.selection.release_counts(unit counts)` says which keys are kept, and their noisy counts;
4. `finish(plan, keys, noisy)`, which first finds the measures that were released `together` from their noisy parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal as OneOf
from typing import TypeAlias

from sqlglot import exp

from tacit.loss.events import Event
from tacit.mechanisms import Gaussian, KeySelection, Laplace
from tacit.plan.answers.formulas import Formula
from tacit.plan.answers.summaries import Summary
from tacit.plan.columns import KeyColumn, RawKey
from tacit.plan.levels import Levels
from tacit.plan.picks.part import PickMechanism
from tacit.plan.picks.rank_probe import NUMBER, PROBED, VALUES, Probe, probe_query, reading_query
from tacit.plan.picks.rank_query import Keyed
from tacit.plan.together import Shape, Together
from tacit.plan.work import NONE, Work
from tacit.question import tree

MeasureKind: TypeAlias = OneOf["count_rows", "count", "count_units", "count_some_units", "sum", "histogram"]


@dataclass(frozen=True, slots=True)
class Query:
    """One SELECT over the working copy. `text` renders it in an engine's dialect."""

    ast: exp.Select
    key_columns: tuple[str, ...]
    measure_columns: tuple[str, ...]
    unit_column: str | None
    few: bool = False
    """Whether public facts say that it has few rows: one, or one for each of a few listed keys."""

    def text(self, dialect: str = "duckdb", *, pretty: bool = False) -> str:
        """The query as SQL."""
        return self.ast.sql(dialect=dialect, pretty=pretty)


@dataclass(frozen=True, slots=True)
class Bins:
    """The bins of a histogram: a query with a row for each key and bin, and the bins' names there, in order."""

    query: Query
    values: tuple[RawKey, ...]


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far one unit, added or removed, can move a measure's vector of cells; whole numbers on the measure's grid."""

    l1: int
    l2: Fraction
    linf: int
    l0: int
    reason: str


@dataclass(frozen=True, slots=True)
class Measure:
    """One integer column of the query and its noise. It means number * step (+ centre for each row).

    Of measures that are released `together` the column is a part: `sensitivity` and `mechanism` are those of all parts,
    everything else is the measure's own.
    """

    name: str
    kind: MeasureKind
    centre: Fraction
    step: Fraction
    sensitivity: Sensitivity
    mechanism: Laplace | Gaussian | KeySelection  # the last one where the rule for unknown keys releases the count too
    deviation: float  # the standard deviation of the measure's noise in grid units
    levels: Levels | None  # the levels it is released on, where there are several
    block: int  # 0: a column of the query; 1, 2, ...: of the query of a question inside; beyond: of its own (`bins`)
    typical: Fraction  # what a row adds on average where values are spread evenly over their bounds, in grid units
    bins: Bins | None = None  # where it has a number for every bin of a cell
    together: Together | None = None  # where its column is a part from which several measures are found
    largest: int = 1  # the most that one row adds to the measure, in grid units
    shape: Shape | None = None  # what a row adds, by where its value lies; None: the same everywhere

    @property
    def l1(self) -> int:
        """L1 sensitivity in grid units."""
        return self.sensitivity.l1

    @property
    def l2(self) -> Fraction:
        """L2 sensitivity in grid units, rounded up."""
        return self.sensitivity.l2

    @property
    def linf(self) -> int:
        """The most one cell changes, in grid units."""
        return self.sensitivity.linf


@dataclass(frozen=True, slots=True)
class Pick:
    """Values of one column that are chosen in every cell; the place p of the grid is low + p * stride, or values[p].

    `query` has the ranks near the wanted ones, or for a mode the values; `probe` and `reading` ask for more (`ranked`).
    """

    mechanism: PickMechanism
    query: Query
    ranked: Keyed | None
    columns: tuple[KeyColumn, ...]
    low: int
    stride: int
    values: tuple[RawKey, ...] | None
    step: Fraction | None = None  # values within the same step of this are one point; None: all are told apart

    def raw(self, point: int) -> RawKey:
        """A place of the grid in the query's own numbers."""
        return self.low + point * self.stride if self.values is None else self.values[point]

    def probe(self, cells: Sequence[tuple[RawKey, ...]], probes: Sequence[Probe]) -> Query:
        """The query for the ranks of single points in these cells."""
        assert self.ranked is not None
        return Query(probe_query(self.ranked, cells, probes), (NUMBER,), PROBED, None)

    def reading(self, cells: Sequence[tuple[RawKey, ...]], stretches: Sequence[Probe]) -> Query:
        """The query for all rows of stretches in these cells."""
        assert self.ranked is not None
        return Query(reading_query(self.ranked, cells, stretches), (), (VALUES,), None)


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """Every cell is public: all combinations of the keys' values, in order. Without GROUP BY there is one, ().

    With `levels` the cells are those of all levels, and the query returns the finest ones, from which they are summed.
    """

    columns: tuple[KeyColumn, ...]
    cells: tuple[tuple[RawKey, ...], ...] = field(repr=False)
    levels: Levels | None = None


@dataclass(frozen=True, slots=True)
class UnknownKeys:
    """Cells are found in the data: a rule on the number of units in each decides which may be named."""

    columns: tuple[KeyColumn, ...]
    selection: KeySelection


@dataclass(frozen=True, slots=True)
class OutputPlan:
    """A column of the answer: computed from noisy measures by a formula, or a key shown as it is."""

    name: str
    kind: str  # integer, real, text, date, timestamp or boolean; or several of them in a cell (`nested`)
    formula: Formula
    picked: bool = False  # whether a picked value is part of it: then no deviation can be stated


@dataclass(frozen=True, slots=True)
class Expected:
    """How far an output will be off: the noise's standard deviation in a cell with this many rows (None: any number).

    Where that depends on the values too, `deviation` and `within_95` are for values spread evenly over their bounds,
    and `at_most_95` is the largest `within_95` wherever they lie (None where that is not known).
    """

    name: str
    rows: int | None
    deviation: float
    within_95: float
    at_most_95: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """How one question will be answered. `question` has its names resolved; `tables` are the private ones it reads."""

    question: tree.Question
    query: Query
    inner: tuple[Query, ...]  # of the questions inside: one row each
    keys: KnownKeys | UnknownKeys
    measures: tuple[Measure, ...]
    picks: tuple[Pick, ...]
    outputs: tuple[OutputPlan, ...]
    having: Formula | None
    qualify: Formula | None
    order: tuple[tuple[Formula, bool, bool], ...]
    limit: int | None
    rows_per_unit: int
    tables: tuple[str, ...]
    epsilon: Fraction | None
    delta: Fraction
    event: Event
    work: Work = NONE  # the most that the rows of one unit can cause
    told: Callable[[], tuple[str, ...]] = field(default=tuple, repr=False, compare=False)
    offset: int = 0
    notes: tuple[str, ...] = ()  # the answer's notes: what was left out, what cannot be known
    summary: Summary | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """The plan in plain words, one numbered sentence for each decision."""
        return self.told()

    @property
    def bundles(self) -> tuple[Together, ...]:
        """The measures that are released together."""
        return tuple({each.together.places: each.together for each in self.measures if each.together}.values())

    @property
    def schema(self) -> tuple[tuple[str, str], ...]:
        """(name, kind) of every column of the answer."""
        return tuple((output.name, output.kind) for output in self.outputs)

    @property
    def shown_columns(self) -> tuple[KeyColumn, ...]:
        """The keys, then the values that are picked."""
        return (*self.keys.columns, *(column for pick in self.picks for column in pick.columns))

    @property
    def queries(self) -> tuple[Query, ...]:
        """Every query that is pushed down, whatever the data are."""
        return (*self.counted, *(pick.query for pick in self.picks))

    @property
    def counted(self) -> tuple[Query, ...]:
        """The queries of the measures, by their `block`."""
        return (self.query, *self.inner, *(each.bins.query for each in self.measures if each.bins is not None))

    @property
    def errors(self) -> tuple[Expected, ...]:
        """What is expected of every noisy output whose noise does not depend on the data."""
        from tacit.plan.answers.expected import expected_errors

        return tuple(each for each in expected_errors(self, None) if each.rows is None)

    def errors_at(self, rows: int) -> tuple[Expected, ...]:
        """What is expected of every noisy output in a cell with this many rows."""
        from tacit.plan.answers.expected import expected_errors

        return expected_errors(self, rows)


def names(items: Sequence[OutputPlan]) -> tuple[str, ...]:
    """The outputs' names."""
    return tuple(item.name for item in items)
