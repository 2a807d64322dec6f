"""Perturbed minima: they are as near as proved, neighbours' are as near as charged, and the tilt hides enough."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tacit import learning
from tacit.errors import ParameterError, QuestionError
from tacit.learning.calibrated import deviation
from tacit.learning.columns import Feature
from tacit.learning.linear import perturbed
from tacit.learning.linear.linear_rounds import around
from tacit.learning.linear.minimum import Problem, minimum, sides_of
from tacit.learning.linear.perturbed import OBJECTIVE, OUTPUT, Perturbed, longest_row, plan_perturbed, power_below
from tacit.learning.linear.rounds import moved
from tacit.loss import compose, events
from tacit.mechanisms import Laplace
from tacit.noise import secure
from tests.learning.linear.drawing import gaussian_draws
from tests.learning.second_moments.test_gram import clinic

CASES = int(os.environ.get("TACIT_CASES", "60"))  # 5,000 for a soak


def numbers(count: int) -> tuple[Feature, ...]:
    return tuple(Feature(f"x{place}", 0, 100, Fraction(1)) for place in range(count))


def planned(columns: int, classes: int, rows: int, epsilon: str, delta: str, method: str) -> Perturbed:
    return plan_perturbed(numbers(columns), classes, rows, Fraction(epsilon), Fraction(delta), method)


def problem_of(made: Perturbed, rows: Any, classes: Any, tilt: Any = None, place: int = 1) -> Problem:
    still = np.zeros(len(rows)) if tilt is None else tilt
    longest = float(longest_row(made.around)) * (1 + 1e-15)
    return Problem(rows, sides_of(classes, place), made.reach, longest, float(made.ridge), still)


def some_rows(made: Perturbed, count: int, rng: np.random.Generator, alike: bool) -> Any:
    vectors = rng.integers(-4096, 4097, (len(made.features), count)).astype(np.int16)
    if alike and count:
        vectors[:] = vectors[:, :1]
    return moved(vectors, np.zeros(len(vectors), dtype=np.int64), made.reach, made.constant)


def exact_gradient(problem: Problem, weights: Any) -> list[Decimal]:
    """In 40 digits."""
    with localcontext() as context:
        context.prec = 40
        w = [Decimal(float(each)) for each in weights]
        found = [Decimal(problem.ridge) * a + Decimal(float(b)) for a, b in zip(w, problem.tilt, strict=True)]
        for row, side in zip(problem.rows.T.tolist(), problem.sides.tolist(), strict=True):
            z = [Decimal(each) / problem.reach for each in row]
            t = Decimal(side) * sum((a * b for a, b in zip(z, w, strict=True)), Decimal(0))
            pull = Decimal(side) * min(1 / (1 + min(t, Decimal(10_000)).exp()), Decimal("0.5"))
            found = [a - pull * b for a, b in zip(found, z, strict=True)]
        return found


def length_of(vector: list[Decimal]) -> float:
    return float(sum((each * each for each in vector), Decimal(0)).sqrt())


def test_the_gradient_at_the_point_is_as_short_as_promised_in_40_digits() -> None:
    rng = np.random.default_rng()
    for turn in range(15):
        made = planned(int(rng.integers(1, 6)), 2, 1, str(rng.choice(["0.2", "3", "40"])), "1e-5", OUTPUT)
        rows = some_rows(made, int(rng.integers(0, 30)), rng, turn % 3 == 0)
        tilt = rng.normal(0, rng.choice([0.0, 1.0, 30.0]), len(rows))
        problem = problem_of(made, rows, rng.integers(0, 2, rows.shape[1]), tilt)
        found = minimum(problem, float(made.step), float(made.tolerance))
        point = np.array([int(each) * made.step for each in found])
        assert all(each == Fraction(float(each)) for each in point)
        assert length_of(exact_gradient(problem, point)) <= float(made.tolerance)


def test_doubt_covers_what_rounding_does_and_a_point_elsewhere_is_not_proved() -> None:
    rng = np.random.default_rng()
    for _ in range(10):
        made = planned(3, 2, 1, "1", "1e-5", OUTPUT)
        rows = some_rows(made, 40, rng, False)
        problem = problem_of(made, rows, rng.integers(0, 2, 40), rng.normal(0, 10.0 ** rng.integers(0, 6), 4))
        weights = rng.normal(0, 10.0 ** rng.integers(-3, 7), 4)
        exact = exact_gradient(problem, weights)
        off = [a - Decimal(float(b)) for a, b in zip(exact, problem.gradient(weights), strict=True)]
        assert length_of(off) <= problem.doubt(weights)
        assert not problem.is_proved(weights, length_of(exact) * 0.999)
        assert problem.is_proved(weights, length_of(exact) * (1 + 1e-11) + 2.1 * problem.doubt(weights))


def test_how_long_it_takes_follows_from_the_number_of_rows() -> None:
    rng = np.random.default_rng()
    made = planned(3, 2, 1, "1", "1e-5", OUTPUT)
    steps = set()
    for turn in range(10):
        rows = some_rows(made, 50, rng, turn % 2 == 0)
        steps.add(problem_of(made, rows, rng.integers(0, 2, 50)).steps(float(made.tolerance)))
    assert len(steps) == 1


def test_how_long_it_takes_tells_no_more_than_the_released_count() -> None:
    rng = np.random.default_rng()
    made = planned(3, 2, 1, "1", "1e-5", OUTPUT)
    most, steps = 400, set()
    for many in (5, 50, 300):
        rows = some_rows(made, many, rng, True)
        own = replace(problem_of(made, rows, rng.integers(0, 2, many)), most=most)
        steps.add(own.steps(float(made.tolerance)))
        found = minimum(own, float(made.step), float(made.tolerance))
        assert own.is_proved(np.array([float(each) for each in found]) * float(made.step), float(made.tolerance))
    assert len(steps) == 1


def test_how_long_it_takes_tells_nothing_about_the_tilt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tilt hides the rows; how long it is says how long their gradient is at the minimum."""
    rng, told = np.random.default_rng(), set()
    steps = Problem.steps

    def watched(self: Problem, tolerance: float) -> int:
        told.add((self.most, steps(self, tolerance)))
        return steps(self, tolerance)

    monkeypatch.setattr(Problem, "steps", watched)
    made = planned(3, 2, 1, "1", "1e-5", OBJECTIVE)
    rows, sides = some_rows(made, 40, rng, False), sides_of(rng.integers(0, 2, 40), 1)
    for _ in range(8):
        made._minimum(rows, sides, 100, secure())
    assert len(told) == 1


