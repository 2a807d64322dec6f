"""What is measured for aggregates that are no counts or sums themselves."""

from __future__ import annotations

import numpy as np

from tacit.plan import finish, make_plan
from tacit.question import read
from tests.plan.copies import clinic


def test_bool_or_and_bool_and_ask_whether_a_count_is_nearer_to_one_or_to_none() -> None:
    plan = make_plan(read("SELECT bool_or(age > 3) AS o, bool_and(age > 3) AS a FROM visits"), clinic(), epsilon=1)
    assert [finish(plan, [()], [np.array([n]), np.array([m])]).columns for n, m in ((0, 0), (1, 1))] == [
        ([False], [True]),
        ([True], [False]),
    ]
