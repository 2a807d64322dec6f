"""What a curator does, without a curator: nobody sees a person's data.

    steps = federated.Collection("steps", federated.Histogram(10), key=key, epsilon=1)
    report = steps.client().report(3)       # split between servers, with a proof that it is well formed
    steps.opened([server.release() for server in servers])

TurboSHAKE128, which reports are split with, comes from the extra `tacit[federated]`. A name is fetched from its file
when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tacit.federated.odometer import Odometer
    from tacit.federated.prio.circuits import Count, Sum
    from tacit.federated.prio.collection import Collection, Report, new_key
    from tacit.federated.prio.vectors import Histogram, MultihotCountVec, SumVec
    from tacit.federated.refusals import Refused

__all__ = [
    "Collection",
    "Count",
    "Histogram",
    "MultihotCountVec",
    "Odometer",
    "Refused",
    "Report",
    "Sum",
    "SumVec",
    "new_key",
]

# name -> the file that it lives in
_HOME: Final = {
    "Collection": "prio.collection",
    "Count": "prio.circuits",
    "Histogram": "prio.vectors",
    "MultihotCountVec": "prio.vectors",
    "Odometer": "odometer",
    "Refused": "refusals",
    "Report": "prio.collection",
    "Sum": "prio.circuits",
    "SumVec": "prio.vectors",
    "new_key": "prio.collection",
}


if not TYPE_CHECKING:  # a type checker reads the imports above, and so still notices a misspelt name

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"tacit.federated.{_HOME[name]}"), name)

    def __dir__() -> list[str]:
        return __all__
