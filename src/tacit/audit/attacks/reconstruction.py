"""Reconstruction: too many answers that are too accurate give the whole column back.

The secret is a column of n bits. The attacker asks for the sum of the bits of random sets of people, and solves for the
bits: by least squares, or by the linear program that minimises the sum of the absolute errors over [0, 1]**n; both are
rounded. Noise that stays well below sqrt(n) does not help against 2 n or more answers (Dinur, Nissim 2003; Dwork,
McSherry, Talwar 2007), which the curves show: they fall from half of the bits wrong to none.

Against the curator the budget is shared by all sums, so the noise grows with their number. The attacker tries two ways:
`questions` random sums in one question; and one sum for each person, which is the best possible attack against added
noise of this kind. The better of the two counts.

A bit of 0 adds nothing to any sum, so changing a bit is like removing the person: the price of a bit is epsilon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.audit.attacks.attempt import Attempt, Curves, Point, Rates, attempted
from tacit.audit.attacks.sandbox import Whole, made_up, one_column
from tacit.parameters import Number

Solve: TypeAlias = Callable[[NDArray[np.float64], NDArray[np.float64], float], NDArray[np.int64]]
"""(sets, answers, deviation of the noise) -> bits."""

_PRIME = 10_007
_QUERIES = (0.5, 1.0, 2.0, 4.0)  # answers for each bit, one curve each
_NOISE = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # deviation of the noise, in units of sqrt(n)


def reconstruction(
    epsilon: Number = "0.2",
    *,
    bits: int = 1_000,
    program_bits: int = 250,
    curve_bits: int = 200,
    questions: int = 60,
    seed: int = 1,
) -> Attempt:
    """Rebuild a secret column from sums; `naive` is least squares on `bits` bits with lightly noised answers.

    >>> done = reconstruction(1, bits=40, program_bits=10, curve_bits=5, questions=2)
    >>> round(done.ceiling, 2), done.naive > done.ceiling
    (0.73, True)
    """

    def run() -> Rates:
        rng = np.random.default_rng(seed)
        secret = rng.integers(0, 2, bits)
        naive = _recovered(rng, secret, queries=3 * bits, deviation=2.0, solve=least_squares)
        small = rng.integers(0, 2, program_bits)
        by_program = _recovered(rng, small, queries=3 * program_bits, deviation=2.0, solve=linear_program)
        private = _through_the_curator(rng, secret, epsilon, questions)
        words = (
            f"Noise of deviation 2 on {3 * bits} sums; the linear program recovers {by_program:.1%} of {program_bits} "
            f"bits. Through the curator {questions} random sums give {private[0]:.1%}, a sum for each person "
            f"{private[1]:.1%}."
        )
        return Rates(naive, max(private), 0.5, bits, words, phase_transition(curve_bits, seed))

    return attempted("reconstruction", "recover the bits of a secret column", run, epsilon=epsilon)


def least_squares(sets: NDArray[np.float64], answers: NDArray[np.float64], deviation: float = 0.0) -> NDArray[np.int64]:
    """The bits nearest to the solution of least error; where the noise is known, of least expected error.

    A bit of -1/2 or 1/2 has variance 1/4, so the ridge that fits noise of this deviation is 4 deviation**2.
    """
    from scipy.linalg import solve

    centred = answers - sets.sum(axis=1) / 2  # bits as -1/2 and 1/2, so that a pull to 0 favours neither
    matrix = sets.T @ sets + (4 * deviation**2 + 1e-6) * np.eye(sets.shape[1])
    return np.asarray(solve(matrix, sets.T @ centred, assume_a="pos") > 0, dtype=np.int64)


def linear_program(
    sets: NDArray[np.float64], answers: NDArray[np.float64], deviation: float = 0.0
) -> NDArray[np.int64]:
    """The bits nearest to the x in [0, 1]**n with the least sum of absolute errors, whatever the noise."""
    from scipy.optimize import linprog

    queries, bits = sets.shape
    # sets x + over - under = answers, all slacks at least 0: half as many rows as two inequalities would need
    equal = np.hstack([sets, np.eye(queries), -np.eye(queries)])
    cost = np.concatenate([np.zeros(bits), np.ones(2 * queries)])
    bounds = [(0, 1)] * bits + [(0, None)] * (2 * queries)
    found = linprog(cost, A_eq=equal, b_eq=answers, bounds=bounds, method="highs-ipm")
    return np.asarray(found.x[:bits] > 0.5, dtype=np.int64)


def phase_transition(bits: int = 200, seed: int = 1) -> Curves:
    """Share of wrong bits against noise, a curve for each number of answers; least squares.

    >>> curves = phase_transition(bits=20)
    >>> curves.x
    'noise, in units of the root of the number of bits'
    """
    rng = np.random.default_rng(seed)
    points = []
    for queries in _QUERIES:
        for noise in _NOISE:
            secret = rng.integers(0, 2, bits)
            right = _recovered(rng, secret, round(queries * bits), noise * bits**0.5, least_squares)
            points.append(Point(f"{queries:g} answers a bit", noise, 1 - right))
    return Curves("noise, in units of the root of the number of bits", "share of wrong bits", tuple(points))


def _recovered(rng: np.random.Generator, secret: Whole, queries: int, deviation: float, solve: Solve) -> float:
    sets = rng.integers(0, 2, (queries, secret.size)).astype(np.float64)
    answers = sets @ secret + deviation * rng.standard_normal(queries)
    return float(np.mean(solve(sets, answers, deviation) == secret))


def _through_the_curator(
    rng: np.random.Generator, secret: Whole, epsilon: Number, questions: int
) -> tuple[float, float]:
    """The shares of bits recovered for `epsilon` by random sums, and by a sum for each person."""
    exact = parameters.positive("epsilon", epsilon)
    seats = np.arange(secret.size)
    columns = {"seat": (seats, (0, secret.size - 1)), "bit": (secret, (0, 1))}
    factors = rng.choice(np.arange(1, _PRIME), questions, replace=False)
    chosen = [f"seat * {factor} % {_PRIME} < {_PRIME // 2}" for factor in factors]
    sums = ", ".join(f"sum(bit) FILTER (WHERE {each}) AS s{place}" for place, each in enumerate(chosen))
    with made_up(columns, 2 * exact) as curator:  # two attacks, each with a budget of its own
        answer = curator.ask(f"SELECT {sums} FROM people", exact)  # noqa: S608 - made of numbers, and read, not run
        each = curator.ask("SELECT seat, sum(bit) AS s FROM people GROUP BY seat ORDER BY seat", exact)
    sets = np.array([seats * int(factor) % _PRIME < _PRIME // 2 for factor in factors]).astype(np.float64)
    answers = np.array([float(one_column(answer, f"s{place}")[0]) for place in range(questions)])
    deviation = 2**0.5 * questions / float(exact)  # every sum has an equal share of the budget
    at_random = float(np.mean(least_squares(sets, answers, deviation) == secret))
    return at_random, float(np.mean((one_column(each, "s") > 0.5) == secret))
