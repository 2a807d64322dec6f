"""Canaries that have something of a model for themselves: a leaf, a split, an edge, a bin. For trees, forests and bins.

Canaries that share everything with others (`trainers.py`) say nothing about such models. Here:

- A leaf. Trees see few rows, so that their splits are random, and are deep, so that most canaries are alone in a leaf;
  who is, follows from the released splits. The leaf's class tells about the canary. Half of the canaries have an
  opponent, a row at the same place with the other class that is always there: with it, "the canary's class" is rare
  without the canary; without it, "the other class" is rare with it. Both are as telling as the mechanism allows.
- A split. Two columns divide the rows that are always there equally well, and the canary (or an opponent) is the row
  that makes one of them better.
- A bin. A column has as many listed values as there are canaries, and each has one of them.
- An edge. One row lies in the middle of the bounds, so that the median is as likely on either side of it; the canary
  lies at the upper bound and makes that side better.
- A minimum. The canary is the only row there is, so that the minimum of a perturbed loss is where it pulls it.

Many small trainings, each with canaries of its own, are one trainer: a canary is in one of them alone, so that adding
it costs what it costs there, and the theorem of the audit holds for all guesses together.

A score is the logarithm of how much likelier what was seen is with the canary than without, as far as it is known.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

from tacit import learning
from tacit.audit import one_run
from tacit.audit.canaries import OneRun
from tacit.learning.bins import boosting, discretizer, naive_bayes
from tacit.learning.columns import Feature
from tacit.learning.linear import perturbed
from tacit.learning.linear.margin_losses import FINE
from tacit.learning.trees import growing
from tacit.learning.trees.growing import leaf_of
from tacit.noise import secure

_COLUMNS, _DEPTH, _IN_A_TREE = 12, 6, 4
_IN_A_COLUMN = 100
_PULLED_BY = 3  # columns: with their constant they are four, whose root is whole
_BACKGROUND = 60  # rows of each class: more than a tree of random splits has


@dataclass(frozen=True, slots=True)
class Canary:
    """One of the canaries of a training: where it is, and whether it has an opponent."""

    training: int
    place: Any
    opposed: bool


@contextmanager
def quieter(times: int) -> Iterator[None]:
    """For as long as it lasts, the noise of these trainers is so many times too small; what they claim stays.

    A tilt is that many times smaller once more: it is worth least beside its theorem's bound.
    """
    choice, calibrated, noise, tilt = growing.PermuteAndFlip, boosting.calibrated, naive_bayes._noise, perturbed._tilt
    ranks = discretizer.ranks

    def louder(sensitivity: Any, epsilon: Any, *, monotone: bool) -> Any:
        return choice(sensitivity, times * epsilon, monotone=monotone)

    def small(parts: Any, epsilon: Any, delta: Any) -> Any:
        return calibrated(parts, times * epsilon, delta)

    def little(*facts: Any) -> Any:
        *others, epsilon, delta = facts
        return noise(*others, times * epsilon, delta)

    def flat(*facts: Any) -> Any:
        return tilt(*facts) / times**2

    def nearer(feature: Any, rows_per_unit: int, shares: Any, epsilon: Any) -> Any:
        return ranks(feature, rows_per_unit, shares, times * epsilon)

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(discretizer, "ranks", nearer))
        stack.enter_context(mock.patch.object(perturbed, "calibrated", small))
        stack.enter_context(mock.patch.object(perturbed, "_tilt", flat))
        stack.enter_context(mock.patch.object(growing, "PermuteAndFlip", louder))
        stack.enter_context(mock.patch.object(boosting, "calibrated", small))
        stack.enter_context(mock.patch.object(naive_bayes, "_noise", little))
        yield


# -- leaves ------------------------------------------------------------------------------------------------


def leaves(model: Callable[[], Any], canaries: int) -> OneRun:
    """Guess by the classes of leaves that canaries have for themselves."""
    rng = np.random.default_rng()
    made = [
        Canary(place // _IN_A_TREE, rng.integers(0, 2, _COLUMNS).astype(float), bool(place % 2))
        for place in range(canaries)
    ]
    by_training = _by_training(made)

    def trainer(included: list[Canary]) -> Any:
        inside = Counter(map(id, included))
        return [_leaf_scores(model(), own, [each for each in own if id(each) in inside]) for own in by_training]

    return _guessed(trainer, made, by_training)


def _leaf_scores(model: Any, own: list[Canary], included: list[Canary]) -> list[float]:
    against = [each for each in own if each.opposed]
    rows = np.array([each.place for each in [*against, *included]] or [np.zeros(_COLUMNS)])
    target = np.array([0] * len(against) + [1] * len(included) or [0])
    model.fit(rows, target)
    places = np.array([each.place for each in own])
    scores = np.zeros(len(own))
    share = _leaf_epsilon(model)
    bins = [column.astype(np.int64) for column in places.T]
    for splits, classes in zip(model._splits, model._leaves, strict=True):
        leaf = leaf_of(splits, model._bins, bins)
        held = Counter(leaf.tolist())
        for number, each in enumerate(own):
            if held[int(leaf[number])] == 1:
                scores[number] += _likelier(bool(classes[leaf[number]] == 1), each.opposed, share)
    return scores.tolist()


def _leaf_epsilon(model: Any) -> float:
    """What the choice of one leaf's class costs, by what was released: public."""
    trees, epsilon = len(model._splits), float(model.epsilon)
    random = model.count_ * epsilon < growing.few(2)
    own = epsilon * float(1 - growing._COUNT_SHARE) / trees
    return own if random else own * float(growing._LEAF_SHARE)


