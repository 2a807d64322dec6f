"""What methods over the whole domain share: its cells, the counting questions they answer, and the number of rows.

The domain is every combination of cells. A question counts the rows in one cell of one of the workload's tables; a unit
with at most r rows moves each such count by at most r. The number of rows that the model stands for is stated by the
caller, as a public number that need not be right, or bought.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tacit import parameters
from tacit.statistics.source import Whole
from tacit.synthesis.cells import Layout
from tacit.synthesis.merging import plain
from tacit.synthesis.model.fitting import Fitted
from tacit.synthesis.model.tables import Columns, Table, summed
from tacit.synthesis.model.trees import tree_of
from tacit.synthesis.released import Release
from tacit.synthesis.workloads import candidates_of

_MOST_ROWS: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class Questions:
    """The tables whose cells are counted, over a domain with these sizes."""

    sizes: tuple[int, ...]
    tables: tuple[Columns, ...]

    @property
    def cells(self) -> int:
        """How large the domain is."""
        return math.prod(self.sizes)

    @property
    def many(self) -> int:
        """How many questions."""
        return sum(math.prod(self.sizes[place] for place in columns) for columns in self.tables)

    def counts(self, table: Any) -> Any:
        """The answers to all questions, from a table over the whole domain."""
        every = tuple(range(len(self.sizes)))
        return np.concatenate([summed(table, every, columns).reshape(-1) for columns in self.tables])

    def members(self) -> list[Whole]:
        """For each table, the question that each cell of the domain belongs to."""
        at = np.indices(self.sizes).reshape(len(self.sizes), -1)
        found, first = [], 0
        for columns in self.tables:
            shape = tuple(self.sizes[place] for place in columns)
            found.append(first + np.ravel_multi_index(tuple(at[place] for place in columns), shape).astype(np.int64))
            first += math.prod(shape)
        return found


def questions_of(layout: Layout, workload: Any, most: int, hint: str) -> Questions:
    """The cells of the workload's tables and of those inside them; refused where the domain is too large."""
    if math.prod(layout.sizes) > most:
        raise parameters.refuse("cells", f"at most {most:,} combinations of all columns", math.prod(layout.sizes), hint)
    sets = candidates_of(workload, layout.names, layout.sizes)
    return Questions(layout.sizes, tuple(sets))


def stated_rows(rows: int | None) -> int | None:
    """The public number of rows, where one is stated."""
    if rows is None:
        return None
    found = parameters.whole("rows", rows, least=1)
    if found > _MOST_ROWS:
        raise parameters.refuse("rows", f"at most {_MOST_ROWS:,}", rows)
    return found


def released(method: str, layout: Layout, shares: Table, total: float, facts: dict[str, Any]) -> Release:
    """A model whose one clique is the whole domain."""
    every: Columns = tuple(range(len(layout.sizes)))
    tree = tree_of([every], layout.sizes)
    with np.errstate(divide="ignore"):
        potentials = np.log(shares.reshape(layout.sizes))
    merges = tuple(plain(size) for size in layout.sizes)
    return Release(method, layout.fields, (), Fitted(tree, (potentials,), total), merges, facts)


def bounded(noisy: Sequence[int] | Any) -> int:
    """A bought number of rows as one that a model can stand for."""
    return min(max(int(np.asarray(noisy).reshape(-1)[0]), 1), _MOST_ROWS)
