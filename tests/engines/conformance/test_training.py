"""What models are trained on: every engine gives the same exact whole numbers, to the last unit of the last round."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.engines.engine import Engine
from tacit.learning.columns import Feature, features_of
from tacit.learning.linear.linear_rounds import plan_rounds
from tacit.learning.linear.margin_losses import LOGISTIC
from tacit.learning.second_moments.sums import exact_sums, matrix_products
from tacit.mechanisms import Gaussian, Laplace
from tacit.noise import secure
from tacit.plan.row_plan import Cut, plan_rows
from tacit.policy import Policy
from tacit.statistics.source import EngineRows
from tests.engines.conformance.conftest import ENGINES
from tests.engines.conformance.engines import Opened
from tests.engines.conformance.tables import VISITS, clean

SQL = "SELECT age, level, score, charge, urgent, sex FROM visits"
OTHERS = pytest.mark.parametrize("opened", ENGINES[1:], indirect=True, scope="session")


def rows_of(opened: tuple[Engine, Policy]) -> tuple[EngineRows, tuple[Feature, ...]]:
    plan = plan_rows(SQL, opened[1])
    return EngineRows(plan, opened[0].run), features_of(plan.variables, ["sex"])


def tallied(rows: EngineRows, *asked: str | Cut) -> Counter[Any]:
    columns, counts = rows.columns(*asked)
    found: Counter[Any] = Counter()
    for *codes, count in zip(*(each.tolist() for each in columns), counts.tolist(), strict=True):
        found[tuple(codes)] += count
    return found


def test_codes_are_those_of_the_rows_added_up_in_python(reference: Opened) -> None:
    rows, _ = rows_of(reference)
    step = float(plan_rows(SQL, reference[1]).variable("charge").step)
    truth: Counter[Any] = Counter()
    for each in map(clean, VISITS):
        if each is not None and None not in (each["sex"], each["score"], each["charge"], each["urgent"]):
            key = (each["age"], ["F", "M"].index(each["sex"]), each["score"] >= 0, round(each["charge"] / step))
            truth[key] += 1
    found: Counter[Any] = Counter()
    for key, count in tallied(rows, "age", "sex", Cut("score", (0,)), "charge", "urgent").items():
        found[key[0], key[1], bool(key[2]), key[3]] += count
    assert found == truth


@OTHERS
@pytest.mark.parametrize("parts", [1, 3])
def test_every_engine_gives_the_same_codes(
    opened: Opened, reference: Opened, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("age", "level", Cut("score", (-10, 0, 20)), "charge", "urgent", "sex", "score")
    truth = tallied(rows_of(reference)[0], *asked)
    assert sum(truth.values()) > 20
    if parts > 1:
        monkeypatch.setattr("tacit.statistics.engine_rows._PART_BYTES", -(-8 * sum(truth.values()) // parts))
    assert tallied(rows_of(opened)[0], *asked) == truth


def by_unit(rows: EngineRows) -> list[Any]:
    codes, units = rows.by_unit("age", "sex", "charge", "score")
    assert len({int(each) for each in units}) == 1 + int((np.diff(units) != 0).sum())  # those of a unit stand together
    return sorted(codes[units == each].tolist() for each in np.unique(units))


@OTHERS
def test_every_engine_puts_the_rows_of_a_unit_together_in_one_order(opened: Opened, reference: Opened) -> None:
    truth = by_unit(rows_of(reference)[0])
    assert max(map(len, truth)) > 1
    assert by_unit(rows_of(opened)[0]) == truth


@OTHERS
def test_every_engine_gives_the_same_sums_of_products(opened: Opened, reference: Opened) -> None:
    (rows, features), (known, _) = rows_of(opened), rows_of(reference)
    pushed_down = exact_sums(rows, features, products=True)
    assert (pushed_down == exact_sums(known, features, products=True)).all()
    names = [each.name for each in features]
    assert (pushed_down == matrix_products(rows.values(*names), features, rows.meanings(*names))).all()


@OTHERS
@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)])
def test_every_engine_gives_the_same_exact_sums_of_a_logistic_model(
    opened: Opened, reference: Opened, delta: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every round: without noise, so that each round begins where the last one ended."""
    sums: list[Any] = []

    def plain(self: Any, exact: Any, *, bits: Any) -> Any:
        sums.append(np.array(exact))
        return exact

    for noise in (Laplace, Gaussian):
        monkeypatch.setattr(noise, "release", plain)
    found = []
    for rows, features in map(rows_of, (opened, reference)):
        names = [each.name for each in features]
        method = "newton" if delta else "gradient"
        rounds = plan_rounds(features[:-1], 2, 3, Fraction(1), Fraction(delta), loss=LOGISTIC, method=method)
        meanings, columns = rows.meanings(*names), rows.each_row(*names)
        columns[-1] = features[-1].places(columns[-1], meanings[-1])
        rounds.learn(columns, meanings, secure())
        found.append(list(sums))
        sums.clear()
    ours, truth = found
    assert len(ours) == len(truth) > 3
    for here, there in zip(ours, truth, strict=True):
        assert (here == there).all()
