"""The release: where an exact result that has been paid for is opened, gets its noise, and becomes an answer.

Promise: noise comes from secure bits only. What is shown of unknown keys, also their order, depends on the data through
noisy choices alone. Nothing that goes wrong here says what it was: it may have to do with a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import parameters
from tacit.answer.answer import Answer
from tacit.engines.exact import Columns, Exact, Keys
from tacit.engines.process import FAILED
from tacit.errors import EngineError, QuestionError, TacitError
from tacit.ledger import Receipt
from tacit.loss import compose
from tacit.mechanisms import Laplace
from tacit.noise import BitSource, SecureBits, secure
from tacit.plan import KnownKeys, Plan, finish


def released(plan: Plan, run: Callable[[], Exact], receipt: Receipt, unit: str) -> bytes:
    """The answer as the ledger stores it, or the engine's one fixed error. `run` is the paid query."""
    try:
        return release(plan, run(), receipt, unit, secure()).to_bytes()
    except (ArithmeticError, AssertionError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError):
        failed = EngineError(FAILED)
    except TacitError:
        failed = EngineError(FAILED)
    raise failed  # outside the handler, because an exception keeps the one that was being handled


def release(plan: Plan, exact: Exact, receipt: Receipt, unit: str, bits: BitSource) -> Answer:
    """Noise on every measure, then everything that is free. The only place where an exact result is opened."""
    if not isinstance(bits, SecureBits):
        raise QuestionError("A release draws its noise from secure bits only. Seeded bits are for tests of samplers.")

    def noisy(keys: Keys, columns: Columns) -> tuple[Keys, list[Any]]:
        if isinstance(plan.keys, KnownKeys):
            places = {cell: place for place, cell in enumerate(plan.keys.cells)}
            found = [(places[key], row) for row, key in enumerate(keys) if key in places]
            cells: Keys = list(plan.keys.cells)
            arranged = [_arranged(columns[each.name], found, len(cells)) for each in plan.measures]
        else:
            assert plan.query.unit_column is not None
            kept = plan.keys.selection.choose(columns[plan.query.unit_column], bits=bits)
            # sorted, because the order in which an engine returns groups may depend on rows that are not released
            rows = sorted(np.flatnonzero(kept).tolist(), key=lambda row: [(part is None, part) for part in keys[row]])
            cells = [keys[row] for row in rows]
            arranged = [columns[each.name][rows] for each in plan.measures]
        draws = [
            each.mechanism.release(column, bits=bits) for each, column in zip(plan.measures, arranged, strict=True)
        ]
        return cells, draws

    table = finish(plan, *exact.open_for(noisy))
    laplace = any(isinstance(each.mechanism, Laplace) for each in plan.measures)
    noise = ("discrete Laplace" if laplace else "discrete Gaussian") if plan.measures else "none"
    chosen = "" if isinstance(plan.keys, KnownKeys) else ", and keys chosen by a rule on their number of units"
    facts = {
        "unit": unit,
        "epsilon": _worth(plan),
        "delta": parameters.as_text(plan.delta),
        "noise": noise + chosen,
        "rows_per_unit": str(plan.rows_per_unit),
        "entry": str(receipt.sequence),
        "event": plan.event.to_json(),
    }
    columns = tuple(tuple(_finite(value) for value in column) for column in table.columns)
    deviations = tuple(None if each is None else tuple(map(_bounded, each)) for each in table.deviations)
    return Answer(table.names, table.kinds, columns, deviations, laplace, facts)


def _arranged(column: Any, found: list[tuple[int, int]], size: int) -> Any:
    """The measure at every public cell, zero where the query had no row."""
    out = np.zeros(size, dtype=column.dtype)
    for place, row in found:
        out[place] = column[row]
    return out


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _bounded(deviation: float) -> float:
    return float(deviation) if np.isfinite(deviation) else 1e308


def _worth(plan: Plan) -> str:
    """The epsilon asked for; for a rho, what it is worth at the delta asked for, rounded up to six digits behind."""
    if plan.epsilon is not None:
        return parameters.as_text(plan.epsilon)
    return parameters.as_text(Fraction(math.ceil(compose([plan.event]).epsilon(plan.delta) * 10**6), 10**6))
