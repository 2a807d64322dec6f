"""The release: where an exact result that has been paid for is opened, gets its noise, and becomes an answer.

Promise: noise comes from secure bits only. What is shown of unknown keys, even their order, depends on the data through
noisy choices alone. No failure here says what it was, because it may depend on a row.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tacit import parameters
from tacit.answer.answer import Answer
from tacit.answer.estimate import worth
from tacit.answer.leaves import Run
from tacit.answer.picking import picked
from tacit.engines.exact import Columns, Exact, Keys
from tacit.engines.process import FAILED
from tacit.errors import EngineError, QuestionError
from tacit.ledger import Receipt
from tacit.mechanisms import Gaussian, KeySelection
from tacit.noise import BitSource, SecureBits, secure
from tacit.plan import KnownKeys, Measure, Plan, finish
from tacit.plan.answers.finish import Finished
from tacit.plan.levels import Levels
from tacit.plan.picks.words import off_by
from tacit.plan.plan import Bins


def released(plan: Plan, run: Run, receipt: Receipt, unit: str) -> bytes:
    """The answer as the ledger stores it. The till calls this, and gives no cause if it fails."""
    return release(plan, run, receipt, unit, secure()).to_bytes()


def guarded(compute: Callable[[], bytes]) -> bytes:
    """What `compute` makes of exact numbers that need no ledger, or the engine's one fixed error."""
    try:
        return compute()
    except Exception:  # noqa: BLE001  # its kind and its words may depend on a row
        failed = EngineError(FAILED)
    raise failed  # outside the handler, because an exception keeps the one that was being handled


def release(plan: Plan, run: Run, receipt: Receipt, unit: str, bits: BitSource) -> Answer:
    """Noise on every measure, then everything that is free. The only place where an exact result is opened."""
    if not isinstance(bits, SecureBits):
        raise QuestionError("A release draws its noise from secure bits only. Seeded bits are for tests of samplers.")

    measures = [each for each in plan.measures if each.block == 0]

    def noisy(keys: Keys, columns: Columns) -> tuple[Keys, list[Any]]:
        if isinstance(plan.keys, KnownKeys):
            cells: Keys = list(plan.keys.cells)
            arranged = [_on_cells(plan.keys, each.levels, columns[each.name], keys) for each in measures]
        else:
            assert plan.query.unit_column is not None
            units = columns[plan.query.unit_column]
            if any(isinstance(each.mechanism, KeySelection) for each in plan.measures):
                kept, counts = plan.keys.selection.release_counts(units, bits=bits)
            else:
                kept, counts = plan.keys.selection.choose(units, bits=bits), units
            # sorted, because the order in which an engine returns groups may depend on rows that are not released
            rows = sorted(np.flatnonzero(kept).tolist(), key=lambda row: [(part is None, part) for part in keys[row]])
            cells = [keys[row] for row in rows]
            arranged = [
                # noisy already: the rule that kept the key released its count
                counts[rows] if isinstance(each.mechanism, KeySelection) else columns[each.name][rows]
                for each in measures
            ]
        draws = [
            column if isinstance(each.mechanism, KeySelection) else _drawn(each, column, bits)
            for each, column in zip(measures, arranged, strict=True)
        ]
        return cells, draws

    if measures or not isinstance(plan.keys, KnownKeys):
        cells, own = run(plan.query).open_for(noisy)
    else:  # public cells and nothing to count: everything shown is picked
        cells, own = list(plan.keys.cells), []
    draws = dict(zip((each.name for each in measures), own, strict=True))
    for block, query in enumerate(plan.inner, start=1):
        draws |= _inner(plan, block, run(query), bits, len(cells))
    for each in plan.measures:
        if each.bins is not None:
            draws[each.name] = _in_bins(each, each.bins, run(each.bins.query), cells, bits)
    picks = [column for pick in plan.picks for column in picked(pick, run, cells, bits)]
    table = finish(plan, cells, [draws[each.name] for each in plan.measures], picks)
    laplace = not all(isinstance(each.mechanism, Gaussian) for each in plan.measures)
    noise = ("discrete Laplace" if laplace else "discrete Gaussian") if plan.measures else "none"
    if plan.picks:
        noise = (f"{noise}; " if plan.measures else "") + "values chosen from a public grid (exponential mechanism)"
    bought = "" if isinstance(plan.keys, KnownKeys) else ", and keys chosen by a rule on their number of units"
    facts = {
        "unit": unit,
        "epsilon": parameters.as_text(worth(plan)),
        "delta": parameters.as_text(plan.delta),
        "noise": noise + bought,
        "rows_per_unit": str(plan.rows_per_unit),
        "entry": str(receipt.sequence),
        "event": plan.event.to_json(),
    }
    if plan.picks:  # they have no deviation, because the meaning of a rank depends on the data
        facts["chosen"] = "; ".join(
            f"{each.columns[0].name}: {off_by(each.mechanism, each.step, each.columns[0].meaning)}"
            for each in plan.picks
        )
    if plan.notes:
        facts["notes"] = "\n".join(plan.notes)
    columns = tuple(tuple(_finite(value) for value in column) for column in table.columns)
    deviations = tuple(None if each is None else tuple(map(_bounded, each)) for each in table.deviations)
    return Answer(table.names, table.kinds, columns, deviations, laplace, facts, False, *finished_words(table))


