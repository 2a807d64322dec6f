"""No collector is trusted: people randomise their answers before they send them.

    survey = local.Survey(tacit.one_of("yes", "no"), epsilon=1)
    report = survey.client().answer("yes")
    survey.collect(reports)

`client` and `odometer` are what runs at a person's home: they need the standard library alone, so a name is fetched
from its file when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tacit.local.checks import Refused
    from tacit.local.client import Client, Report
    from tacit.local.odometer import Odometer
    from tacit.local.survey import Batch, Survey, Vector
    from tacit.local.texts import TextSurvey

__all__ = ["Batch", "Client", "Odometer", "Refused", "Report", "Survey", "TextSurvey", "Vector"]

# name -> the file that it lives in
_HOME: Final = {
    "Batch": "survey",
    "Client": "client",
    "Odometer": "odometer",
    "Refused": "checks",
    "Report": "client",
    "Survey": "survey",
    "TextSurvey": "texts",
    "Vector": "survey",
}


if not TYPE_CHECKING:  # a type checker reads the imports above, and so still notices a misspelt name

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"tacit.local.{_HOME[name]}"), name)

    def __dir__() -> list[str]:
        return __all__
