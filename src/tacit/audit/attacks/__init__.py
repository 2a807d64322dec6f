"""Attacks as functions with a figure: each runs against a naive target, where it succeeds, and against tacit.

    from tacit.audit import attacks
    print(attacks.differencing(epsilon=1))      # success rates, the ceiling for this epsilon, and what happened
    attacks.differencing().chart_spec()         # the same as a Vega-Lite chart

All data are made up in code from a seed; the noise of tacit is the real one, so its figures vary a little. Every file
opens with its attack, what is released to it, and why its ceiling holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tacit.audit.attacks.attempt import Attempt, Curves, Point, ceiling, replacing
from tacit.audit.attacks.averaging import averaging
from tacit.audit.attacks.differencing import differencing
from tacit.audit.attacks.error_messages import error_messages
from tacit.audit.attacks.floating_point import floating_point
from tacit.audit.attacks.homogeneity import homogeneity, two_women
from tacit.audit.attacks.inversion import model_inversion
from tacit.audit.attacks.learned_models import inversion_of_learned, membership_in_learned
from tacit.audit.attacks.linkage import link, linkage
from tacit.audit.attacks.membership_in_means import membership_in_means
from tacit.audit.attacks.membership_in_models import membership_by_likelihood_ratio, membership_by_loss
from tacit.audit.attacks.memorisation import memorisation
from tacit.audit.attacks.ratings import ratings_linkage
from tacit.audit.attacks.reconstruction import phase_transition, reconstruction
from tacit.audit.attacks.timing import timing
from tacit.audit.attacks.training_points import training_point_of_network, training_point_of_regression

ATTACKS: Final[tuple[Callable[[], Attempt], ...]] = (
    linkage,
    ratings_linkage,
    homogeneity,
    differencing,
    averaging,
    reconstruction,
    membership_in_means,
    membership_by_loss,
    membership_by_likelihood_ratio,
    model_inversion,
    membership_in_learned,
    inversion_of_learned,
    training_point_of_regression,
    training_point_of_network,
    floating_point,
    timing,
    error_messages,
)
"""Every attack that needs no extra, except scikit-learn; call them without arguments. `memorisation` needs torch."""

__all__ = [
    "ATTACKS",
    "Attempt",
    "Curves",
    "Point",
    "averaging",
    "ceiling",
    "differencing",
    "error_messages",
    "floating_point",
    "homogeneity",
    "inversion_of_learned",
    "link",
    "linkage",
    "membership_by_likelihood_ratio",
    "membership_by_loss",
    "membership_in_learned",
    "membership_in_means",
    "memorisation",
    "model_inversion",
    "phase_transition",
    "ratings_linkage",
    "reconstruction",
    "replacing",
    "timing",
    "training_point_of_network",
    "training_point_of_regression",
    "two_women",
]


def __dir__() -> list[str]:
    return __all__
