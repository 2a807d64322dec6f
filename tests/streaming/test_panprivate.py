"""Memory and answer of neighbouring streams, by going through every outcome of every coin."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.errors import BudgetExceeded, ParameterError
from tacit.noise import SeededBitsForTestsOnly
from tacit.streaming import Counter, Cropped, Density, Distinct, panprivate

EPSILON = 1.0


class Script:
    """Coins and draws whose outcomes are prescribed; `weight` is how likely they were."""

    def __init__(self, outcomes: list[int], state: float) -> None:
        self.left, self.weight = list(outcomes), 1.0
        self._e = math.exp(state)

    def release(self, came: Any, *, bits: Any = None) -> Any:
        flat = [self._one(int(each)) for each in np.ravel(came)]
        return np.array(flat) if isinstance(came, np.ndarray) else flat[0]

    def _one(self, came: int) -> int:
        outcome = self.left.pop(0)
        self.weight *= (self._e if outcome == came else 1) / (1 + self._e)
        return outcome

    other = 0.25


def law(
    make: Any, before: list[str], after: list[str], state: float, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> dict[Any, float]:
    """The joint law of (memory at the intrusion, number of ones at the end)."""
    found: dict[Any, float] = defaultdict(float)
    coins = 2 + len(before) + len(after)
    for start in itertools.product(range(rounds), repeat=2):
        for outcomes in itertools.product((0, 1), repeat=coins):
            script = Script(list(outcomes), state)
            monkeypatch.setattr(panprivate, "RandomizedResponse", lambda *_, script=script: script)
            monkeypatch.setattr(panprivate.noise, "uniform_below", lambda n, size, bits, s=start: np.array(s))
            made = make()
            made.add(before)
            memory = (tuple(made.memory.tolist()), tuple(getattr(made, "rounds", np.zeros(0)).tolist()))
            made.add(after)
            unused = 0.5 ** len(script.left)  # outcomes of coins that were not thrown: each counted twice
            found[(memory, int(made.memory.sum()))] += script.weight * unused / rounds**2
    assert sum(found.values()) == pytest.approx(1)
    return found


def told(joint: dict[Any, float], output: float) -> Iterator[tuple[Any, float]]:
    """The joint law of memory and answer, up to a constant: the sum of ones plus Laplace noise of scale 1/output."""
    memories = {memory for memory, _ in joint}
    for memory in memories:
        for answer in range(-3, 6):
            yield (
                (memory, answer),
                sum(p * math.exp(-output * abs(answer - ones)) for (seen, ones), p in joint.items() if seen == memory),
            )


@pytest.mark.parametrize("kind", ["density", "cropped"])
@pytest.mark.parametrize(
    ("before", "after"), [(["a"], []), ([], ["a"]), (["a"], ["a"]), (["a", "a", "a"], ["a"]), (["a", "b"], ["b", "a"])]
)
def test_memory_and_answer_together_tell_epsilon_about_a_user_and_no_more(
    kind: str, before: list[str], after: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = EPSILON / 2

    def make() -> Any:
        if kind == "density":
            return Density(["a", "b"], epsilon=EPSILON)
        return Cropped(["a", "b"], 2, epsilon=EPSILON)

    rounds = 1 if kind == "density" else 2
    without = [[each for each in part if each != "a"] for part in (before, after)]
    with_user = law(make, before, after, state, rounds, monkeypatch)
    none = law(make, without[0], without[1], state, rounds, monkeypatch)
    one, two = dict(told(with_user, EPSILON - state)), dict(told(none, EPSILON - state))
    assert set(one) == set(two)  # no memory tells that somebody came
    ratios = [one[seen] / two[seen] for seen in one]
    assert max(*ratios, *(1 / each for each in ratios)) <= math.exp(EPSILON) * (1 + 1e-9)
    assert max(*ratios, *(1 / each for each in ratios)) > 1.2


@pytest.mark.parametrize(("before", "after"), [(1, 0), (0, 1)])
def test_a_counter_hides_an_event_before_or_after_the_intrusion(
    before: int, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """memory = first noise + events before; answer = memory + events after + second noise: checked, then enumerated."""
    noises = [17, 300]
    monkeypatch.setattr(
        panprivate.noise, "discrete_laplace", lambda scale, size, bits: noises.pop(0) if scale == 1 else None
    )
    counter = Counter(epsilon=1)
    counter.add(5)
    assert counter.memory == 22
    counter.add(3)
    assert counter.answer() == 25 + 300
    spread = range(-12, 13)

    def mass(memory: int, answer: int, early: int, late: int) -> float:
        return math.exp(-abs(memory - early) - abs(answer - memory - late))

    ratios = [
        mass(memory, answer, 5 + before, 3 + after) / mass(memory, answer, 5, 3)
        for memory in spread
        for answer in spread
    ]
    assert max(max(ratios), 1 / min(ratios)) == pytest.approx(math.e)


def test_estimates_are_near_the_truth_and_as_exact_as_stated() -> None:
    """Each within six stated deviations (and the sampling of hashing and cropping): 1e-6 by chance."""
    users = list(range(20_000))
    seen = [each for each in users if each % 4 == 0]
    density = Density(users, epsilon=1, bits=SeededBitsForTestsOnly(1))
    density.add(seen)
    density.add(seen)
    assert density.answer() == pytest.approx(0.25, abs=6 * density.deviation())
    distinct = Distinct(1 << 14, epsilon=1, bits=SeededBitsForTestsOnly(2))
    distinct.add(seen)
    assert distinct.answer() == pytest.approx(5_000, abs=(1 << 14) * 1.5 * 6 * distinct.deviation() + 300)
    cropped = Cropped(users, 4, epsilon=1, bits=SeededBitsForTestsOnly(3))
    for _ in range(10):
        cropped.add(seen[:2_500])
    cropped.add(seen[2_500:])
    truth = 2_500 * 4 + 2_500
    assert cropped.answer() == pytest.approx(truth, abs=80_000 * 6 * cropped.deviation() + 600)


def test_what_is_not_listed_counts_nowhere_and_answers_leave_once() -> None:
    density = Density(["a"], epsilon=1)
    density.add(["z", 5, None])
    density.answer()
    with pytest.raises(BudgetExceeded):
        density.answer()
    with pytest.raises(ParameterError, match="below epsilon"):
        Density(["a"], epsilon=1, state=1)
    with pytest.raises(ParameterError, match="different users"):
        Density(["a", "a"], epsilon=1)


@pytest.mark.parametrize("make", [Counter, lambda **o: Density(["a"], **o), lambda **o: Distinct(4, **o)])
def test_two_intrusions_are_refused_with_a_reason(make: Any) -> None:
    with pytest.raises(ParameterError, match="tells who came in between"):
        make(epsilon=1, intrusions=2)


def test_the_price_is_that_of_memory_and_answer() -> None:
    assert Density(["a"], epsilon=2, state=0.5).event.epsilon == Fraction(2)
    assert Density(["a"], epsilon=2, state=0.5).output == Fraction(3, 2)


def test_draws_leave_no_key_in_memory() -> None:
    assert type(Density(["a"], epsilon=1)._bits).__name__ == "ForgetfulBits"
    words = Counter(epsilon=1)._bits.words(4)
    assert len(set(words.tolist())) == 4


def test_the_coins_of_the_memory_tell_the_state_s_share_and_no_more() -> None:
    """The law that is drawn from, not a stand-in: the ratio of its two probabilities is exp(state)."""
    made = Density(["a"], epsilon=3, state=1)
    q = made._coin.other
    assert math.log((1 - q) / q) == pytest.approx(1, rel=1e-9)
