"""Unknown keys with a count of their units: the rule for the keys and the noise of the count are one release."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from tacit.errors import QuestionError
from tacit.loss import compose
from tacit.loss.events import Approximate, Composed, Repeated
from tacit.mechanisms import Gaussian, KeySelection, Laplace
from tacit.plan import Plan, UnknownKeys, make_plan
from tacit.question import read
from tests.plan.copies import clinic


def plan(text: str, epsilon: object = 1, delta: object = "1/1000000", **options: object) -> Plan:
    return make_plan(read(text), clinic(), epsilon=epsilon, delta=delta, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("output", "rows", "shared"),
    [
        ("count(DISTINCT patient)", 3, True),
        ("count(DISTINCT patient)", 1, True),
        ("count(*)", 1, True),  # one row of each unit is read, so rows are units
        ("count(*)", 3, False),
        ("sum(age)", 1, False),
    ],
)
def test_a_count_of_units_is_released_by_the_rule_for_its_keys(output: str, rows: int, shared: bool) -> None:
    found = plan(f"SELECT ward, {output} AS n FROM visits GROUP BY ward", rows_per_unit=rows)
    assert isinstance(found.keys, UnknownKeys)
    (measure,) = found.measures
    assert isinstance(measure.mechanism, KeySelection) is shared
    # alone it has all of epsilon, apart each has half; a unit stands in at most `rows` keys
    assert found.keys.selection.epsilon == (1 if shared else Fraction(1, 2))
    assert found.keys.selection.keys_per_unit == rows
    if shared:
        assert measure.mechanism == found.keys.selection
        a = math.exp(-1 / rows)
        assert measure.deviation == pytest.approx(math.sqrt(2 * a) / (1 - a))


def test_the_event_holds_keys_and_count_once_and_all_other_noise() -> None:
    found = plan("SELECT ward, count(DISTINCT patient), sum(age) FROM visits GROUP BY ward")
    assert isinstance(found.event, Composed)
    first, second = found.event.events
    assert first == Repeated(Approximate(Fraction(1, 6), Fraction(1, 3 * 10**6)), 3)
    (total,) = (each.mechanism for each in found.measures if each.kind == "sum")
    assert isinstance(total, Laplace)
    assert second == total.event
    assert total.event.scale == 2 * total.event.sensitivity
    # never less than was asked for: half for the keys with their count, half for the sum
    assert compose([found.event]).by("basic").epsilon("1/999999") == pytest.approx(1)
    assert compose([found.event]).by("basic").epsilon("1/1000001") == math.inf


def test_weights_share_between_the_counted_keys_and_the_rest() -> None:
    found = plan("SELECT ward, count(DISTINCT patient) AS n, sum(age) AS s FROM visits GROUP BY ward", weights={"n": 3})
    assert isinstance(found.keys, UnknownKeys)
    assert found.keys.selection.epsilon == Fraction(3, 4)
    assert compose([found.event]).by("basic").epsilon("1/999999") == pytest.approx(1)


def test_gaussian_noise_keeps_the_rule_for_keys_apart() -> None:
    columns = ", ".join(f"sum(CASE WHEN age > {age} THEN 1 ELSE 0 END)" for age in range(20, 60))
    found = plan(f"SELECT ward, count(DISTINCT patient), {columns} FROM visits GROUP BY ward")
    assert all(isinstance(each.mechanism, Gaussian) for each in found.measures)
    assert isinstance(found.keys, UnknownKeys)
    assert found.keys.selection.delta == Fraction(1, 2 * 10**6)


def test_no_delta_is_refused_before_anything_is_planned() -> None:
    with pytest.raises(QuestionError, match=r"'ward' are not known.*delta"):
        plan("SELECT ward, count(DISTINCT patient) FROM visits GROUP BY ward", delta=0)


def test_the_sentences_say_that_it_is_paid_for_once() -> None:
    text = "SELECT ward, count(DISTINCT patient) FROM visits GROUP BY ward"
    assert any("paid for once" in sentence for sentence in plan(text).sentences)
    assert not any("paid for once" in sentence for sentence in plan(text.replace("DISTINCT patient", "*")).sentences)
