"""What a curator does, without a curator: no party sees a person's data.

    steps = federated.Collection("steps", federated.Histogram(10), key=key, epsilon=1)
    report = steps.client().report(3)       # split between servers, with a proof that it is well formed
    steps.opened([server.release() for server in servers])

    client = federated.Client(setup, 3, identity, vector)      # its vector leaves under masks that cancel in the sum

TurboSHAKE128, which splits reports, comes from the extra `tacit[federated]`. A name is fetched from its file
when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tacit.federated.aggregation.client import Client
    from tacit.federated.aggregation.keys import Identity
    from tacit.federated.aggregation.server import Server
    from tacit.federated.aggregation.setup import Setup
    from tacit.federated.aggregation.simulate import new_round, simulated
    from tacit.federated.distributed.private_sum import Finding, PrivateSum
    from tacit.federated.distributed.shares import NoiseShares
    from tacit.federated.distributed.studies import count, frequent_texts, histogram, mean, quantile
    from tacit.federated.distributed.tasks import Average, Tally, VectorAverage
    from tacit.federated.fitting import fit
    from tacit.federated.odometer import Odometer
    from tacit.federated.poplar.heavy_hitters import HeavyHitters
    from tacit.federated.prio.circuits import Count, Sum
    from tacit.federated.prio.collection import Collection, Report, new_key
    from tacit.federated.prio.vectors import Histogram, MultihotCountVec, SumVec
    from tacit.federated.refusals import Ended, Refused

__all__ = [
    "Average",
    "Client",
    "Collection",
    "Count",
    "Ended",
    "Finding",
    "HeavyHitters",
    "Histogram",
    "Identity",
    "MultihotCountVec",
    "NoiseShares",
    "Odometer",
    "PrivateSum",
    "Refused",
    "Report",
    "Server",
    "Setup",
    "Sum",
    "SumVec",
    "Tally",
    "VectorAverage",
    "count",
    "fit",
    "frequent_texts",
    "histogram",
    "mean",
    "new_key",
    "new_round",
    "quantile",
    "simulated",
]

# name -> the file that it lives in
_HOME: Final = {
    "Average": "distributed.tasks",
    "Client": "aggregation.client",
    "Collection": "prio.collection",
    "Count": "prio.circuits",
    "Ended": "refusals",
    "Finding": "distributed.private_sum",
    "HeavyHitters": "poplar.heavy_hitters",
    "Histogram": "prio.vectors",
    "Identity": "aggregation.keys",
    "MultihotCountVec": "prio.vectors",
    "NoiseShares": "distributed.shares",
    "Odometer": "odometer",
    "PrivateSum": "distributed.private_sum",
    "Refused": "refusals",
    "Report": "prio.collection",
    "Server": "aggregation.server",
    "Setup": "aggregation.setup",
    "Sum": "prio.circuits",
    "SumVec": "prio.vectors",
    "Tally": "distributed.tasks",
    "VectorAverage": "distributed.tasks",
    "count": "distributed.studies",
    "fit": "fitting",
    "frequent_texts": "distributed.studies",
    "histogram": "distributed.studies",
    "mean": "distributed.studies",
    "new_key": "prio.collection",
    "new_round": "aggregation.simulate",
    "quantile": "distributed.studies",
    "simulated": "aggregation.simulate",
}


if not TYPE_CHECKING:  # a type checker reads the imports above, and so still notices a misspelt name

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"tacit.federated.{_HOME[name]}"), name)

    def __dir__() -> list[str]:
        return __all__