@pytest.mark.parametrize("method", [OUTPUT, OBJECTIVE])
def test_where_there_may_be_more_rows_than_can_be_proved_noise_leaves_and_no_failure(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = planned(1, 2, 1, "1", "1e-5", method)
    monkeypatch.setattr(perturbed, "_MOST_ROWS", 20)
    monkeypatch.setattr(Perturbed, "_minimum", None)  # nothing is minimised
    learned = made.learn(np.tile([50, 1], (100, 1)).T, ["number"] * 2, secure())
    assert "more than 20 rows" in learned.notes[0]
    far = 60 * float(made.step) * deviation(made.noises[1])  # beyond it with a chance below 1e-20
    assert np.all(np.abs(learned.weights) <= far)


@pytest.mark.parametrize("method", [OUTPUT, OBJECTIVE])
def test_a_price_at_which_nothing_can_be_proved_is_refused_before_the_charge(method: str) -> None:
    curator, _ = clinic()
    rows = curator.rows("SELECT age, sex FROM data", rows_per_unit=1)
    for epsilon in ("1e-9", "1e-6"):
        with pytest.raises(ParameterError, match="epsilon"):
            learning.LogisticRegression(method=method, epsilon=epsilon, delta="1e-9").fit(rows, "sex")
    assert not curator.spent().loss


def check_units(delta: str, cases: int, rng: np.random.Generator) -> float:
    """The largest share of the stated sensitivity that up to three rows of a unit moved whole numbers by, in the norm
    of the noise that these get; stops at the first that is above 1.
    """
    closest = 0.0
    for turn in range(cases):
        many, r = int(rng.integers(2, 4)), int(rng.integers(1, 4))
        made = planned(int(rng.integers(1, 5)), many, r, str(rng.choice(["0.05", "1", "30"])), delta, OUTPUT)
        count = int(rng.choice([0, 1, 5, 30]))
        rows = some_rows(made, count + r, rng, turn % 2 == 0)
        classes = rng.integers(0, many, count + r)
        if turn % 2 == 0:
            classes[:] = classes[0]
        apart = []
        for place in [1] if many == 2 else range(many):
            whole = problem_of(made, rows, classes, place=place)
            fewer = problem_of(made, rows[:, :count], classes[:count], place=place)
            found = [minimum(each, float(made.step), float(made.tolerance)) for each in (whole, fewer)]
            apart += [int(a) - int(b) for a, b in zip(*found, strict=True)]
        far = Fraction(sum(abs(each) for each in apart)) ** 2  # in the L1 norm
        if not isinstance(made.noises[1], Laplace):
            far = Fraction(sum(each * each for each in apart))
        share = far / made.noises[1].event.sensitivity ** 2
        assert share <= 1
        closest = max(closest, float(share))
    return closest


@pytest.mark.parametrize("delta", ["1e-5", "0"])
def test_neighbours_minima_are_no_farther_apart_than_is_charged(delta: str) -> None:
    closest = check_units(delta, CASES, np.random.default_rng())
    assert delta == "0" or closest > 0.85  # no budget is given away


# -- the tilt: the law of the exact minimum, on a line, by integration -----------------------------------


def pull(t: Any) -> Any:
    return -np.minimum(1 / (1 + np.exp(t)), 0.5)


def bends(t: Any) -> Any:
    return np.where(t >= 0, np.exp(-np.abs(t)) / (1 + np.exp(-np.abs(t))) ** 2, 0.0)


def density(w: Any, rows: list[float], ridge: float, s: float) -> Any:
    """Of the minimum with a normal tilt; a row is side times z."""
    slope = ridge * w + sum(each * pull(each * w) for each in rows)
    bend = ridge + sum(each * each * bends(each * w) for each in rows)
    return stats.norm.pdf(slope, 0, s) * bend


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_the_minimum_of_a_tilted_line_is_as_private_as_the_theorem_says(epsilon: float) -> None:
    rng, longest, closest = np.random.default_rng(), 1.1, 0.0
    for turn in range(12):  # the first is one in which little noise makes the loss large, whatever epsilon is
        ridge, s = (float(rng.uniform(0.3, 5)), float(rng.uniform(0.3, 4))) if turn else (5.0, 0.3)
        rows = [longest * float(each) for each in rng.choice([-1, 1, 0.3, -0.5], int(rng.integers(0, 6)))]
        rows = sorted(rows) if rng.random() < 0.5 else [abs(each) for each in rows]
        one = longest * float(rng.choice([-1, 1]))
        left = epsilon - math.log1p(longest**2 / (4 * ridge))
        mu = longest / (2 * s)
        gaussian = stats.norm.cdf(-left / mu + mu / 2) - math.exp(left) * stats.norm.cdf(-left / mu - mu / 2)
        step = (s + len(rows) + 1) / ridge / 2_000
        w = step * (np.arange(-20_000, 20_000) + 0.5)  # 0, where the density may jump, is between two points
        laws = [density(w, rows, ridge, s), density(w, [*rows, one], ridge, s)]
        assert step * laws[0].sum() == pytest.approx(1, abs=1e-6)
        for p, q in (laws, laws[::-1]):
            missed = step * float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
            assert missed <= 2 * gaussian + 1e-6
            closest = max(closest, missed / (2 * gaussian)) if gaussian > 1e-4 else closest
    assert closest > 0.05  # the test sees something


@pytest.mark.parametrize("m", [2, 4, 16, 100])
def test_rounding_a_normal_number_is_nearly_the_discrete_law(m: int) -> None:
    points = np.arange(-40 * m, 40 * m + 1)
    rounded = stats.norm.cdf((points + 0.5) / m) - stats.norm.cdf((points - 0.5) / m)
    discrete = np.exp(-(points**2) / (2.0 * m * m))
    assert np.abs(rounded - discrete / discrete.sum()).sum() / 2 <= 1 / (8 * m * m)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "8"])
