"""`best`: the method for these columns and this budget, decided by public sizes alone.

Promise: which method is taken follows from the columns' public facts, the budget and the number of columns, never from
a row; what is charged and stored is that method's own release, under its own name. Asking the method by name finds the
same release again, free.

  * One column, or no delta: `independent`. A single column needs no choices, and among the methods that scale only this
    one has a pure guarantee.
  * Up to MOST_COLUMNS columns: `aim`. Each of its rounds looks at every pair of columns, so the work grows with the
    square of their number.
  * More columns: `residual`, whose rounds look at tables of pairs alone, and which needs no model to measure them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tacit import parameters
from tacit.curator.elsewhere import passed_on
from tacit.parameters import Number
from tacit.statistics.domains import Bins
from tacit.statistics.source import source_of
from tacit.synthesis.aim import Progress, aim
from tacit.synthesis.independent import independent
from tacit.synthesis.residual import residual
from tacit.synthesis.synthetic import Synthetic

MOST_COLUMNS: Final = 32


@passed_on
def best(
    data: Any,
    *,
    epsilon: Number,
    delta: Number = 0,
    bins: Mapping[str, Bins] | int | str | None = None,
    bounds: Any = None,
    values: Any = None,
    nulls: Any = None,
    constraints: Any = None,
    prior: Any = None,
    analyst: str | None = None,
    progress: Progress | None = None,
) -> Synthetic:
    """A table by the method that suits its columns: `aim`, `residual` for many, `independent` if need be.

    data: rows of a curator, or arrays with `bounds` and `values`. bins: how columns of many numbers are cut: numbers,
    edges, or "private" for quantiles that a tenth of the budget buys.
    nulls: columns whose missing values are kept, or True for all that may miss one.
    constraints: public conditions that every drawn row keeps. prior: public rows to start from. progress: called with
    the share of the budget that is used, where the method goes in rounds.

    >>> people = {"sex": ["F", "M", "F"], "ward": ["A", "B", "B"]}
    >>> best(people, values={"sex": ["F", "M"], "ward": ["A", "B"]}, epsilon=1, delta=1e-6).columns
    ('sex', 'ward')
    """
    source = source_of(data, bounds=bounds, values=values)
    _, exact_delta = parameters.budget(epsilon, delta)
    wanted: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "bins": bins,
        "bounds": bounds,
        "values": values,
        "nulls": nulls,
        "constraints": constraints,
        "prior": prior,
        "analyst": analyst,
    }
    method = method_for(len(source.variables), has_delta=exact_delta > 0)
    if method == "aim":
        return aim(data, progress=progress, **wanted)
    if method == "residual":
        for name in ("constraints", "prior"):
            if wanted.pop(name) is not None:
                hint = f"With more than {MOST_COLUMNS} columns residual is the best method, and takes none: use mst."
                raise parameters.refuse(name, "left out", "given", hint)
        return residual(data, progress=progress, **wanted)
    return independent(data, **wanted)


def method_for(columns: int, *, has_delta: bool) -> str:
    """The name of the method."""
    if columns == 1 or not has_delta:
        return "independent"
    return "aim" if columns <= MOST_COLUMNS else "residual"
