"""Sensitivities, noise, shares and cost against hand-computed figures and the accountants."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from tacit.errors import ParameterError, QuestionError
from tacit.loss import compose
from tacit.mechanisms import Gaussian, Laplace
from tacit.plan import KnownKeys, Plan, UnknownKeys, make_plan
from tacit.plan.asked import Asked
from tacit.plan.draft import Terms
from tacit.plan.make import Planning, Prepared
from tacit.plan.within import plan_within
from tacit.policy import Column
from tacit.question import read
from tests.plan.copies import clinic, table


def plan(text: str, epsilon: object = 1, delta: object = 0, **more: object) -> Plan:
    return make_plan(read(text), clinic(), epsilon=epsilon, delta=delta, **more)  # type: ignore[arg-type]


def test_the_first_anchor_is_met() -> None:
    """Five rows a unit, x in [0, 100], epsilon 1: count 10, sum 707, avg 0.05 at 10,000 rows a group."""
    policy = clinic(table("t", [Column("x", "integer", 0, 100, nullable=False)], rows=5))
    found = make_plan(read("SELECT count(*), sum(x), avg(x) FROM t"), policy, epsilon=1)
    count, total, mean = found.errors_at(10_000)
    # the sums of x and of 100 - x, with noise of scale 500 each: the count is a hundredth of both, the sum is the first
    assert count.deviation == pytest.approx(math.sqrt(2) * math.sqrt(2) * 500 / 100, rel=0.01)
    assert total.deviation == pytest.approx(math.sqrt(2) * 500, rel=0.01)
    assert mean.deviation == pytest.approx(math.sqrt(2) * math.sqrt(2) * 500 / 2 / 10_000, rel=0.01)
    assert [each.l1 for each in found.measures] == [500, 500]


@pytest.mark.parametrize(
    ("text", "l1", "linf"),
    [
        ("SELECT count(*) FROM visits", 3, 3),
        ("SELECT count(*) FROM visits(tacit_rows_per_unit => 2)", 2, 2),
        ("SELECT sum(age) FROM visits", 330, 330),
        ("SELECT sum(score) FROM visits", 150, 150),
        ("SELECT sum(age - 100) FROM visits", 300, 300),
        ("SELECT sum(age * score) FROM visits", 16500, 16500),
        ("SELECT count(DISTINCT patient) FROM visits", 1, 1),
        ("SELECT level, count(DISTINCT patient) FROM visits GROUP BY level", 3, 1),
        ("SELECT sex, count(DISTINCT patient) FROM visits GROUP BY sex", 2, 1),
        ("SELECT sum(urgent) FROM visits", 3, 3),
    ],
)
def test_sensitivities_are_those_computed_by_hand(text: str, l1: int, linf: int) -> None:
    (measure,) = plan(text).measures
    assert (measure.l1, measure.linf) == (l1, linf)
    assert measure.l2**2 >= (linf * l1 if linf == 1 else l1**2)


def test_laplace_shares_add_up_to_epsilon_exactly() -> None:
    found = plan("SELECT count(*), avg(age), avg(score), sum(charge) FROM visits", "1/3")
    assert all(isinstance(each.mechanism, Laplace) for each in found.measures)
    assert compose([found.event]).by("basic").epsilon(0) == pytest.approx(1 / 3, rel=1e-12)
    parts = {part for bundle in found.bundles for part in bundle.places[1:]}  # paid for with the first of them
    paid = [each for place, each in enumerate(found.measures) if place not in parts]
    assert len(paid) < len(found.measures)
    assert sum(Fraction(each.l1) / each.mechanism.event.scale for each in paid) == Fraction(1, 3)  # type: ignore[union-attr]


def test_nothing_is_paid_for_twice() -> None:
    assert len(plan("SELECT count(*), avg(age), sum(age), variance(age), stddev(age) FROM visits").measures) == 3
    assert len(plan("SELECT count(*), count(age), count(1) FROM visits").measures) == 1
    assert len(plan("SELECT avg(age) FROM visits HAVING count(*) > 3 ORDER BY sum(age)").measures) == 2


@pytest.mark.parametrize("delta", ["1/1000000", "1/1000000000"])
@pytest.mark.parametrize("epsilon", ["1/10", 1, 4])
def test_gaussian_noise_for_many_measures_stays_within_epsilon_and_delta(epsilon: object, delta: str) -> None:
    columns = ", ".join(f"sum(age + {n})" for n in range(60))
    found = plan(f"SELECT count(*), {columns} FROM visits", epsilon, delta)
    assert all(isinstance(each.mechanism, Gaussian) for each in found.measures)
    spent = compose([found.event]).epsilon(delta)
    assert float(Fraction(str(epsilon))) * 0.97 < spent <= Fraction(str(epsilon))


def test_the_quieter_law_is_taken() -> None:
    few = plan("SELECT count(*) FROM visits", 1, "1/1000000")
    assert isinstance(few.measures[0].mechanism, Laplace)
    many = "SELECT ward, count(DISTINCT patient) FROM visits GROUP BY ward"
    policy = clinic(table("visits", [Column("ward", "text", values=tuple(map(str, range(2000))))], rows=1000))
    wide = make_plan(read(many), policy, epsilon=1, delta="1/1000000").measures[0]
    assert isinstance(wide.mechanism, Gaussian)
    assert wide.deviation < 0.2 * math.sqrt(2) * 1000


def test_known_keys_list_every_cell() -> None:
    found = plan("SELECT sex, urgent, count(*) FROM visits GROUP BY sex, urgent")
    assert isinstance(found.keys, KnownKeys)
    assert set(found.keys.cells) == {(sex, urgent) for sex in "FM" for urgent in (0, 1, None)}
    decades = plan("SELECT floor(age / 10) * 10 AS d, count(*) FROM visits GROUP BY d")
    assert isinstance(decades.keys, KnownKeys)
    assert [raw[0] * decades.keys.columns[0].step for raw in decades.keys.cells if raw[0] is not None] == list(
        range(0, 111, 10)
    )  # type: ignore[operator]


def test_unknown_keys_are_bought_with_a_delta() -> None:
    with pytest.raises(QuestionError, match=r"'ward' are not known.*delta"):
        plan("SELECT ward, count(*) FROM visits GROUP BY ward")
    found = plan("SELECT ward, count(*) FROM visits GROUP BY ward", 1, "1/1000000")
    assert isinstance(found.keys, UnknownKeys)
    assert found.keys.selection.keys_per_unit == found.rows_per_unit == 3
    assert found.keys.selection.epsilon == Fraction(1, 2)
    assert found.keys.selection.delta == Fraction(1, 10**6)
    # a hair more than the delta asked, because accountants round it down to a float
    assert compose([found.event]).by("basic").epsilon("1/999999") == pytest.approx(1)
    assert compose([found.event]).by("basic").epsilon("1/1000001") == math.inf


def test_rho_is_shared_like_epsilon() -> None:
    found = make_plan(read("SELECT count(*), sum(age) FROM visits"), clinic(), rho="1/10", delta="1/1000000")
    costs = [each.l2**2 / (2 * each.mechanism.event.sigma**2) for each in found.measures]  # type: ignore[union-attr]
    assert sum(costs) <= Fraction(1, 10)
    assert float(sum(costs)) == pytest.approx(0.1, rel=1e-9)


def test_weights_move_the_noise() -> None:
    text = "SELECT count(*) AS n, sum(age) AS s FROM visits"
    even, heavy = plan(text), plan(text, weights={"n": 9})
    assert heavy.measures[0].deviation < even.measures[0].deviation
    assert compose([heavy.event]).by("basic").epsilon(0) == pytest.approx(1)
    with pytest.raises(QuestionError, match="'m', which is no output"):
        plan(text, weights={"m": 2})


def test_the_policy_limits_epsilon() -> None:
    with pytest.raises(ParameterError, match="policy's largest"):
        plan("SELECT count(*) FROM visits", 101)
    assert plan("SELECT count(*) FROM visits", None).epsilon == Fraction(1, 10)


@pytest.mark.parametrize("sql", ["SELECT avg(age) FROM visits", "SELECT stddev(age) FROM visits"])
def test_an_accuracy_wider_than_the_bounds_is_refused_and_not_looked_for_for_ever(sql: str) -> None:
    with pytest.raises(QuestionError, match="Within 1000 is met by nothing but noise"):
        plan_within(Planning(read(sql), clinic()), Asked.of(within=1000, rows=100))


@pytest.mark.parametrize("within", [3, 20, 100, 10**6])
@pytest.mark.parametrize("delta", [None, "1e-6"])
@pytest.mark.parametrize(
    "sql", ["SELECT count(*), sum(charge) FROM visits", "SELECT sex, avg(age) FROM visits GROUP BY 1"]
)
def test_the_least_epsilon_is_found_in_a_few_tries(
    sql: str, delta: str | None, within: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Terms] = []
    outline = Prepared.outline
    monkeypatch.setattr(Prepared, "outline", lambda self, terms: (tried.append(terms), outline(self, terms))[1])
    try:
        plan = plan_within(Planning(read(sql), clinic()), Asked.of(within=within, rows=1000, delta=delta))
    except QuestionError:
        return  # more than the policy's largest epsilon, or no accuracy at all
    assert len(tried) <= 12
    assert plan.epsilon is not None
    assert max(each.at_most_95 or each.within_95 for each in plan.errors_at(1000)) <= within
    less = make_plan(read(sql), clinic(), epsilon=plan.epsilon * Fraction(98, 100), delta=delta)
    assert max(each.at_most_95 or each.within_95 for each in less.errors_at(1000)) > within * 0.97


@pytest.mark.parametrize(("within", "rows"), [(100, None), (7, None), ("5%", 1000)])
def test_the_epsilon_for_an_accuracy_is_enough_and_hardly_more(within: object, rows: int | None) -> None:
    question = read("SELECT count(*) FROM visits")
    epsilon = plan_within(Planning(question, clinic()), Asked.of(within=within, rows=rows)).epsilon  # type: ignore[arg-type]
    assert epsilon is not None
    goal = 50 if rows else float(str(within))
    assert make_plan(question, clinic(), epsilon=epsilon).errors[0].within_95 <= goal
    assert make_plan(question, clinic(), epsilon=epsilon * Fraction(95, 100)).errors[0].within_95 > goal * 0.94


def test_accuracy_that_cannot_be_bought_is_refused() -> None:
    with pytest.raises(QuestionError, match="policy's largest"):
        plan_within(Planning(read("SELECT sum(charge) FROM visits"), clinic()), Asked.of(within="1/1000"))
    with pytest.raises(QuestionError, match="rows=1000"):
        plan_within(Planning(read("SELECT avg(age) FROM visits"), clinic()), Asked.of(within=1))


def test_sentences_name_every_measure_and_its_reason() -> None:
    found = plan("SELECT ward, avg(age) FROM visits GROUP BY ward", 1, "1/1000000")
    text = "\n".join(found.sentences)
    assert found.sentences[0].startswith("1. ")
    assert "at most 3 rows" in text
    assert "from 0 to 110, minus 55" in text
    assert "probability one half" in text
