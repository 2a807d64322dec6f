"""Made-up rows, on which a study is tried before it is paid for.

Promise: made from public facts alone, the columns' bounds and listed values, and a number of rows that the asker names.
Every column is spread evenly over its bounds (over its listed values), and the columns are unrelated.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.curator import Price
from tacit.errors import QuestionError
from tacit.loss import events
from tacit.plan.row_plan import Variable
from tacit.statistics.source import ArraySource, Opened, Source, Stage, Whole


@dataclass(frozen=True, slots=True)
class MadeUp(Stage):
    """This many rows, spread evenly."""

    rows: int

    def opened(self, source: Source) -> Opened:
        """Rows with the columns of this source."""
        order = np.random.default_rng(self.rows)  # nothing is secret: the rows are the same each time
        columns = {each.name: order.permutation(_spread(each, self.rows)) for each in source.variables}
        missing = {name: np.zeros(self.rows, dtype=bool) for name in columns}
        made = ArraySource(source.variables, columns, missing)
        return made.paid({}, Price(events.Composed(()), Fraction(0)), None)


def _spread(variable: Variable, rows: int) -> Whole:
    """The middles of as many equal parts of the range as there are rows, as codes."""
    parts = (np.arange(rows) + 0.5) / max(rows, 1)
    if variable.values is not None:
        places = np.floor(parts * len(variable.values)).astype(np.int64)
        if variable.meaning == "text":
            return places
        return np.array(variable.values, dtype=np.int64)[places]
    if variable.low is None or variable.high is None:
        raise QuestionError(f"Nothing public says where the values of {variable.name!r} lie.")
    inside = np.rint(variable.low + parts * (variable.high - variable.low))
    return np.clip(inside, variable.low, variable.high).astype(np.int64)