def test_objective_perturbation_charges_for_the_sums_the_tilt_and_the_nearness(epsilon: str) -> None:
    made = planned(4, 2, 1, epsilon, "1e-5", OBJECTIVE)
    event = made.price.event
    spent = compose([event])
    assert spent.delta(Fraction(epsilon)) <= 1e-5
    assert spent.epsilon(Fraction("1e-5")) > 0.97 * float(Fraction(epsilon))
    assert isinstance(event, events.Composed)
    sums, tilt, last = event.events
    assert [sums, last] == [each.event for each in made.noises]
    assert isinstance(tilt, events.Approximate)
    # the tilt, by the theorem's formula in plain floating point
    longest = math.hypot(made.constant, made.reach) / made.reach
    left = float(tilt.epsilon) - math.log1p(longest**2 / (4 * float(made.ridge)))
    mu = longest / 2 / float(made.tilt)
    gaussian = stats.norm.cdf(-left / mu + mu / 2) - math.exp(left) * stats.norm.cdf(-left / mu - mu / 2)
    assert 2 * gaussian == pytest.approx(float(tilt.delta), rel=1e-5)
    assert made.tilt / made.tilt_step >= 1 << 30
    # the nearness: twice what separates the point from the minimum of the tilt that was not rounded
    near = (made.tolerance + made.tilt_step * Fraction(math.sqrt(5)) / 2) / made.ridge
    assert last.sensitivity * made.step >= 2 * near


