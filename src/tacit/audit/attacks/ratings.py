"""Linkage of sparse ratings: a few films that someone rated, with rough dates, are enough to find their record.

The naive release is every subscriber's ratings without names. The attacker knows some of a target's ratings, off by a
star and by days, a few of them plainly wrong. Score of a record (Narayanan, Shmatikov 2008): the sum over the known
films of w (exp(-|stars differ|/1.5) + exp(-|days differ|/30)), w = 1/ln(number who rated it); a match is claimed when
the best score stands out from the second by 1.5 standard deviations of all scores. The aim is a film the attacker does
not know about: a coin decided whether the target rated it.

The private release is how many subscribers rated each film. A subscriber has at most `most` ratings, so the sensitivity
is `most`. The attacker may even know exactly how many others rated the film, and compares.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.audit.attacks.attempt import Attempt, Rates, attempted
from tacit.mechanisms import Laplace
from tacit.parameters import Number

_STARS_SCALE, _DAYS_SCALE, _STANDS_OUT = 1.5, 30.0, 1.5


def ratings_linkage(
    epsilon: Number = 1,
    *,
    subscribers: int = 2_000,
    films: int = 1_000,
    most: int = 40,
    known: int = 8,
    targets: int = 300,
    seed: int = 1,
) -> Attempt:
    """Find targets among sparse ratings by a few of them with noise in stars and dates; learn about one more film.

    >>> done = ratings_linkage(epsilon=1, subscribers=100, films=200, targets=10)
    >>> done.naive, round(done.ceiling, 2)
    (1.0, 0.73)
    """

    def run() -> Rates:
        rng = np.random.default_rng(seed)
        stars, days = _records(rng, subscribers, films, most - 1)
        # one more film that the attacker asks about: rated by each target by a coin, and by a tenth of the others
        rated = rng.random(subscribers) < 0.1
        chosen = rng.choice(subscribers, targets, replace=False)
        rated[chosen] = rng.integers(0, 2, targets) == 1
        weights = 1 / np.log(np.maximum(2, np.count_nonzero(stars, axis=0)))
        right, matched = 0.0, 0
        for target in chosen:
            match = _match(stars, days, weights, *_heard(rng, stars[target], days[target], known, films))
            matched += match == target
            right += bool(rated[match]) == bool(rated[target]) if match >= 0 else 0.5  # a coin where none stands out
        others = np.count_nonzero(rated) - rated[chosen]
        noisy = Laplace(sensitivity=most, epsilon=epsilon).release(others + rated[chosen])
        private = float(np.mean((2 * (noisy - others) > 1) == rated[chosen]))
        words = f"{matched / targets:.1%} of the records were found from {known} of their ratings, two of them wrong."
        return Rates(right / targets, private, 0.5, targets, words)

    return attempted("linkage of ratings", "tell whether a subscriber rated one more film", run, epsilon=epsilon)


def _records(
    rng: np.random.Generator, subscribers: int, films: int, each: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Stars (0 for none) and days of ratings; few films are rated by many."""
    popular = 1 / (10 + np.arange(films))
    keys = rng.exponential(size=(subscribers, films)) / popular  # the smallest keys are a draw without replacement
    picked = np.argpartition(keys, each, axis=1)[:, :each]
    rows = np.arange(subscribers)[:, None]
    stars = np.zeros((subscribers, films), dtype=np.int64)
    days = np.zeros((subscribers, films), dtype=np.int64)
    stars[rows, picked] = rng.integers(1, 6, picked.shape)
    days[rows, picked] = rng.integers(0, 2_000, picked.shape)
    return stars, days


def _heard(
    rng: np.random.Generator, stars: NDArray[np.int64], days: NDArray[np.int64], known: int, films: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """What the attacker heard: films, stars off by up to one, days off by up to 14; two of the films are wrong."""
    heard = rng.choice(np.flatnonzero(stars), known, replace=False)
    near, when = stars[heard] + rng.integers(-1, 2, known), days[heard] + rng.integers(-14, 15, known)
    heard[:2] = rng.choice(films, 2, replace=False)
    return heard, near, when


def _match(
    stars: NDArray[np.int64],
    days: NDArray[np.int64],
    weights: NDArray[np.float64],
    heard: NDArray[np.int64],
    near: NDArray[np.int64],
    when: NDArray[np.int64],
) -> int:
    """The record that stands out, or -1."""
    have = stars[:, heard] > 0
    like = np.exp(-np.abs(stars[:, heard] - near) / _STARS_SCALE) + np.exp(-np.abs(days[:, heard] - when) / _DAYS_SCALE)
    scores = (have * like) @ weights[heard]
    second, best = np.argpartition(scores, -2)[-2:]
    if scores[second] > scores[best]:
        second, best = best, second
    return int(best) if scores[best] - scores[second] > _STANDS_OUT * float(np.std(scores)) else -1
