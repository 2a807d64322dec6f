"""A differentially private database and toolbox: ask about everyone, learn little about anyone.

Promise: importing this package is quick and loads neither numpy nor any other library. A name below is
fetched from its room the first time it is used, so a program pays only for the rooms it enters.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tacit.errors import (
        BudgetExceeded,
        EngineError,
        LedgerError,
        ParameterError,
        PolicyError,
        QuestionError,
        TacitError,
    )
    from tacit.loss import Budget

__version__: Final = "0.1.0"

__all__ = [
    "Budget",
    "BudgetExceeded",
    "EngineError",
    "LedgerError",
    "ParameterError",
    "PolicyError",
    "QuestionError",
    "TacitError",
    "__version__",
]

_HOME: Final = {
    "Budget": "tacit.loss",
    "BudgetExceeded": "tacit.errors",
    "EngineError": "tacit.errors",
    "LedgerError": "tacit.errors",
    "ParameterError": "tacit.errors",
    "PolicyError": "tacit.errors",
    "QuestionError": "tacit.errors",
    "TacitError": "tacit.errors",
}


if not TYPE_CHECKING:  # a type checker reads the imports above, and so still notices a misspelt name

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value  # the next look-up finds it without coming here
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
