"""Exact numbers of a curator's rows, counted in its engine: codes that are read by the million, and exact sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.answer.release import guarded
from tacit.plan.row_plan import Coded, RowPlan
from tacit.plan.row_words import COUNT
from tacit.statistics.opened import Opened, Term, Whole, named, together

_FEW_CELLS = 22  # bits: with no more cells than this, the engine counts those that have rows
_PART_BYTES = 1 << 29  # of words that are on their way at once


class EngineRows(Opened):
    """Rows of a plan, and what runs its queries once they are paid for."""

    def __init__(self, plan: RowPlan, run: Any, guard: Callable[[Callable[[], bytes]], bytes] = guarded) -> None:
        self._plan, self._run, self._guard = plan, run, guard

    def guarded(self, compute: Callable[[], bytes]) -> bytes:
        return self._guard(compute)

    def meanings(self, *names: str) -> list[str]:
        return [self._plan.variable(name).meaning for name in names]

    def other(self, source: Any) -> Opened:
        return EngineRows(source.rows.plan, self._run, self._guard)

    def tally(self, *asked: Coded) -> tuple[Whole, Whole]:
        columns, rows = self.columns(*asked)
        codes = np.empty((len(asked), len(rows)), dtype=np.int64).T  # columns lie together: they are written one by one
        for place, column in enumerate(columns):
            codes[:, place] = column
        return codes, rows

    def columns(self, *asked: Coded) -> tuple[list[NDArray[Any]], Whole]:
        """Read in 64-bit words, and a large table in parts, so that little is held on the way."""
        if not asked:
            return [], np.array([self.totals([])[0]], dtype=np.int64)
        digits = self._plan.layout(asked)
        grouped = sum(each.bits for each in digits) <= _FEW_CELLS
        parts = 1 if grouped else self._parts(digits[-1].word + 1)
        found = [
            self._part(asked, grouped or parts > 1, (number, parts) if parts > 1 else None) for number in range(parts)
        ]
        if parts == 1:
            return found[0]
        columns = [np.concatenate([own[place] for own, _ in found]) for place in range(len(asked))]
        return columns, np.concatenate([rows for _, rows in found])

    def _parts(self, words: int) -> int:
        """A power of two; all that it uses of the table's size is between which powers of two that lies.

        Each part is one more query, and the time shows it. If the number of parts followed the rows that a condition
        leaves, an asker could choose the condition so that one person decides about a part.
        """
        query, factor = self._plan.size()
        count = self._run(query).open_for(lambda _, columns: int(columns[COUNT][0]))
        most = 8 * words * factor * power_above(count)
        return power_above(-(-most // _PART_BYTES))

    def _part(
        self, asked: Sequence[Coded], grouped: bool, part: tuple[int, int] | None
    ) -> tuple[list[NDArray[Any]], Whole]:
        query, digits = self._plan.words(asked, grouped=grouped, part=part)

        def read(_: Any, columns: Any) -> tuple[list[NDArray[Any]], Whole]:
            words = [columns[name] for name in query.measure_columns[: digits[-1].word + 1]]
            found = [each.read(words) for each in digits]
            return found, columns[COUNT] if grouped else np.ones(len(words[0]), dtype=np.int64)

        pair: tuple[list[NDArray[Any]], Whole] = self._run(query).open_for(read)
        return pair

    def by_unit(self, *names: str) -> tuple[Whole, Whole]:
        query, digits = self._plan.unit_words(names)

        def read(_: Any, columns: Any) -> tuple[Whole, Whole]:
            words = [columns[name] for name in query.measure_columns]
            codes = np.stack([each.read(words).astype(np.int64) for each in digits[:-1]], axis=1)
            return codes, digits[-1].read(words).astype(np.int64)

        pair: tuple[Whole, Whole] = self._run(query).open_for(read)
        return together(*pair)

    def totals(
        self, products: Sequence[Sequence[Term]], centres: Mapping[str, int] | None = None, using: Sequence[str] = ()
    ) -> tuple[int, list[int]]:
        used = tuple(using) or tuple(dict.fromkeys(named(term) for product in products for term in product))
        query = self._plan.totals(products, centres or {}, used)

        def read(keys: Any, columns: Any) -> tuple[int, list[int]]:
            count, *sums = (int(columns[name][0]) for name in query.measure_columns)
            return count, sums

        found: tuple[int, list[int]] = self._run(query).open_for(read)
        return found


def power_above(count: int) -> int:
    """The least power of two that is at least this large."""
    return 1 << max(0, count - 1).bit_length()
