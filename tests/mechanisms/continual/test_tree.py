"""The tree against least squares and against the enumerated law of a tiny stream."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.loss.events import DiscreteLaplace
from tacit.mechanisms.continual import RunningTotals, one_user
from tacit.mechanisms.continual.tree import Tree, levels_of, log_moment, node_variances, reach, variance


def zeros(many: int) -> list[int]:
    return [0] * many


@pytest.mark.parametrize("steps", [1, 2, 3, 8, 21, 64, 100])
def test_without_noise_totals_are_exact(steps: int) -> None:
    rng = np.random.default_rng(steps)
    stream = rng.integers(-5, 9, (steps, 2))
    assert np.allclose(Tree(steps, 2).extend(stream, zeros), np.cumsum(stream, axis=0), atol=1e-9)


@pytest.mark.parametrize("level", [0, 1, 2, 3, 4])
def test_an_estimate_from_below_is_least_squares_on_its_own_subtree(level: int) -> None:
    """Every node of a full tree is measured once; the root's variance by generalised least squares is the truth."""
    leaves = 1 << level
    rows = []
    for height in range(level + 1):
        for start in range(0, leaves, 1 << height):
            rows.append([1.0 if start <= leaf < start + (1 << height) else 0.0 for leaf in range(leaves)])
    design = np.array(rows)
    total = np.ones(leaves)
    best = total @ np.linalg.inv(design.T @ design) @ total
    assert node_variances(level + 1)[level] == pytest.approx(float(best), rel=1e-9)


@pytest.mark.parametrize("steps", [3, 6, 11, 16])
def test_the_stated_variance_is_that_of_the_weights_of_all_noises(steps: int) -> None:
    """One unit of noise at a time shows its weight in the last total."""
    count = sum((each & -each).bit_length() for each in range(1, steps + 1))
    weights = []
    for place in range(count):
        used = itertools.count()

        def draw(many: int, place: int = place, used: itertools.count = used) -> list[int]:
            return [int(next(used) == place) for _ in range(many)]

        weights.append(Tree(steps, 1).extend(np.zeros((steps, 1), dtype=int), draw)[-1, 0])
    assert variance(steps) == pytest.approx(float(np.square(weights).sum()), rel=1e-9)
    scale, rate = 3.0, 0.1
    decay = math.exp(-1 / scale)
    exact = sum(
        math.log((1 - decay) ** 2 / ((1 - decay * math.exp(rate * w)) * (1 - decay * math.exp(-rate * w))))
        for w in weights
    )
    assert log_moment(steps, scale, rate) == pytest.approx(exact, rel=1e-9)


def sent_by(stream: tuple[int, int], noises: tuple[int, int, int]) -> tuple[int, int]:
    """Both totals of two steps, the second times 3."""
    tree, queue = Tree(2, 1), list(noises)
    first, second = (tree.step([value], lambda many: [queue.pop(0) for _ in range(many)])[0] for value in stream)
    return round(first), round(3 * second)


@pytest.mark.parametrize(("first", "second"), [((0, 0), (1, 0)), ((0, 0), (0, 1)), ((3, 1), (2, 1))])
def test_the_law_of_two_steps_is_epsilon_private_and_no_more_than_needed(
    first: tuple[int, int], second: tuple[int, int]
) -> None:
    """The total after two steps is (2 root + both leaves)/3: all roots and leaves that give it are summed over."""
    assert sent_by((5, 7), (1, 10, 100)) == (6, 2 * 112 + 6 + 17)
    event = RunningTotals(2, epsilon=1).event
    assert isinstance(event, DiscreteLaplace)
    masses = {z: math.exp(-abs(z) / float(event.scale)) for z in range(-400, 401)}

    def mass(stream: tuple[int, int], leaf: int, last: int) -> float:
        one, two = stream
        return masses[leaf - one] * sum(
            masses[root - one - two] * masses.get(last - 2 * root - leaf - two, 0.0) for root in range(-150, 151)
        )

    outputs = list(itertools.product(range(-12, 13, 3), range(-40, 41, 5)))
    ratios = [mass(first, *sent) / mass(second, *sent) for sent in outputs]
    most = max(max(ratios), 1 / min(ratios))
    assert most <= math.exp(1) * (1 + 1e-9)
    assert most > 2


def test_the_event_counts_every_node_over_a_step_and_every_step_of_a_user() -> None:
    assert RunningTotals(1000, epsilon=2).event == DiscreteLaplace(10, Fraction(10, 2))
    assert RunningTotals(1024, epsilon=2).event == DiscreteLaplace(11, Fraction(11, 2))
    assert RunningTotals(1000, epsilon=2, protects=one_user(3)).event == DiscreteLaplace(30, Fraction(30, 2))
    for steps in range(1, 70):  # nodes over each step, counted
        over = [0] * steps
        for now in range(1, steps + 1):
            for level in range((now & -now).bit_length()):
                for step in range(now - (1 << level), now):
                    over[step] += 1
        assert max(over) == levels_of(steps)


@pytest.mark.statistical
def test_errors_stay_within_the_bound() -> None:
    """Chernoff's bound at 1e-3, 4,000 streams: 4 expected at most, 30 by chance less than once in 1e9."""
    rng = np.random.default_rng(5)
    scale, steps = 4.0, 13
    limit = reach(steps, scale, 1e-3)
    beyond = 0
    for _ in range(4_000):
        tree = Tree(steps, 1)

        def draw(many: int) -> list[int]:
            return list(rng.geometric(1 - math.exp(-1 / scale), many) - rng.geometric(1 - math.exp(-1 / scale), many))

        beyond += abs(tree.extend(np.zeros((steps, 1), dtype=int), draw)[-1, 0]) > limit
    assert beyond < 30
    assert limit < 8 * math.sqrt(variance(steps) * 2) * scale
