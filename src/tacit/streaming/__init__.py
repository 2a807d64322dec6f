"""Answers all the time, paid for once; and statistics whose memory may be read.

    visits = streaming.RunningCount(365, epsilon=1, delta=1e-6, path="visits.stream")
    visits.step(rows_of_today)

`clinic.watch` asks a question in SQL this way, over a table that grows in time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tacit.ledger.journal import Journal
    from tacit.mechanisms.continual import Change, RunningTotals, any_window, one_event, one_user
    from tacit.streaming.changes import Alarm
    from tacit.streaming.heavy import HeavyHitters
    from tacit.streaming.panprivate import Counter, Cropped, Density, Distinct
    from tacit.streaming.quantiles import RunningQuantiles
    from tacit.streaming.streams import RunningCount, RunningHistogram, RunningMean, RunningSum, Sliding

__all__ = [
    "Alarm",
    "Change",
    "Counter",
    "Cropped",
    "Density",
    "Distinct",
    "HeavyHitters",
    "Journal",
    "RunningCount",
    "RunningHistogram",
    "RunningMean",
    "RunningQuantiles",
    "RunningSum",
    "RunningTotals",
    "Sliding",
    "any_window",
    "one_event",
    "one_user",
]

_HOMES: Final = {
    "tacit.mechanisms.continual": ("Change", "RunningTotals", "any_window", "one_event", "one_user"),
    "tacit.streaming.changes": ("Alarm",),
    "tacit.streaming.heavy": ("HeavyHitters",),
    "tacit.ledger.journal": ("Journal",),
    "tacit.streaming.panprivate": ("Counter", "Cropped", "Density", "Distinct"),
    "tacit.streaming.quantiles": ("RunningQuantiles",),
    "tacit.streaming.streams": ("RunningCount", "RunningHistogram", "RunningMean", "RunningSum", "Sliding"),
}
_HOME: Final = {name: module for module, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # a type checker reads the imports above, and so still notices a misspelt name

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_HOME[name]), name)

    def __dir__() -> list[str]:
        return __all__