def finished_words(table: Finished) -> tuple[Any, ...]:
    """The other fields of an answer, after values and deviations, in their order: what its intervals need."""
    most = tuple(None if each is None else tuple(each) for each in table.farthest)
    return table.among, table.above, table.whole, most


def _on_cells(known: KnownKeys, levels: Levels | None, column: Any, keys: Keys) -> Any:
    """The measure at every public cell, zero where the query had no row; on levels, summed up from the finest."""
    finest = known.cells if levels is None else tuple(itertools.product(*(each.values or () for each in known.columns)))
    places = {cell: place for place, cell in enumerate(finest)}
    # Python's own integers where there are sums to come: they cannot overflow
    out = np.zeros(len(finest), dtype=column.dtype if levels is None else object)
    for row, key in enumerate(keys):
        if key in places:
            out[places[key]] = column[row] if levels is None else int(column[row])
    return out if levels is None else levels.sums(out)


def _inner(plan: Plan, block: int, exact: Exact, bits: BitSource, size: int) -> dict[str, Any]:
    """The noisy numbers of a question inside, the same for every cell."""
    measures = [each for each in plan.measures if each.block == block]

    def noisy(keys: Keys, columns: Columns) -> dict[str, Any]:
        return {each.name: _drawn(each, columns[each.name], bits) for each in measures}

    return {name: np.repeat(value, size) for name, value in exact.open_for(noisy).items()}


def _in_bins(measure: Measure, bins: Bins, exact: Exact, cells: Keys, bits: BitSource) -> Any:
    """The noisy counts of a histogram, a row for each cell that is shown; bins without rows are zero and noisy too."""
    rows = {cell: place for place, cell in enumerate(cells)}
    places = {value: place for place, value in enumerate(bins.values)}

    def noisy(keys: Keys, columns: Columns) -> Any:
        counts = np.zeros((len(cells), len(bins.values)), dtype=np.int64)
        for row, (*cell, value) in enumerate(keys):
            if tuple(cell) in rows and value in places:
                counts[rows[tuple(cell)], places[value]] = columns[measure.name][row]
        return _drawn(measure, counts.reshape(-1), bits)

    return np.reshape(exact.open_for(noisy), (len(cells), len(bins.values)))


def _drawn(measure: Measure, column: Any, bits: BitSource) -> Any:
    assert not isinstance(measure.mechanism, KeySelection)
    return measure.mechanism.release(column, bits=bits)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _bounded(deviation: float) -> float:
    return deviation if math.isfinite(deviation) else 1e308
