"""Which weights a randomiser has: the most informative ones whose exact log ratio is at most the epsilon asked for.

Promise: all weights are whole numbers. exp(epsilon) is enclosed rigorously and rounded down, so the ratio of two
probabilities never exceeds exp(epsilon); it falls short of it by less than one part in 2**30 for ordinary epsilons.

Formulas (f a share, n reports; p the probability that a report supports the true option, q any other one; Wang, Blocki,
Li and Jha 2017): the estimate (support/n - q)/(p - q) is unbiased, and among n people of whom n f have the option its
variance is (f p (1 - p) + (1 - f) q (1 - q))/(n (p - q)**2).

Sources: k-ary: Kairouz, Oh, Viswanath 2014. Unary: Erlingsson et al. 2014 (symmetric), Wang et al. 2017 (optimal), who
also have hashing. Hadamard: Acharya, Sun, Zhang 2019. Subsets: Wang et al. 2016; Ye and Barg 2018. Sign: Duchi, Jordan,
Wainwright 2013. Window: Wang et al. 2019 (piecewise, for means) and Li et al. 2020 (square wave, for distributions),
here on a grid: sums over a window of whole numbers are linear in where it starts, so means stay exactly unbiased.
Fitted: the same window, of the width that has the least variance for answers spread evenly between the bounds.
Nearest: Bhowmick et al. 2018 and Asi, Feldman, Talwar 2022 (directions in a cap around the vector); Isik, Chen, Ozgur,
Weissman, No 2023 (the k nearest of a random codebook, which makes the ratio exact).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

from tacit import parameters
from tacit.local.checks import LARGEST_EPSILON
from tacit.local.client import radices
from tacit.noise.reals import exp_enclosure

Law = dict[str, Any]

_MOST_BITS: Final = 32
_LEAST_BITS: Final = 4
_ROOM: Final = 61  # bits of the sum of all weights
_WORD: Final = 60
_LEAST_EPSILON: Final = Fraction(1, 1_000_000)
_MOST_CELLS: Final = 1 << 12  # beyond it a finer function gains next to nothing
STEPS: Final = 1 << 10
"""Steps between the bounds of a number."""
WORDS: Final = 256
"""Directions of a seed: four times as many would gain 1 % at epsilon 4, and take the client four times as long."""


def checked_epsilon(epsilon: Fraction) -> Fraction:
    """The epsilon; refused where there are no weights for it."""
    if not _LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
        allowed = (
            f"from {float(_LEAST_EPSILON):g} to {LARGEST_EPSILON}: below, nothing is told; above, nothing is hidden"
        )
        raise parameters.refuse("epsilon", allowed, float(epsilon))
    return epsilon


def odds(epsilon: Fraction, kept: int = 1, others: int = 1) -> tuple[int, int]:
    """Whole numbers a, b with a/b at most exp(epsilon), b a power of two, and kept a + others b within a word."""
    low = Fraction(exp_enclosure(checked_epsilon(epsilon), 60)[0])
    bits = min(_MOST_BITS, _ROOM - (kept * math.ceil(low) + others).bit_length())
    if bits < _LEAST_BITS:
        raise parameters.refuse("epsilon", "smaller, or the answers fewer: the weights do not fit", float(epsilon))
    return math.floor(low * (1 << bits)), 1 << bits


def whole_word(options: int, epsilon: Fraction) -> tuple[int, int]:
    """Whole numbers a, b with a + (options - 1) b = 2**60 and a/b at most exp(epsilon): a draw is 60 bits, no more."""
    low = Fraction(exp_enclosure(checked_epsilon(epsilon), 60)[0])
    b = math.ceil((1 << _WORD) / (low + options - 1))
    a = (1 << _WORD) - (options - 1) * b
    if a < b:
        raise parameters.refuse(
            "epsilon", "large enough to tell the truth more often than anything else", float(epsilon)
        )
    return a, b


def k_ary(options: int, epsilon: Fraction) -> Law:
    """One option, the truth more often than any other."""
    a, b = whole_word(options, epsilon)
    return {"kind": "k-ary", "options": options, "keep": a, "other": b}


def symmetric_unary(options: int, epsilon: Fraction) -> Law:
    """Bits, each told truly with the same probability."""
    a, b = odds(epsilon / 2)
    return {"kind": "unary", "options": options, "one": [a, a + b], "zero": [b, a + b]}


def optimal_unary(options: int, epsilon: Fraction) -> Law:
    """Bits: the true one by a fair coin, the others 1 as rarely as epsilon permits."""
    a, b = odds(epsilon)
    return {"kind": "unary", "options": options, "one": [1, 2], "zero": [b, a + b]}


def hashing(options: int, epsilon: Fraction) -> Law:
    """A random function to about exp(epsilon) + 1 cells, then k-ary."""
    cells = min(round(math.exp(float(epsilon))) + 1, _MOST_CELLS)
    word = 32 if options <= 1 << 16 else 64
    a, b = whole_word(cells, epsilon)
    return {"kind": "hashing", "options": options, "cells": cells, "word": word, "keep": a, "other": b}


def hadamard(options: int, epsilon: Fraction) -> Law:
    """A row of a Hadamard matrix; the column of all ones tells nothing and is not used."""
    a, b = odds(epsilon)
    return {"kind": "hadamard", "options": options, "rows": 1 << options.bit_length(), "keep": a, "other": b}


def subset(options: int, epsilon: Fraction) -> Law:
    """A set of about options/(exp(epsilon) + 1) of the options: the least variance of all, and the longest report."""
    a, b = odds(epsilon, options, options)
    size = max(1, round(options * b / (a + b)))
    return {"kind": "subset", "options": options, "size": size, "keep": a, "other": b}


def rappor(options: int, epsilon: Fraction) -> Law:
    """Bits kept for ever at epsilon, shown each time through coins: 1 with probability 3/4 where kept, else 1/4."""
    return {"kind": "rappor", "kept": symmetric_unary(options, epsilon), "one": [3, 4], "zero": [1, 4]}


def prefixes(longest: int, step: int, epsilon: Fraction) -> Law:
    """Texts of at most `longest` bytes, by prefixes that grow by `step` bits."""
    lengths = [*range(step, 8 * longest, step), 8 * longest]
    return {"kind": "prefixes", "longest": longest, "lengths": lengths, "inner": hashing(1 << 32, epsilon)}


def sign(steps: int, epsilon: Fraction) -> Law:
    """One bit about a number."""
    a, b = odds(epsilon, steps, steps)
    return {"kind": "sign", "steps": steps, "keep": a, "other": b}


def piecewise(steps: int, epsilon: Fraction) -> Law:
    """A window as the piecewise mechanism has it: best for means where epsilon is large."""
    half = math.exp(float(epsilon) / 2)
    reach = (half + 1) / (half - 1)
    return _window(steps, epsilon, (reach - 1) / (reach + 1))


def square_wave(steps: int, epsilon: Fraction) -> Law:
    """A window as the square wave has it: it says most about where a number lies."""
    e = float(epsilon)
    if e < 1e-3:
        width = 0.5  # the limit of the formula below, which cancels there
    else:
        width = (e * math.exp(e) - math.expm1(e)) / (2 * math.exp(e) * (math.expm1(e) - e))
    return _window(steps, epsilon, 2 * width)


def _window(steps: int, epsilon: Fraction, share: float) -> Law:
    window = max(1, round(share * steps))
    a, b = odds(epsilon, window, steps)
    return {"kind": "window", "steps": steps, "window": window, "keep": a, "other": b}


def fitted(steps: int, epsilon: Fraction) -> Law:
    """A window of the best width for means, for answers spread evenly: a search over a closed form."""
    e = math.exp(float(epsilon))
    coarse = min(range(1, 2 * steps, max(1, steps // 64)), key=lambda window: _even(steps, window, e))
    near = range(max(1, coarse - steps // 64), coarse + steps // 64 + 1)
    return _window(steps, epsilon, min(near, key=lambda window: _even(steps, window, e)) / steps)


def two_moments(steps: int, epsilon: Fraction) -> Law:
    """The number or its square, each by the randomiser that is best for a mean."""
    part = NUMBERS[best_for_means(steps, epsilon)](steps, epsilon)
    return {"kind": "moments", "parts": [part, part]}


def nearest(dimensions: int, epsilon: Fraction) -> Law:
    """The directions near a vector: the number of near ones is the most informative for Gaussian scores."""
    from scipy.special import ndtri

    e = math.exp(float(epsilon))
    told = {}
    for near in range(1, WORDS // 2 + 1):
        share = near / WORDS
        told[near] = math.exp(-(float(ndtri(1 - share)) ** 2) / 2) / (e * share + 1 - share)
    near = max(told, key=lambda each: told[each])
    a, b = odds(epsilon, near, WORDS)
    return {
        "kind": "nearest", "dimensions": dimensions, "words": WORDS, "near": near, "seed": 64, "keep": a, "other": b,
    }  # fmt: skip


def hybrid(steps: int, epsilon: Fraction) -> Law:
    """The window with probability 1 - exp(-epsilon/2), else the sign; below epsilon 0.61 the sign alone."""
    if epsilon <= Fraction(61, 100):
        return sign(steps, epsilon)
    whole = 1 << 32
    chance = round(whole * -math.expm1(-float(epsilon) / 2))
    parts = [piecewise(steps, epsilon), sign(steps, epsilon)]
    return {"kind": "either", "chance": [chance, whole], "parts": parts}


FREQUENCIES: Final[dict[str, Callable[[int, Fraction], Law]]] = {
    "k-ary": k_ary,
    "symmetric unary": symmetric_unary,
    "optimal unary": optimal_unary,
    "hashing": hashing,
    "hadamard": hadamard,
    "subset": subset,
    "rappor": rappor,
}
NUMBERS: Final[dict[str, Callable[[int, Fraction], Law]]] = {
    "sign": sign,
    "piecewise": piecewise,
    "hybrid": hybrid,
    "fitted": fitted,
    "distribution": square_wave,
    "variance": two_moments,
}
_LONGEST_REPORT: Final = 1 << 12  # bits: beyond it "best" sends a function instead of a set


def supports(law: Law) -> tuple[Fraction, Fraction]:
    """p and q: how probably a report supports the true option, and any one other option. Exactly."""
    kind = law["kind"]
    if kind == "unary":
        return Fraction(*law["one"]), Fraction(*law["zero"])
    if kind == "rappor":
        one, zero = Fraction(*law["one"]), Fraction(*law["zero"])
        p, q = (kept * one + (1 - kept) * zero for kept in supports(law["kept"]))
        return p, q
    a, b = law["keep"], law["other"]
    if kind == "k-ary":
        whole = a + (law["options"] - 1) * b
        return Fraction(a, whole), Fraction(b, whole)
    if kind == "hadamard":
        return Fraction(a, a + b), Fraction(1, 2)
    if kind == "subset":
        options, size = law["options"], law["size"]
        p = Fraction(a * size, a * size + b * (options - size))
        return p, (p * (size - 1) + (1 - p) * size) / (options - 1)
    cells, words = law["cells"], 1 << (law["word"] // 2)
    p, other = Fraction(a, a + (cells - 1) * b), Fraction(b, a + (cells - 1) * b)
    # Cells are parts of `words` numbers, equal up to one: an option lands in cell c with probability s_c/words,
    # independently of where the truth landed (pairwise independence).
    large = words % cells
    sizes = ((large, words // cells + 1), (cells - large, words // cells))
    q = sum(
        (many * Fraction(s, words) * (p * Fraction(s, words) + other * (1 - Fraction(s, words))) for many, s in sizes),
        Fraction(0),
    )
    return p, q


def variance(law: Law, share: float, people: int) -> float:
    """The variance of one option's estimated share, given everyone's answers."""
    p, q = (float(each) for each in supports(law))
    return (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (people * (p - q) ** 2)


def told_variance(law: Law, step: float, square: float | None = None) -> float:
    """The variance of what a report tells of a number, in squared steps (`numbers.steps_told`); exactly its law's.

    It is that of an answer of `step` steps; or, with the mean of squared steps, the average over answers whose mean is
    `step`.
    Sign: what is told is m (a + b)/(a - b) times a bit of probability r = (b m + (a - b) t)/((a + b) m), moved.
    Window: a report is a cell of G = m + w; of weight W = a w + b m, the cells t, ..., t + w - 1 have a each. Sums of c
    and c**2 over cells are polynomials in t, and the mean of a report is alpha + beta t with beta = (a - b) w/W.
    """
    t, t2 = float(step), float(step) ** 2 if square is None else square
    if law["kind"] == "either":
        share = float(Fraction(*law["chance"]))
        first, second = (told_variance(part, t, t2) for part in law["parts"])
        return share * first + (1 - share) * second
    a, b, m = float(law["keep"]), float(law["other"]), law["steps"]
    if law["kind"] == "sign":
        low, rise = b / (a + b), (a - b) / ((a + b) * m)
        return float((low + rise * t - (low**2 + 2 * low * rise * t + rise**2 * t2)) / rise**2)
    w = law["window"]
    cells, weight = m + w, a * w + b * m
    beta = (a - b) * w / weight
    alpha = (b * cells * (cells - 1) / 2 + (a - b) * w * (w - 1) / 2) / weight
    near = w * t2 + w * (w - 1) * t + w * (w - 1) * (2 * w - 1) / 6
    squares = (b * (cells - 1) * cells * (2 * cells - 1) / 6 + (a - b) * near) / weight
    return float((squares - (alpha**2 + 2 * alpha * beta * t + beta**2 * t2)) / beta**2)


def _even(steps: int, window: int, odds_: float) -> float:
    law = {"kind": "window", "steps": steps, "window": window, "keep": odds_, "other": 1.0}
    return told_variance(law, steps / 2, steps * (2 * steps + 1) / 6)


def best_for_means(steps: int, epsilon: Fraction) -> str:
    """The least variance of a mean, for answers spread evenly between the bounds."""
    even = steps / 2, steps * (2 * steps + 1) / 6
    return min(("sign", "fitted"), key=lambda name: told_variance(NUMBERS[name](steps, epsilon), *even))


def best(options: int, epsilon: Fraction) -> str:
    """The law with the least variance for a rare option; among those within a hundredth of it, the shortest report."""
    candidates = {name: make(options, epsilon) for name, make in FREQUENCIES.items() if _is_short(name, options)}
    found = {name: variance(law, min(0.1, 1 / options), 1) for name, law in candidates.items()}
    least = min(found.values())
    return min((name for name in found if found[name] <= 1.01 * least), key=lambda name: report_bits(candidates[name]))


def report_bits(law: Law) -> int:
    """How long a report is."""
    return (math.prod(radices(law)) - 1).bit_length()


def _is_short(name: str, options: int) -> bool:
    if name == "rappor":  # for people who are asked again and again
        return False
    return options <= _LONGEST_REPORT or name not in ("symmetric unary", "optimal unary", "subset")
