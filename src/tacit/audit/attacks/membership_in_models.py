"""Membership from a model: it is surer of what it was trained on.

A logistic regression with more features than rows memorises its rows. A coin decided for every candidate whether
they are in the training data. Two attacks (both know the candidate's row and how the model was made):

- by loss (Yeom et al. 2018): a candidate whose loss is below the median of losses in models of the attacker's own,
  trained on other data, was in;
- by likelihood ratio (Carlini et al. 2022): the attacker trains shadow models on halves of the candidates, fits
  a normal law to each candidate's margins with and without them, and compares the two densities at what is seen.

The private model has Gaussian noise on its weights (`logistic` has the theorem and the proof), calibrated for one row
more or less. The attacker's shadow models get the same noise, so the comparison is fair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.audit.attacks.attempt import Attempt, Rates, attempted
from tacit.audit.attacks.logistic import Reals, fit, fit_privately, margins, noise_for, within_unit_ball
from tacit.parameters import Number

Train: TypeAlias = Callable[[Reals, Reals], Reals]
Guesses: TypeAlias = NDArray[np.bool_]
_NAIVE_RIDGE, _PRIVATE_RIDGE = 1e-2, 1.0


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rows, labels, and for each of several data sets who is in it; the first of them is the target."""

    rows: Reals
    labels: Reals
    members: Guesses


def membership_by_loss(
    epsilon: Number = 1,
    delta: Number = "1e-9",
    *,
    candidates: int = 200,
    features: int = 1_000,
    pairs: int = 4,
    seed: int = 1,
) -> Attempt:
    """Find out by its loss whether a row was in a model's training data.

    >>> done = membership_by_loss(epsilon=1, candidates=30, features=150, pairs=1)
    >>> round(done.ceiling, 2), done.naive > done.ceiling
    (0.73, True)
    """
    return _attack("membership by loss", by_loss, epsilon, delta, candidates, features, pairs, seed)


def membership_by_likelihood_ratio(
    epsilon: Number = 1,
    delta: Number = "1e-9",
    *,
    candidates: int = 200,
    features: int = 500,
    pairs: int = 16,
    seed: int = 1,
) -> Attempt:
    """Find out by a likelihood ratio whether a row was in a model's training data.

    >>> done = membership_by_likelihood_ratio(epsilon=1, candidates=30, features=150, pairs=2)
    >>> round(done.ceiling, 2), done.naive > done.ceiling
    (0.73, True)
    """
    return _attack("membership by likelihood ratio", _by_ratio, epsilon, delta, candidates, features, pairs, seed)


def _attack(
    name: str,
    guess: Callable[[Reals, Guesses], Guesses],
    epsilon: Number,
    delta: Number,
    candidates: int,
    features: int,
    pairs: int,
    seed: int,
) -> Attempt:
    def run() -> Rates:
        rng = np.random.default_rng(seed)
        rows = within_unit_ball(rng.standard_normal((candidates, features)))
        labels = np.where(rng.integers(0, 2, candidates) == 1, 1.0, -1.0)
        # shadow models in pairs, a random half of the candidates and the other half: everyone is in one of each pair
        halves = rng.integers(0, 2, (pairs, candidates)) == 1
        members = np.vstack([rng.integers(0, 2, candidates) == 1, halves, ~halves])
        made_up = Candidates(rows, labels, members)
        naive = _seen(made_up, lambda part, signs: fit(part, signs, _NAIVE_RIDGE))
        noise = noise_for(features, _PRIVATE_RIDGE, epsilon, delta)
        private = _seen(made_up, lambda part, signs: fit_privately(part, signs, _PRIVATE_RIDGE, noise))
        rates = [float(np.mean(guess(each, members) == members[0])) for each in (naive, private)]
        words = f"{int(members[0].sum())} rows of {features} features; {2 * pairs} shadow models."
        return Rates(rates[0], rates[1], 0.5, candidates, words)

    return attempted(name, "tell whether a row was trained on", run, epsilon=epsilon, delta=delta)


def _seen(made_up: Candidates, train: Train) -> Reals:
    """The margins of all candidates in every model: models by candidates."""
    models = [train(made_up.rows[inside], made_up.labels[inside]) for inside in made_up.members]
    return np.array([margins(model, made_up.rows, made_up.labels) for model in models])


def by_loss(seen: Reals, members: Guesses) -> Guesses:
    """A small loss is a large margin: above half-way between what members and others have in the shadow models."""
    shadows, inside = seen[1:], members[1:]
    threshold = (np.median(shadows[inside]) + np.median(shadows[~inside])) / 2
    return np.asarray(seen[0] > threshold)


def _by_ratio(seen: Reals, members: Guesses) -> Guesses:
    """The likelier of two normal laws, which are fitted for each candidate to the models with and without it."""
    shadows, inside = seen[1:], members[1:]
    with_them, without = (_normal(np.where(which, shadows, np.nan)) for which in (inside, ~inside))
    return np.asarray(_log_density(seen[0], *with_them) > _log_density(seen[0], *without))


def _normal(values: Reals) -> tuple[Reals, Reals]:
    # one spread for all candidates is more reliable than one for each, estimated from a few dozen models
    means = np.nanmean(values, axis=0)
    return means, np.full_like(means, np.sqrt(np.nanmean(np.nanvar(values, axis=0))) + 1e-12)


def _log_density(values: Reals, means: Reals, deviations: Reals) -> Reals:
    return np.asarray(-np.log(deviations) - ((values - means) / deviations) ** 2 / 2)
