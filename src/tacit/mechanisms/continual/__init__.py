"""Running totals that are released at every step and paid for once. `running` chooses between `matrix` and `tree`."""

from __future__ import annotations

from tacit.mechanisms.continual.protects import Change, Protects, any_window, one_event, one_user
from tacit.mechanisms.continual.running import Course, RunningTotals

__all__ = ["Change", "Course", "Protects", "RunningTotals", "any_window", "one_event", "one_user"]


def __dir__() -> list[str]:
    return __all__
