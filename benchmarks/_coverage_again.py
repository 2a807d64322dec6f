"""What a sweep would work out some hundred times over, remembered: it asks the same of the same rows again and again.

Only exact numbers are kept, by the rows they were made of, and what follows from public parameters alone: the scale
that a price buys, and what a price is worth. Noise, choices and intervals are drawn and worked out anew.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from tacit.answer import release
from tacit.loss import calibrate
from tacit.statistics import source
from tacit.statistics.order import interquartile, methods, trimmed

_MOST = 1_000  # kept at a time


def _kept(function: Callable[..., Any], key: Callable[..., Any]) -> Callable[..., Any]:
    memory: dict[Any, Any] = {}

    def again(*given: Any) -> Any:
        name = key(*given)
        if name not in memory:
            if len(memory) >= _MOST:
                memory.clear()
            memory[name] = function(*given)
        return memory[name]

    return again


def _parameters(*given: Any) -> Any:
    return given


def _question(plan: Any) -> Any:
    return plan.event, plan.epsilon, plan.delta


def _line(line: Any, smoothness: Any) -> Any:
    return line.codes.tobytes(), line.low, line.high, line.rank, line.rows, smoothness


def _asked(opened: Any, products: Any, centres: Any = None, using: Any = ()) -> Any:
    columns = tuple((name, codes.tobytes()) for name, codes in opened._source.columns.items())
    missing = tuple(each.tobytes() for each in opened._source.missing.values())
    return columns, missing, tuple(map(tuple, products)), tuple((centres or {}).items()), tuple(using)


@contextlib.contextmanager
def remembered() -> Iterator[None]:
    """While this lasts, equal rows are measured once."""
    with contextlib.ExitStack() as stack:
        for room in (interquartile, methods, trimmed):
            kept = _kept(room.smooth_sensitivity, _line)
            stack.enter_context(mock.patch.object(room, "smooth_sensitivity", kept))
        totals = _kept(source._FromArrays.totals, _asked)
        stack.enter_context(mock.patch.object(source._FromArrays, "totals", totals))
        sigma = _kept(calibrate.discrete_gaussian_sigma, _parameters)
        stack.enter_context(mock.patch.object(calibrate, "discrete_gaussian_sigma", sigma))
        stack.enter_context(mock.patch.object(release, "worth", _kept(release.worth, _question)))
        yield
