"""What privacy costs: events (facts about releases), accountants (what they add up to), budgets and filters.

    from tacit.loss import compose
    compose([mechanism.event] * 100).epsilon(delta=1e-6)    # parameters fixed beforehand: the tight total
    choose_filter(Budget(3, 1e-6))                          # parameters chosen on the way: commit to a rule

Events, budgets and `compose` are light and always here; filters, odometers and beliefs are loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tacit.loss.budget import Budget
from tacit.loss.compose import Account, Total, compose  # now, so that the name is the function and never the module
from tacit.loss.events import (
    Approximate,
    Composed,
    Concentrated,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Exponential,
    Gaussian,
    Group,
    KeySelection,
    Laplace,
    Parallel,
    PoissonSampled,
    Pure,
    RandomizedResponse,
    Repeated,
    SampledWithoutReplacement,
    Shuffled,
)

if TYPE_CHECKING:
    from tacit.loss.filters import (
        AnyFilter,
        BasicFilter,
        ConcentratedFilter,
        Filter,
        GaussianFilter,
        RenyiFilter,
        choose_filter,
    )
    from tacit.loss.odometer import Odometer, Travelled
    from tacit.loss.posterior import Belief, belief_after, group_budget, membership_advantage, true_positive_rate
    from tacit.loss.spent import Spent

__all__ = [
    "Account",
    "AnyFilter",
    "Approximate",
    "BasicFilter",
    "Belief",
    "Budget",
    "Composed",
    "Concentrated",
    "ConcentratedFilter",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Event",
    "Exponential",
    "Filter",
    "Gaussian",
    "GaussianFilter",
    "Group",
    "KeySelection",
    "Laplace",
    "Odometer",
    "Parallel",
    "PoissonSampled",
    "Pure",
    "RandomizedResponse",
    "RenyiFilter",
    "Repeated",
    "SampledWithoutReplacement",
    "Shuffled",
    "Spent",
    "Total",
    "Travelled",
    "belief_after",
    "choose_filter",
    "compose",
    "group_budget",
    "membership_advantage",
    "true_positive_rate",
]

_HOMES = {
    "filters": (
        "AnyFilter",
        "BasicFilter",
        "ConcentratedFilter",
        "Filter",
        "GaussianFilter",
        "RenyiFilter",
        "choose_filter",
    ),
    "odometer": ("Odometer", "Travelled"),
    "posterior": ("Belief", "belief_after", "group_budget", "membership_advantage", "true_positive_rate"),
    "spent": ("Spent",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value  # from now on it is found without this function
    return value


def __dir__() -> list[str]:
    return __all__
