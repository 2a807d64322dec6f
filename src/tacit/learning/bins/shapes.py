"""What a column adds to a model's scores, to look at: a table, and a chart in the style of every other finding.

Promise: made of released tables and public edges, so looking is free. There are no intervals: what was released does
not say what a table would be without noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tacit import parameters
from tacit.statistics.finding import Finding, column

_NOTE = "Made of released numbers: looking at it is free. A table's mean over the rows is 0."


def shape_of(model: Any, name: str, scores: Sequence[str], what: str) -> Finding:
    """One column's table: a curve over the middles of the bins of a number, or a bar for each listed value."""
    check_is_fitted(model)
    names = [each.name for each in model._features]
    if str(name) not in names:
        raise parameters.refuse("column", f"one of {', '.join(names)}", name)
    place = names.index(str(name))
    own, table = model._bins[place], model._tables[place]
    added = tuple(column(f"adds to {score}", table[:, number]) for number, score in enumerate(scores))
    if own.is_ordered:
        ends = np.array(own.ends)
        first = (column(own.feature.name, (ends[:-1] + ends[1:]) / 2),)
    else:
        first = (column(own.feature.name, [str(label) for label in own.labels]),)
    title = f"What {own.feature.name} adds to {what} {', '.join(scores)}"
    return _finding(model, title, (*first, *added), "line" if own.is_ordered and own.size > 1 else "bars")


def shapes_of(model: Any, scores: Sequence[str], what: str) -> Finding:
    """All columns' tables, one below the other."""
    check_is_fitted(model)
    bins = model._bins
    names = [each.feature.name for each in bins for _ in range(each.size)]
    labels = [str(label) for each in bins for label in each.labels]
    whole = np.vstack(model._tables)
    added = tuple(column(f"adds to {score}", whole[:, number]) for number, score in enumerate(scores))
    title = f"What columns add to {what} {', '.join(scores)}"
    return _finding(model, title, (column("column", names), column("bin", labels), *added), "bars")


def _finding(model: Any, title: str, columns: tuple[Any, ...], drawing: str) -> Finding:
    paid = model.finding_
    return Finding(title, columns, (_NOTE,), {}, paid.level, dict(paid.facts), drawing, repeated=True)