def test_a_tilted_minimum_is_near_that_of_a_tilt_which_was_not_rounded() -> None:
    """Two data sets with the same exact minimum give points at most as far apart as the last noise covers."""
    rng = np.random.default_rng()
    made = planned(2, 2, 1, "1", "1e-5", OBJECTIVE)
    for _ in range(20):
        rows = some_rows(made, 12, rng, False)
        classes, aim = rng.integers(0, 2, 12), rng.normal(0, 1, 3)
        found = []
        for count in (11, 12):  # the tilt that puts the minimum there, rounded to its grid
            plain = problem_of(made, rows[:, :count], classes[:count])
            own = float(made.tilt_step)
            tilt = np.rint(-plain.gradient(aim) / own) * own
            tilted = problem_of(made, rows[:, :count], classes[:count], tilt)
            found.append(minimum(tilted, float(made.step), float(made.tolerance)))
        apart = sum((int(a) - int(b)) ** 2 for a, b in zip(*found, strict=True))
        assert apart <= made.noises[1].event.sensitivity ** 2


def test_output_perturbation_draws_what_it_charges(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = gaussian_draws(monkeypatch)
    X, y = np.random.default_rng().normal(size=(30, 4)), np.arange(30) % 3
    for method, classes, sizes in ((OUTPUT, [0, 1, 2], [15, 15]), (OBJECTIVE, [0, 1], [10, 5])):
        drawn.clear()
        model = learning.LogisticRegression(method=method, epsilon=1, delta=1e-5, bounds=(-3, 3), classes=classes)
        model.fit(X, y % len(classes))
        charged = events.from_json(model.receipt_["event"])
        assert isinstance(charged, events.Composed)
        assert [each for each in charged.events if not isinstance(each, events.Approximate)] == [e for e, _ in drawn]
        assert [size for _, size in drawn] == sizes
        assert model.n_iter_ == 1


def test_output_perturbation_is_pure_without_a_delta() -> None:
    made = planned(3, 2, 2, "0.7", "0", OUTPUT)
    assert all(isinstance(each, Laplace) for each in made.noises)
    assert compose([made.price.event]).epsilon(0) <= 0.7 * (1 + 1e-12)


def test_what_objective_perturbation_cannot_do_is_refused_before_the_charge() -> None:
    with pytest.raises(QuestionError, match="needs a delta"):
        planned(2, 2, 1, "1", "0", OBJECTIVE)
    with pytest.raises(QuestionError, match="two classes, not 3"):
        planned(2, 3, 1, "1", "1e-5", OBJECTIVE)
    with pytest.raises(QuestionError, match="larger delta"):
        planned(2, 2, 1, "1", "1e-19", OBJECTIVE)
    curator, _ = clinic()  # units of up to three rows
    before = len(curator.ledger())
    with pytest.raises(QuestionError, match="units of one row"):
        learning.LogisticRegression(method="objective", epsilon=1, delta=1e-6).fit(
            curator.rows("SELECT age, sex FROM data"), "sex"
        )
    assert len(curator.ledger()) == before


def test_powers_of_two_below_a_number() -> None:
    for number in (Fraction(1), Fraction(3), Fraction(1, 3), Fraction(7, 8), Fraction(2**40 - 1), Fraction(1, 2**40)):
        found = power_below(number)
        assert found <= number < 2 * found
    assert around(numbers(2), 2).scores == 1


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("facts", "least"),
    [
        ({"method": "output", "epsilon": 1, "delta": 1e-6}, 0.85),
        ({"method": "objective", "epsilon": 1, "delta": 1e-6}, 0.85),
        ({"method": "output", "epsilon": 3}, 0.75),
    ],
)
def test_perturbed_minima_learn(facts: dict[str, Any], least: float) -> None:
    """3,000 rows whose classes a line tells apart in 95 of 100."""
    rng = np.random.default_rng()
    X = rng.uniform(-1, 1, (3_000, 4))
    y = np.where(X @ [2.0, -1.0, 0.5, 0.0] + rng.normal(0, 0.15, 3_000) > 0.2, "yes", "no")
    model = learning.LogisticRegression(**facts, bounds=(-1, 1), classes=["no", "yes"]).fit(X, y)
    assert model.score(X, y) > least
    assert np.isfinite(model.predict_proba(X)).all()
