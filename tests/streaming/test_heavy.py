"""The sketch's lemma by enumeration, and the exact delta of its release on neighbouring sketches."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import BudgetExceeded, ParameterError, TacitError
from tacit.streaming import HeavyHitters, heavy
from tacit.streaming.heavy import tail, threshold_for


def sketch(rows: tuple[str, ...], size: int) -> dict[tuple[str, int], int]:
    made = HeavyHitters(size, epsilon=1, delta=1e-6)
    made.add(rows)
    return dict(made._counters)


@pytest.mark.parametrize(("size", "longest"), [(1, 6), (2, 6), (3, 5)])
def test_the_lemma_holds_for_all_short_streams(size: int, longest: int) -> None:
    for length in range(1, longest + 1):
        for rows in itertools.product("abcd", repeat=length):
            whole = sketch(rows, size)
            for gone in range(length):
                part = sketch(rows[:gone] + rows[gone + 1 :], size)
                keys = set(whole) | set(part)
                moved = {key: whole.get(key, 0) - part.get(key, 0) for key in keys}
                one = sum(map(abs, moved.values())) == 1
                kept = set(whole) & set(part)
                # a key that is kept in one sketch alone counts 0 in the other, so it may stay where the others fall
                fell = {moved[key] for key in kept}
                assert one or fell in ({-1}, {1}, set()), (rows, gone, moved)
                for mine, theirs in ((whole, part), (part, whole)):
                    alone = [key for key in mine if key not in theirs]
                    assert len(alone) <= 2
                    assert all(mine[key] <= 1 for key in alone)


def law(sketched: dict[str, int], epsilon: float, threshold: int, keys: list[str]) -> np.ndarray:
    """Masses of all outputs: for each key absent (place 0), or threshold + place - 1; noise up to 45 either way."""
    span = np.arange(-45, 46)
    mass = np.exp(-epsilon * np.abs(span))
    mass /= mass.sum()
    places = 40
    total = np.zeros((places + 1,) * len(keys))
    for shared, weight in zip(span, mass, strict=True):
        parts = []
        for key in keys:
            row = np.zeros(places + 1)
            if key in sketched:
                for own, own_weight in zip(span, mass, strict=True):
                    place = sketched[key] + shared + own - threshold + 1
                    row[min(max(place, 0), places)] += own_weight
            else:
                row[0] = 1.0
            parts.append(row)
        outer = parts[0]
        for part in parts[1:]:
            outer = np.multiply.outer(outer, part)
        total += weight * outer
    return total


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"a": 5, "b": 3}, {"a": 4, "b": 2}),
        ({"a": 5, "b": 3}, {"a": 5, "b": 4}),
        ({"a": 5, "b": 1}, {"a": 4}),
        ({"a": 1, "b": 1}, {"c": 1}),
        ({"a": 1, "b": 1}, {}),
    ],
)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.01), (0.7, 0.05)])
def test_the_release_of_neighbouring_sketches_is_epsilon_delta_private(
    one: dict[str, int], two: dict[str, int], epsilon: float, delta: float
) -> None:
    threshold = threshold_for(Fraction(epsilon), Fraction(delta))
    keys = sorted(set(one) | set(two))
    first, second = (law(each, epsilon, threshold, keys) for each in (one, two))
    for p, q in ((first, second), (second, first)):
        assert np.maximum(p - math.exp(epsilon) * q, 0).sum() <= delta


def test_the_threshold_is_the_least_that_the_theorem_allows() -> None:
    for epsilon, delta in (
        (Fraction(1), Fraction(1, 10**6)),
        (Fraction(1, 10), Fraction(1, 10**9)),
        (Fraction(3), Fraction(1, 100)),
    ):
        p = math.exp(-float(epsilon))
        masses = {z: (1 - p) / (1 + p) * p ** abs(z) for z in range(-600, 601)}
        least = threshold_for(epsilon, delta) - 1
        exact = sum(masses[u] * masses.get(s - u, 0.0) for u in masses for s in range(least, min(least + 400, 1000)))
        assert tail(epsilon, least) == pytest.approx(exact, rel=1e-6)
        allowed = float(delta) / (2 * (1 + math.exp(float(epsilon))))
        assert tail(epsilon, least) <= allowed < tail(epsilon, least - 1)


def test_the_tail_keeps_its_digits_where_epsilon_is_tiny() -> None:
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 40
    for epsilon, least in ((Fraction(1, 10**9), 4 * 10**10), (Fraction(3, 10**7), 10**8), (Fraction(2), 30)):
        p = mpmath.exp(-mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        k, r = (1 - p) / (1 + p), (1 + p * p) / (1 - p * p)
        exact = k * k * p**least * ((least + r) / (1 - p) + p / (1 - p) ** 2)
        assert abs(tail(epsilon, least) / exact - 1) < 1e-10


def test_a_release_adds_one_shared_noise_and_one_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made = HeavyHitters(3, epsilon=1, delta=0.5)
    made.add("aaaaabbbbbb")
    scales = []
    monkeypatch.setattr(
        heavy.noise, "discrete_laplace", lambda scale, size, bits: scales.append(scale) or [1, 20, 30, 400]
    )
    order = [text for text, _ in made._counters]
    own = dict(zip(order, [1, 20, 30], strict=True))
    assert made.release() == {"b": 6 + 400 + own["b"], "a": 5 + 400 + own["a"]}
    assert scales == [1]


def test_frequent_values_are_found_and_the_release_is_one() -> None:
    found = HeavyHitters(20, epsilon=1, delta=1e-6)
    rng = np.random.default_rng(1)
    rows = ["tea"] * 3_000 + ["milk"] * 2_000 + [f"rare {each}" for each in range(1_000)]
    found.add(rng.permutation(rows))
    told = found.release()
    assert list(told)[:2] == ["tea", "milk"]
    assert 3_000 - found.misses(6_000) - 40 < told["tea"] < 3_040
    with pytest.raises(BudgetExceeded):
        found.release()
    with pytest.raises(TacitError):
        found.__reduce__()
    with pytest.raises(ParameterError, match="above 0"):
        HeavyHitters(5, epsilon=1, delta=0)
