"""The projection onto the simplex against its definition: no other point of the simplex is nearer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.mechanisms.simplex import lowering, nearest

VALUES = st.lists(st.floats(-50, 50, allow_subnormal=False), min_size=1, max_size=12)


@given(VALUES, st.floats(0.01, 200))
def test_the_conditions_of_a_nearest_point_hold(values: list[float], total: float) -> None:
    """y >= 0, sum y = s, and (x - y) . (z - y) <= 0 for every corner z of the simplex: that is what nearest means."""
    x = np.array(values)
    y = nearest(x, total)
    assert y.min() >= 0
    assert float(y.sum()) == pytest.approx(total, rel=1e-9)
    inward = (x - y) * total - float((x - y) @ y)
    assert inward.max() <= 1e-9 * (1 + total) * (1 + float(np.abs(x).max()))


def test_by_hand() -> None:
    assert lowering(np.array([3.0, 1.0, -2.0]), 2.0) == 1.0
    assert nearest(np.array([3.0, 1.0, -2.0]), 2.0).tolist() == [2.0, 0.0, 0.0]
    assert nearest(np.array([[1.0, 2.0], [3.0, 4.0]]), 6.0).tolist() == [[0.0, 1.0], [2.0, 3.0]]
