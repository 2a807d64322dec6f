"""What a pair says about its event: the whole log moment, what is lost outright, the bound at real orders."""

from __future__ import annotations

import numpy as np

from tacit.loss.accountants.event_moments import transform
from tacit.loss.curves.directions import Direction
from tacit.loss.events import Event
from tacit.loss.log_moments.transforms import Array


def log_moment(event: Event, z: Array, direction: Direction = "remove") -> Array:
    """log E_P[exp(z L); L finite] for real orders z > 0, or points z on one vertical line Re z > 0."""
    pair = transform(event, direction)
    if pair.concentration:
        assert np.isrealobj(z), "nothing is known off the real axis"
        return pair.real_bound(z)
    return pair.log_moment(z) + pair.variance / 2.0 * z * (z + 1.0)


def infinite_mass(event: Event, direction: Direction = "remove") -> float:
    """The probability, rounded up, of an outcome that only one of the neighbours can give."""
    return transform(event, direction).infinite


def real_bound(event: Event, orders: Array, direction: Direction = "remove") -> Array:
    """An upper bound of log E_P[exp(c L)] at real orders c, no larger than `log_moment`; known for every event."""
    pair = transform(event, direction)
    return pair.real_bound(orders) + pair.variance / 2.0 * orders * (orders + 1.0)