def _likelier(seen: bool, opposed: bool, epsilon: float) -> float:
    """For a choice of two that the canary raises by one: log of P[seen | in]/P[seen | out]."""
    rare = 0.5 * math.exp(-epsilon)
    with_canary, without = (0.5, rare) if opposed else (1 - rare, 0.5)
    return math.log(with_canary / without) if seen else math.log((1 - with_canary) / (1 - without))


# -- splits ------------------------------------------------------------------------------------------------


def splits(model: Callable[[], Any], canaries: int) -> OneRun:
    """Guess by which of two columns that are equally good without the canary a tree splits at. One training each."""
    made = [Canary(place, None, bool(place % 2)) for place in range(canaries)]
    by_training = _by_training(made)

    def trainer(included: list[Canary]) -> Any:
        inside = {id(each) for each in included}
        return [[_split_score(model(), own, id(own) in inside)] for (own,) in by_training]

    return _guessed(trainer, made, by_training)


def _split_score(model: Any, canary: Canary, is_in: bool) -> float:
    rows = [(0.0, 0.0, 0)] * _BACKGROUND + [(1.0, 1.0, 1)] * _BACKGROUND
    rows += [(0.0, 1.0, 1)] * canary.opposed + [(1.0, 0.0, 1)] * is_in
    table = np.array(rows)  # a new object: what is fitted again is released once
    model.fit(table[:, :2], table[:, 2].astype(int))
    share = float(model.epsilon) * float((1 - growing._COUNT_SHARE) * (1 - growing._LEAF_SHARE))
    return _likelier(bool(model._splits[0, 0, 0] == 0), canary.opposed, share)


# -- edges -------------------------------------------------------------------------------------------------


def edges(model: Callable[[], Any], canaries: int) -> OneRun:
    """Guess by the side on which a median lies that is as likely on both without the canary. One training each."""
    made = [Canary(place, None, bool(place % 2)) for place in range(canaries)]
    by_training = _by_training(made)

    def trainer(included: list[Canary]) -> Any:
        inside = {id(each) for each in included}
        return [[_edge_score(model(), own, id(own) in inside)] for (own,) in by_training]

    return _guessed(trainer, made, by_training)


def _edge_score(model: Any, canary: Canary, is_in: bool) -> float:
    """An opponent, at the lower bound, makes the upper side rare without the canary."""
    rows = np.array([[0.5]] + [[0.0]] * canary.opposed + [[1.0]] * is_in)
    (edge,) = model.fit(rows).finding_.arrays["edges"][0]
    common = 1 / (1 + math.exp(-float(model.epsilon)))  # of the better side, in a choice of two by the exponential law
    with_canary, without = (0.5, 1 - common) if canary.opposed else (common, 0.5)
    return math.log(with_canary / without) if edge > 0.5 else math.log((1 - with_canary) / (1 - without))


# -- bins --------------------------------------------------------------------------------------------------


