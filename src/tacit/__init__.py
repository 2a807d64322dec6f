"""A differentially private database and toolbox: ask about everyone, learn little about anyone.

Promise: importing this package is quick and loads neither numpy nor any other library. A name below is
fetched from its room the first time it is used, so a program pays only for the rooms it enters. Rooms are
reached the same way: `tacit.statistics` after `import tacit`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import tacit.audit as audit
    import tacit.federated as federated
    import tacit.learning as learning
    import tacit.local as local
    import tacit.statistics as statistics
    import tacit.streaming as streaming
    import tacit.synthesis as synthesis
    from tacit.answer import Answer
    from tacit.curator import Curator, protect
    from tacit.curator import open_policy as open
    from tacit.doors.connect import connect
    from tacit.errors import (
        BudgetExceeded,
        Cancelled,
        EngineError,
        LedgerError,
        ParameterError,
        PolicyError,
        QuestionError,
        Stopped,
        TacitError,
    )
    from tacit.loss import Budget
    from tacit.policy import anything, auto, between, date_between, one_of

__version__: Final = "0.1.0"

__all__ = [
    "Answer",
    "Budget",
    "BudgetExceeded",
    "Cancelled",
    "Curator",
    "EngineError",
    "LedgerError",
    "ParameterError",
    "PolicyError",
    "QuestionError",
    "Stopped",
    "TacitError",
    "__version__",
    "anything",
    "audit",
    "auto",
    "between",
    "connect",
    "date_between",
    "federated",
    "learning",
    "local",
    "one_of",
    "open",
    "protect",
    "statistics",
    "streaming",
    "synthesis",
]

_ROOMS: Final = ("audit", "federated", "learning", "local", "statistics", "streaming", "synthesis")

# name -> its room, and what it is called there
_HOME: Final = {
    "Answer": ("tacit.answer", "Answer"),
    "Budget": ("tacit.loss", "Budget"),
    "BudgetExceeded": ("tacit.errors", "BudgetExceeded"),
    "Cancelled": ("tacit.errors", "Cancelled"),
    "Curator": ("tacit.curator", "Curator"),
    "EngineError": ("tacit.errors", "EngineError"),
    "LedgerError": ("tacit.errors", "LedgerError"),
    "Stopped": ("tacit.errors", "Stopped"),
    "ParameterError": ("tacit.errors", "ParameterError"),
    "PolicyError": ("tacit.errors", "PolicyError"),
    "QuestionError": ("tacit.errors", "QuestionError"),
    "TacitError": ("tacit.errors", "TacitError"),
    "anything": ("tacit.policy", "anything"),
    "auto": ("tacit.policy", "auto"),
    "between": ("tacit.policy", "between"),
    "connect": ("tacit.doors.connect", "connect"),
    "date_between": ("tacit.policy", "date_between"),
    "one_of": ("tacit.policy", "one_of"),
    "open": ("tacit.curator", "open_policy"),
    "protect": ("tacit.curator", "protect"),
}


if not TYPE_CHECKING:  # a type checker reads the imports above, and so still notices a misspelt name

    def __getattr__(name: str) -> Any:
        if name in _ROOMS:
            return importlib.import_module(f"tacit.{name}")
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        room, called = _HOME[name]
        value = getattr(importlib.import_module(room), called)
        globals()[name] = value  # the next look-up finds it without coming here
        return value

    def __dir__() -> list[str]:
        return __all__
