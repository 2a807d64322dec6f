"""Unknown bounds, bought: a private histogram over powers of two, and the cells that surely hold rows.

The question. `SELECT magnitude(column), count(*) ... GROUP BY 1`: the cells are public (`tacit.policy.cells`), a unit
has at most r rows, so the counts have L1 sensitivity r and get discrete Laplace noise of scale r / epsilon. It is an
ordinary question: planned, charged, stored and replayed like any other. Everything below is computed from its answer,
and costs nothing more.

The rule. Of K cells, let T be the least whole number that the noise of one cell exceeds, in size, with probability at
most FAILURE / K. A cell is *seen* where its noisy count is above T. The interval goes from the first cell seen to the
last.
Theorem. With probability at least 1 - FAILURE no noise exceeds T in size (union bound over the K cells), and then
(a) every cell seen holds a row, so neither end of the interval is there because of noise alone, and
(b) every cell outside the interval was not seen, so it holds at most 2 T of the rows that the working copy has.
The bounds are powers of two, so each is at most twice as far out as the outermost row of its cell.
Source: noisy histograms, Dwork, McSherry, Nissim, Smith 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from tacit.errors import QuestionError
from tacit.mechanisms import Laplace
from tacit.policy import Column, Policy, Table, cells
from tacit.policy.check import did_you_mean
from tacit.policy.columns import LARGEST_INTEGER
from tacit.policy.write import fact_line
from tacit.question.pieces import name as quoted
from tacit.question.stack import room

if TYPE_CHECKING:
    from tacit.answer import Answer
    from tacit.curator.curator import Curator
    from tacit.curator.planner import Planner
    from tacit.curator.walk import Walk
    from tacit.plan import Plan
    from tacit.plan.asked import Asked

FAILURE: Final = Fraction(1, 100)
"""With at most this probability an interval is wider than the rows, or leaves out a cell with many rows."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Bounds for a column: `lower` and `upper` (None where too few rows were seen), what they cost, and how sure.

    `epsilon` is the price of the question; with `repeated`, it was paid before and nothing was charged now. `line` is
    what to put into the policy.

    >>> found = clinic.suggest("visits.charge", "0.5")
    >>> found.lower <= 100 <= found.upper, found.epsilon
    (True, Fraction(1, 2))
    """

    table: str
    column: str
    lower: int | float | None
    upper: int | float | None
    epsilon: Fraction
    repeated: bool
    line: str | None
    sureness: str

    def __str__(self) -> str:
        first = self.line or f"No bounds for {self.table}.{self.column}."
        paid = "paid before, nothing was charged" if self.repeated else "charged"
        return f"{first}\n{self.sureness}\nepsilon {float(self.epsilon):.12g}, {paid}."


@dataclass(frozen=True, slots=True)
class BoundsWanted:
    """The question that buys bounds for a column, and what it is about."""

    walk: Walk
    table: Table
    column: Column

    @classmethod
    def of(cls, planner: Planner, column: str) -> BoundsWanted:
        """Of a column, written table.column. Free."""
        sql, table, found = question_for(planner.policy, column)
        return cls(planner.walk(sql), table, found)


def bought(curator: Curator, wanted: BoundsWanted, asked: Asked) -> Suggestion:
    """The bounds, paid for; or those that are stored, free. What `Curator.suggest` does."""
    with room():
        walk = curator.walk(wanted.walk)
        return suggestion(walk.plan_of_one(asked), curator.ask(walk, asked), wanted.table, wanted.column)


def question_for(policy: Policy, column: str) -> tuple[str, Table, Column]:
    """The question that buys bounds for "table.column", and what it is about."""
    table, found = _column(policy, column)
    if found.kind not in ("integer", "real"):
        raise QuestionError(f"Bounds can be suggested for integer and real columns. {column!r} is a {found.kind}.")
    if table.public:
        raise QuestionError(f"Table {table.name!r} is public: look at it and state the bounds.")
    cell, rows = f"magnitude({quoted(found.name)})", quoted(table.name)
    return f"SELECT {cell} AS cell, count(*) AS n FROM {rows} GROUP BY 1", table, found  # noqa: S608  # quoted names


def suggestion(plan: Plan, answer: Answer, table: Table, column: Column) -> Suggestion:
    """The interval, by the rule above."""
    (measure,) = plan.measures
    mechanism = measure.mechanism
    assert isinstance(mechanism, Laplace)  # the question has no delta and known keys
    assert plan.epsilon is not None
    counts = {int(cell): count for cell, count in zip(answer["cell"], answer["n"], strict=True) if cell is not None}
    threshold = threshold_of(mechanism, len(counts))
    seen = sorted(cell for cell, count in counts.items() if count > threshold)
    chance = f"{100 * (1 - float(FAILURE)):g} %"
    if not seen:
        sureness = (
            f"Too few rows at this epsilon: with {chance} certainty no power of two holds more than "
            f"{2 * threshold:,} rows. Ask with a larger epsilon, or state bounds that you know."
        )
        return Suggestion(table.name, column.name, None, None, plan.epsilon, answer.repeated, None, sureness)
    lower, upper = bounds_of(column, seen[0], seen[-1])
    sureness = (
        f"With {chance} certainty both ends were reached by rows, and no power of two outside them holds more than "
        f"{2 * threshold:,} rows (at most {plan.rows_per_unit:,} of one unit were counted)."
    )
    line = fact_line(column, lower, upper)
    return Suggestion(table.name, column.name, lower, upper, plan.epsilon, answer.repeated, line, sureness)


def threshold_of(mechanism: Laplace, count: int) -> int:
    """T: a size that the noise of none of this many cells exceeds, except with probability FAILURE."""
    return int(mechanism.error(1 - FAILURE / count))


def bounds_of(column: Column, first: int, last: int) -> tuple[int | float, int | float]:
    """The bounds that hold every number in the cells from the first to the last."""
    lower, upper = cells.lower_end(first), cells.upper_end(last)
    if column.kind == "integer":
        # a whole number below 2**e is at most 2**e - 1; the policy holds whole numbers up to 2**62
        below, above = int(lower) + (first < 0), int(upper) - (last > 0)
        return max(below, -LARGEST_INTEGER), min(above, LARGEST_INTEGER)
    if lower == upper:
        upper = Fraction(1)  # all numbers are zero, and a real column needs a range wider than a point
    return float(lower), float(upper)


def _column(policy: Policy, asked: str) -> tuple[Table, Column]:
    known = [
        (f"{table.name}.{name}", table, column)
        for table in policy.tables.values()
        for name, column in table.columns.items()
    ]
    meant = [(table, column) for text, table, column in known if text.casefold() == str(asked).casefold()]
    if len(meant) != 1:  # names may contain dots, so there may be two readings
        texts = [text for text, _, _ in known]
        raise QuestionError(
            f"{asked!r} is {'no column' if not meant else 'two columns'} of the policy, written table.column. "
            f"Columns: {', '.join(texts)}.{'' if meant else did_you_mean(str(asked), texts)}"
        )
    return meant[0]
