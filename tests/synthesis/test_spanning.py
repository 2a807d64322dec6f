"""Spanning trees: what the private choices see, on neighbours too, and what they prefer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

import numpy as np

from tacit.mechanisms import Exponential
from tacit.noise import BitSource, secure
from tacit.synthesis import scoring
from tacit.synthesis.spanning import chosen_tree

SURE = Exponential(sensitivity=1, epsilon=10**6)


@dataclass
class Told:
    """Takes the place of a choice: picks what it is told to, and keeps the scores that it saw."""

    picks: list[int]
    seen: list[list[int]] = field(default_factory=list)

    def choose(self, candidates: Sequence[int], *, scores: list[int], bits: BitSource) -> int:
        self.seen.append(list(scores))
        return candidates[self.picks[len(self.seen) - 1] % len(candidates)]


def grown(choice: Any, scores: dict[tuple[int, int], int], columns: int, total: float) -> list[tuple[int, int]]:
    return cast("list[tuple[int, int]]", chosen_tree(choice, scores, columns, total, secure()))


def pairs_of(columns: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(columns), 2))


def test_trees_are_trees() -> None:
    scores = {(a, b): a * b for a, b in pairs_of(6)}
    for choice in (SURE, Exponential(sensitivity=1, epsilon=Fraction(1, 100))):
        edges = grown(choice, scores, 6, 50.0)
        assert len(edges) == 5
        reached = {0}
        for _ in edges:
            reached |= {each for edge in edges if reached & set(edge) for each in edge}
        assert reached == set(range(6))


def test_a_unit_moves_what_a_choice_sees_exactly_as_far_as_it_moves_the_given_scores() -> None:
    generator = np.random.default_rng(3)
    for _ in range(40):
        scores = {pair: int(generator.integers(0, 10**6)) for pair in pairs_of(6)}
        moved = {pair: own + int(generator.integers(-scoring.GRID, scoring.GRID + 1)) for pair, own in scores.items()}
        picks = [int(each) for each in generator.integers(0, 99, 5)]
        total = float(generator.uniform(1, 10**5))
        first, second = Told(picks), Told(picks)
        assert grown(first, scores, 6, total) == grown(second, moved, 6, total)
        left = pairs_of(6)
        chosen = Told(picks)
        edges = grown(chosen, dict.fromkeys(scores, 0), 6, total)
        part = list(range(6))
        for (a, b), one, other in zip(edges, first.seen, second.seen, strict=True):
            left = [pair for pair in left if part[pair[0]] != part[pair[1]]]
            assert [y - x for x, y in zip(one, other, strict=True)] == [moved[pair] - scores[pair] for pair in left]
            part = [part[a] if each == part[b] else each for each in part]


def test_what_is_added_is_the_logarithm_of_what_a_column_reaches() -> None:
    told = Told([0, 0, 0])  # (0, 1), then (0, 2), then (0, 3): a star
    grown(told, dict.fromkeys(pairs_of(4), 0), 4, 1000.0)
    typical = scoring.GRID * 0.03 * 1000
    assert told.seen[0] == [0] * 6
    # two columns that are connected reach 1.5 each; then the middle of three reaches 2, its ends 1.75
    assert told.seen[1] == [round(typical * math.log(1.5)) + 0] * 4 + [0]
    assert told.seen[2] == [round(typical * math.log(own)) for own in (2, 1.75, 1.75)]


def test_of_pairs_that_depend_equally_the_one_in_the_middle_is_chosen() -> None:
    scores = dict.fromkeys(pairs_of(4), 0) | {(0, 1): 10**9, (0, 2): 9 * 10**8}
    scores |= {(0, 3): 5 * 10**6, (1, 3): 5 * 10**6 + 10, (2, 3): 5 * 10**6 + 10}  # the leaves are ahead by a hair
    assert grown(SURE, scores, 4, 48_842.0)[-1] == (0, 3)
    scores[2, 3] += 2 * 10**6  # and win where they are ahead by much
    assert grown(SURE, scores, 4, 48_842.0)[-1] == (2, 3)