def bins(model: Callable[[dict[int, list[str]]], Any], canaries: int, *, beside: int = 0) -> OneRun:
    """Guess by what was released about a value that one canary has.

    The rows that are always there (`beside` in each canary's bin) have the other class, or the least target, so that
    the canary is a surprise: its residual is as large as a residual can be.
    """
    made = [Canary(place // _IN_A_COLUMN, f"v{place % _IN_A_COLUMN}", False) for place in range(canaries)]
    by_training = _by_training(made)

    def trainer(included: list[Canary]) -> Any:
        inside = {id(each) for each in included}
        return [_bin_scores(model, own, [e for e in own if id(e) in inside], beside) for own in by_training]

    return _guessed(trainer, made, by_training)


def _bin_scores(
    model: Callable[[dict[int, list[str]]], Any],
    own: list[Canary],
    included: list[Canary],
    beside: int,
) -> list[float]:
    places = [each.place for each in own]
    always = np.repeat(places, beside).tolist()
    rows = np.array([*always, *(each.place for each in included)], dtype=object)
    target = np.repeat([0, 1], [len(always), len(included)])
    fitted = model({0: [*places, "elsewhere"]}).fit(rows[:, None], target)
    arrays = {name: np.asarray(value, dtype=float) for name, value in fitted.finding_.arrays.items()}
    found = arrays["cells" if "cells" in arrays else "tables"].reshape(len(own) + 1, -1)[:-1, -1]
    return [float(each) for each in found]


# -- minima ------------------------------------------------------------------------------------------------


def minima(method: str, epsilon: float, delta: float, canaries: int) -> OneRun:
    """Guess by how far the released weights lie where the canary pulls them. One training each."""
    features = tuple(Feature(f"x{place}", 0, 2, Fraction(1)) for place in range(_PULLED_BY))
    made = perturbed.plan_perturbed(features, 2, 1, Fraction(epsilon), Fraction(str(delta)), method)
    trained = [Canary(place, None, False) for place in range(canaries)]
    by_training = _by_training(trained)

    def trainer(included: list[Canary]) -> Any:
        inside = {id(each) for each in included}
        return [[_pulled(made, id(own) in inside)] for (own,) in by_training]

    return _guessed(trainer, trained, by_training, delta)


def _pulled(made: perturbed.Perturbed, is_in: bool) -> float:
    """How much likelier the weights are where the canary pulls them, for noise of Laplace's law, or of a normal one."""
    rows = np.array([[2] * _PULLED_BY + [1]], dtype=np.int64)[: int(is_in)]  # all at their ends, of the second class
    found = made.learn(rows.T, ["number"] * _PULLED_BY + ["text"], secure())
    away = FINE - found.centre
    away = away * min(1.0, made.reach / max(float(np.linalg.norm(away)), 1.0))
    aim = np.array([made.constant, *away]) / made.reach / 2 / float(made.ridge)
    weights = found.weights[:, 0]
    return float(weights @ aim) if made.tilt else float((np.abs(weights) - np.abs(weights - aim)).sum())


# -- all of them -------------------------------------------------------------------------------------------


def _by_training(canaries: Sequence[Canary]) -> list[list[Canary]]:
    found: dict[int, list[Canary]] = {}
    for each in canaries:
        found.setdefault(each.training, []).append(each)
    return list(found.values())


def _guessed(
    trainer: Callable[[list[Canary]], Any], made: list[Canary], by_training: list[list[Canary]], delta: float = 0
) -> OneRun:
    place = {id(each): (number, at) for number, own in enumerate(by_training) for at, each in enumerate(own)}

    def score(found: list[list[float]], canary: Canary) -> float:
        number, at = place[id(canary)]
        return found[number][at]

    return one_run(trainer, score, made, delta=delta)


def _tree(epsilon: float) -> Any:
    return learning.DecisionTreeClassifier(epsilon=epsilon, bounds=(0, 1), classes=[0, 1], bins=2, max_depth=_DEPTH)


def _stump(epsilon: float) -> Any:
    return learning.DecisionTreeClassifier(epsilon=epsilon, bounds=(0, 1), classes=[0, 1], bins=2, max_depth=1)


def _forest(epsilon: float) -> Any:
    return learning.RandomForestClassifier(2, epsilon=epsilon, bounds=(0, 1), classes=[0, 1], bins=2, max_depth=_DEPTH)


ATTACKS: dict[str, Callable[[float, int], OneRun]] = {
    "DecisionTreeClassifier, leaves": lambda epsilon, many: leaves(lambda: _tree(epsilon), many),
    "DecisionTreeClassifier, splits": lambda epsilon, many: splits(lambda: _stump(epsilon), many),
    "RandomForestClassifier, leaves": lambda epsilon, many: leaves(lambda: _forest(epsilon), 2 * many),
    "BoostedBinsClassifier, bins": lambda epsilon, many: bins(
        lambda values: learning.BoostedBinsClassifier(epsilon=epsilon, values=values, classes=[0, 1]),
        3 * many,
        beside=300,
    ),
    "BoostedBinsRegressor, bins": lambda epsilon, many: bins(
        lambda values: learning.BoostedBinsRegressor(epsilon=epsilon, values=values, target_bounds=(0, 1)),
        3 * many,
        beside=30,
    ),
    "CategoricalNB, bins": lambda epsilon, many: bins(
        lambda values: learning.CategoricalNB(epsilon=epsilon, values=values, classes=[0, 1]), 2 * many
    ),
    "KBinsDiscretizer, edges": lambda epsilon, many: edges(
        lambda: learning.KBinsDiscretizer(2, epsilon=epsilon, bounds=(0, 1)), many
    ),
    "LogisticRegression, output, minima": lambda epsilon, many: minima("output", epsilon, 0, many),
    "LogisticRegression, objective, minima": lambda epsilon, many: minima("objective", epsilon, 1e-6, many),
}
"""By name: a model and what its canaries have for themselves; a function of the claim (pure) and of how many."""
