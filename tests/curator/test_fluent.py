"""Asking step by step: the steps write a text, nothing in a step gets out of its place, and the text is asked."""

from __future__ import annotations

import pytest

from tacit.curator import Curator, Planner
from tacit.errors import ParameterError, QuestionError
from tacit.question import canonical, read
from tests.curator.tables import COUNT


def test_steps_write_the_question_that_one_would_write(shared: Curator) -> None:
    steps = (
        shared.table("people")
        .where("age > 30", "sex = 'F'")
        .where("pay IS NOT NULL")
        .group_by("sex", decade="floor(age / 10) * 10")
        .count()
        .avg("age")
        .sum("pay", name="paid")
        .stddev("pay")
        .variance("age * 2")
        .count_distinct("pid")
        .count("pay")
        .aggregate(share="sum(pay) / count(*)")
        .having("count > 5", "share > 0")
        .order_by("count", descending=True)
        .order_by("sex")
        .limit(10)
    )
    written = (
        "SELECT sex, floor(age / 10) * 10 AS decade, count(*) AS count, avg(age) AS avg_age, sum(pay) AS paid, "
        "stddev(pay) AS stddev_pay, var_samp(age * 2), count(DISTINCT pid) AS count_distinct_pid, "
        "count(pay) AS count_pay, sum(pay) / count(*) AS share FROM people "
        "WHERE age > 30 AND sex = 'F' AND pay IS NOT NULL GROUP BY sex, decade "
        "HAVING count > 5 AND share > 0 ORDER BY count DESC, sex LIMIT 10"
    )
    assert canonical(read(steps.sql)) == canonical(read(written))
    names = [output.name for output in read(steps.sql).outputs]
    assert names[:6] == ["sex", "decade", "count", "avg_age", "paid", "stddev_pay"]
    assert names[-3:] == ["count_distinct_pid", "count_pay", "share"]


def test_every_end_of_the_steps_is_that_of_the_text(shared: Curator) -> None:
    steps = shared.table("people").group_by("sex").count()
    assert steps.plan(1) == shared.plan(steps.sql, 1)
    assert str(steps.estimate(1)) == str(shared.estimate(steps.sql, 1))
    assert steps.explain(1) == shared.explain(steps.sql, 1)
    first = steps.ask(epsilon=1)
    assert first["sex"] == ("F", "M", None)
    assert shared.ask("SELECT sex, count(*) FROM people GROUP BY sex", 1).repeated
    assert Planner(shared.policy).table("people").count().plan(1) == shared.plan(COUNT, 1)
    assert not hasattr(Planner(shared.policy).table("people"), "ask")


def test_a_step_changes_nothing_before_it(shared: Curator) -> None:
    start = shared.table("people").count()
    narrow = start.where("age > 30")
    assert start.sql == 'SELECT count(*) AS "count" FROM "people"'
    assert narrow.sql == 'SELECT count(*) AS "count" FROM "people" WHERE (age > 30)'


@pytest.mark.parametrize(
    "text",
    [
        "age > 30) OR (1 = 1",
        "age > 30) GROUP BY (sex",
        "age > 30 -- and the rest",
        "age > 30 /* and the rest",
        "age > 30; SELECT 1",
        "(age > 30",
        "'age",
        ")(",
        "",
        "   ",
        "-- nothing",
        None,
        7,
    ],
)
def test_an_expression_that_would_get_out_of_its_brackets_is_refused(shared: Curator, text: str) -> None:
    with pytest.raises(QuestionError):
        shared.table("people").where(text)
    with pytest.raises(QuestionError):
        shared.table("people").group_by(text)
    with pytest.raises(QuestionError):
        shared.table("people").avg(text)


def test_an_expression_cannot_end_its_output_and_begin_another_select(shared: Curator) -> None:
    steps = shared.table("people").aggregate(x="count(*) FROM people UNION ALL SELECT 1")
    assert "SELECT (count(*) FROM people UNION ALL SELECT 1) AS" in steps.sql
    with pytest.raises(QuestionError, match="parsed"):
        steps.plan(1)


def test_what_an_expression_smuggles_in_is_refused_by_the_reader(shared: Curator) -> None:
    for steps in (
        shared.table("people").where("age > 30 GROUP BY sex").count(),
        shared.table("people").group_by("sex FROM people").count(),
    ):
        with pytest.raises(QuestionError):
            steps.plan(1)


def test_names_mean_themselves(shared: Curator) -> None:
    quoted = shared.table('a"b').group_by("order").count(name='n"; x')
    assert quoted.sql == 'SELECT "order", count(*) AS "n""; x" FROM "a""b" GROUP BY 1'
    assert read(quoted.sql).outputs[1].name == 'n"; x'
    with pytest.raises(QuestionError, match="not in the policy"):
        quoted.plan(1)


def test_nothing_asked_is_refused(shared: Curator) -> None:
    with pytest.raises(QuestionError, match="Nothing is asked yet"):
        shared.table("people").where("age > 3").sql  # noqa: B018
    with pytest.raises(QuestionError, match="name is needed"):
        shared.table("").count().sql  # noqa: B018
    with pytest.raises(ParameterError, match="rows"):
        shared.table("people").limit(-1)
