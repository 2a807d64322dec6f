"""Questions inside outputs: about the same units, paid for once, and shared by every cell."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import QuestionError
from tacit.plan import KnownKeys, finish, make_plan
from tacit.question import read
from tests.plan.copies import clinic, copy_of


def test_a_question_inside_is_paid_for_and_shared_by_every_cell() -> None:
    sql = "SELECT level, count(*) / (SELECT count(*) FROM visits WHERE age > 40) AS share FROM visits GROUP BY level"
    plan = make_plan(read(sql), clinic(), epsilon=1)
    alone = make_plan(read("SELECT level, count(*) FROM visits GROUP BY level"), clinic(), epsilon=1)
    assert len(plan.inner) == 1
    assert [each.block for each in plan.measures] == [0, 1]
    assert plan.measures[0].mechanism.event.scale == 2 * alone.measures[0].mechanism.event.scale  # type: ignore[union-attr]
    assert isinstance(plan.keys, KnownKeys)
    table = finish(plan, plan.keys.cells, [np.array([10, 20, 30]), np.array([40, 40, 40])])
    assert table.columns[1] == [0.25, 0.5, 0.75]
    found = copy_of(clinic(), {}).execute(plan.inner[0].text()).fetchall()
    assert found == [(0,)]


def test_a_question_inside_may_be_an_output_by_itself() -> None:
    plan = make_plan(read("SELECT count(*), (SELECT sum(age) FROM visits) AS s FROM visits"), clinic(), epsilon=1)
    assert finish(plan, [()], [np.array([3]), np.array([40])]).columns == ([3], [40])


def test_a_question_inside_must_be_about_the_same_units() -> None:
    with pytest.raises(QuestionError, match="same kind of unit"):
        make_plan(read("SELECT count(*) - (SELECT count(*) FROM readings) FROM visits"), clinic(), epsilon=1)
