"""The least noise known, worked out from the literature's formulas and not from our own plans.

`least(question)` gives, for every output, the standard deviation it would have if each of the numbers it is computed
from had the least noise known for its sensitivity and its share of the budget.

- One number, whole, sensitivity S, pure epsilon: the staircase law has the least variance of all (Geng and Viswanath
  2016); for S = 1 it is the geometric law, best for every user at once (Ghosh, Roughgarden, Sundararajan 2009).
- A vector of cells of L1 sensitivity S, pure epsilon: discrete Laplace noise of scale S/epsilon, the K-norm law of the
  L1 ball (Hardt and Talwar 2010). No law is known with 5 % less variance in every cell at the epsilons asked here.
- (epsilon, delta): Gaussian noise by the exact condition (Balle and Wang 2018), or Laplace noise under tight
  composition (dp-accounting), whichever is less.
- Shares: with several numbers none of which is known to matter more, equal relative errors are the least worst case,
  so each gets the same share. (For a mean S/n of relative error 1/a**2 + 1/b**2, a + b = 1, that is a = b.)
- Unknown keys with their counts, one key a unit: discrete Laplace noise of scale 1/epsilon, all of epsilon; the
  threshold costs delta alone (Desfontaines, Voss, Gipson, Mandayam 2020). A key far above it is always shown.

`jointly` is stricter: numbers of one question move together (a row adds 1 to the count and at most h to the centred
sum), and for d numbers that fill the box there is the K-norm law of the box, density exp(-epsilon max_i |z_i|/S_i): its
variance in each is S_i**2 (d + 1)(d + 2)/(3 epsilon**2), against 2 (d S_i/epsilon)**2 by composition.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from _accuracy_questions import SCORES, TOP, Question

HALF = TOP / 2


@dataclass(frozen=True, slots=True)
class Least:
    """The least deviation of one output, and of the same output where all numbers are noised jointly (or None)."""

    alone: float
    jointly: float | None
    why: str


def geometric(scale: float) -> float:
    """Deviation of discrete Laplace noise, by adding up its masses."""
    points = np.arange(1, math.ceil(60 * scale) + 60, dtype=float)
    masses = np.exp(-points / scale)
    return math.sqrt(2 * float((points**2 * masses).sum()) / (1 + 2 * float(masses.sum())))


@functools.lru_cache
def staircase(sensitivity: int, epsilon: float) -> float:
    """The least deviation over all whole step lengths of the discrete staircase law."""
    reach = math.ceil(50 / epsilon + 2) * sensitivity
    points = np.arange(reach)
    level, offset = points // sensitivity, points % sensitivity
    best = math.inf
    for step in sorted({max(1, round(sensitivity * share / 40)) for share in range(1, 41)}):
        masses = np.exp(-epsilon * (level + (offset >= step)))
        both = np.concatenate([masses[:0:-1], masses])
        ratio = both[sensitivity:] / both[:-sensitivity]
        # private: shifting by the sensitivity changes no mass by more than exp(epsilon), either way
        assert math.exp(-epsilon) * (1 - 1e-9) <= ratio.min() <= ratio.max() <= math.exp(epsilon) * (1 + 1e-9)
        distances = np.abs(np.arange(len(both)) - (reach - 1)).astype(float)
        best = min(best, math.sqrt(float((distances**2 * both).sum() / both.sum())))
    return best


@functools.lru_cache
def gaussian(epsilon: float, delta: float) -> float:
    """The least sigma for sensitivity 1, by bisection on the exact condition."""
    from scipy.special import log_ndtr

    def spent(sigma: float) -> float:
        first = math.exp(float(log_ndtr(0.5 / sigma - epsilon * sigma)))
        return first - math.exp(epsilon + float(log_ndtr(-0.5 / sigma - epsilon * sigma)))

    low, high = 1e-3, 1e6
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if spent(middle) > delta else (low, middle)
    return high


@functools.lru_cache
def laplace_together(count: int, epsilon: float, delta: float) -> float:
    """The least deviation of `count` Laplace noises of sensitivity 1 that are (epsilon, delta) together."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    low, high = count / epsilon / 4, count / epsilon
    for _ in range(14):
        middle = (low + high) / 2
        one = pld.from_laplace_mechanism(middle, value_discretization_interval=1e-4)
        spent = one.self_compose(count).get_epsilon_for_delta(delta)
        low, high = (middle, high) if spent > epsilon else (low, middle)
    return math.sqrt(2) * high


def box(numbers: int) -> float:
    """How much less noise the box's law has than composition."""
    return math.sqrt((numbers + 1) * (numbers + 2) / 3) / (math.sqrt(2) * numbers)


def least(question: Question) -> dict[str, Least]:
    """The least deviation of each output of a question."""
    epsilon, rows, units = float(question.epsilon), question.rows, question.rows_per_unit
    label = question.label
    if label.startswith("count of units"):
        return {"n": Least(staircase(1, epsilon), None, "geometric, S = 1")}
    if label.startswith(("count, ", "count with")):
        return {"n": Least(staircase(units, epsilon), None, f"staircase, S = {units}")}
    if label.startswith("sum"):
        return {"s": Least(staircase(units * TOP, epsilon), None, f"staircase, S = {units * TOP}")}
    if label == "counts by a known key":
        return {"n": Least(geometric(units / epsilon), None, f"Laplace, S = {units} over cells")}
    if label == "counts by an unknown key":
        return {"n": Least(geometric(1 / epsilon), None, "Laplace, S = 1, all of epsilon")}
    if label.startswith("count and ten"):
        return _many(question)
    if label.startswith(("variance", "standard deviation")):
        return _spread(question)
    # the sums of x and of 100 - x, which move by 100 together: one Laplace vector (Awan, Slavkovic 2021)
    part = geometric(units * TOP / epsilon)
    why = "Laplace, S = 100 over x and 100 - x"
    found = {
        "n": math.sqrt(2) * part / TOP,
        "s": part,
        "a": part / math.sqrt(2) / rows,
        "q": part / math.sqrt(2) / rows,
        "e": part * math.hypot(1 - 20 / TOP, 20 / TOP),
    }
    alone = {"n": geometric(2 * units / epsilon), "total": geometric(2 * units * HALF / epsilon)}
    boxed = {
        "n": alone["n"],
        "s": math.hypot(alone["total"], HALF * alone["n"]),
        "a": alone["total"] / rows,
        "q": alone["total"] / rows,
        "e": math.hypot(alone["total"], (HALF - 20) * alone["n"]),
    }
    return {name: Least(found[name], boxed[name] * box(2), why) for name in question.outputs}


def _many(question: Question) -> dict[str, Least]:
    """A count and ten sums around the middle, with a delta: one noise for all, in units of each one's sensitivity."""
    numbers = SCORES + 1
    epsilon, delta = float(question.epsilon), float(question.delta)
    ball = math.sqrt(numbers) * gaussian(epsilon, delta)
    laplace = laplace_together(numbers, epsilon, delta)
    one, law = min((ball, "Gaussian, S = sqrt(11)"), (laplace, "11 Laplace, tight composition"))
    means = {f"a{number}": Least(5 * one / question.rows, None, law) for number in range(SCORES)}
    return {"n": Least(one, None, law), **means}


def _spread(question: Question) -> dict[str, Least]:
    """A count, a sum and a sum of squares, each around its middle, a third of epsilon each.

    Numbers evenly over 2 h + 1 points have variance v = h (h + 1)/3; squares lie within h**2/2 of their middle h**2/2.
    First order: the variance moves with the squares by 1/n, with the count by (h**2/2 - v)/n, with the sum not at all;
    its root by 1/(2 root) of that, and the divisor n - 1 of a sample adds one part in n.
    """
    units, rows = question.rows_per_unit, question.rows
    scale = 3 * units / float(question.epsilon)
    variance = HALF * (HALF + 1) / 3
    moved = math.hypot(geometric(scale * HALF**2 / 2), (HALF**2 / 2 - variance) * geometric(scale)) / rows
    if question.outputs == ("v",):
        return {"v": Least(moved, moved * box(3), "three Laplace, a third each")}
    root = moved / (2 * math.sqrt(variance))
    return {"d": Least(root, root * box(3), "three Laplace, a third each")}
