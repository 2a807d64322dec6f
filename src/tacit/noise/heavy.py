"""Heavy-tailed noise on the integers: round(scale * Z) for a continuous symmetric Z, exact at every rational scale.

    cauchy_like       density of Z proportional to 1 / (1 + |z|**power), power 2 or 4
    student_t         Student's t
    rounded_laplace   density exp(-|z|)/2

Theorem (inversion). Let S(z) = P(|Z| >= z), U uniform. Then |round(scale * Z)| has the law of the largest k with k = 0
or U < S((k - 1/2) / scale); the sign is a fair coin. A guess k from float64 is taken where the float values of S at
the two edges of its cell, give or take their error, leave U between them; it does not matter where the guess came
from. Elsewhere `settle` finds k by comparing U, with further bits, against enclosures of S.

Error. An edge in float64 is within 4u of itself (u = 2**-53). The density f of |Z| falls, so z f(z) <= 1 and S moves
by at most 4u; U's first bits as a float carry u, the sums below 3u. All that is below the 16u added to the law's own
band.

Theorem (large scales). With m a power of two and W = scale * |Z| + 1/2, floor(W) = m Q + R, Q = floor(W / m) and R
below m. Q is sampled as above at scale / m, offset 1/(2m). Given Q, W has density proportional to f((W - 1/2) / scale)
on its cell: draw it uniformly there and keep it with probability f / (f at the cell's near end), which is at least 1 -
steepness * m / scale. A uniform number below that keeps it unseen; the rest are compared exactly.

Results are int64; a draw too large for it turns the array into one of Python integers. Tails this heavy do that: a
Cauchy draw at scale 2**40 passes 2**62 with probability 1.5e-7.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.noise.bits import BitSource, Words
from tacit.noise.laplace import CHUNK, LARGEST_INT, Integers
from tacit.noise.laws import Cauchy, ContinuousLaplace, Floats, Law, Quartic, Student
from tacit.noise.reals import LazyUniform
from tacit.noise.uniform import uniform_below

_SCALE_BITS = 17  # beyond 2**17 too many draws would be left undecided
_LARGEST_DEGREES = 1000
_BAND = 2.0**-49
_FAR = 2.0**200  # S there is below 2**-199 for all laws: negligible in a band of 2**-47

_CAUCHY_LIKE: dict[Fraction, Law] = {Fraction(2): Cauchy(), Fraction(4): Quartic()}


@overload
def cauchy_like(scale: Any, power: int, size: None, bits: BitSource) -> int: ...
@overload
def cauchy_like(scale: Any, power: int, size: int, bits: BitSource) -> Integers: ...
def cauchy_like(scale: Any, power: int, size: int | None, bits: BitSource) -> int | Integers:
    """round(scale * Z), Z with density proportional to 1 / (1 + |z|**power).

    >>> from tacit.noise import secure
    >>> cauchy_like(10, 4, 1000, secure()).dtype
    dtype('int64')
    """
    exact = parameters.positive("scale", scale)
    law = _CAUCHY_LIKE.get(parameters.rational("power", power, "2 or 4"))
    if law is None:
        raise parameters.refuse("power", "2 or 4", power, "Use student_t for tails in between or beyond.")
    return _sample(law, exact, size, bits)


@overload
def student_t(scale: Any, degrees: int, size: None, bits: BitSource) -> int: ...
@overload
def student_t(scale: Any, degrees: int, size: int, bits: BitSource) -> Integers: ...
def student_t(scale: Any, degrees: int, size: int | None, bits: BitSource) -> int | Integers:
    """round(scale * Z), Z Student's t with this whole number of degrees of freedom.

    >>> from tacit.noise import secure
    >>> student_t(10, 3, 1000, secure()).shape
    (1000,)
    """
    exact = parameters.positive("scale", scale)
    whole = parameters.whole("degrees", degrees, least=1)
    if whole > _LARGEST_DEGREES:
        hint = "Discrete Gaussian noise is its limit."
        raise parameters.refuse("degrees", f"a whole number from 1 to {_LARGEST_DEGREES}", degrees, hint)
    return _sample(Student(whole) if whole > 1 else Cauchy(), exact, size, bits)


@overload
def rounded_laplace(scale: Any, size: None, bits: BitSource) -> int: ...
@overload
def rounded_laplace(scale: Any, size: int, bits: BitSource) -> Integers: ...
def rounded_laplace(scale: Any, size: int | None, bits: BitSource) -> int | Integers:
    """round(scale * Z), Z continuous Laplace. Not `discrete_laplace`: zero is a little less likely here.

    >>> from tacit.noise import secure
    >>> rounded_laplace(10, 1000, secure()).dtype
    dtype('int64')
    """
    return _sample(ContinuousLaplace(), parameters.positive("scale", scale), size, bits)


def _sample(law: Law, scale: Fraction, size: int | None, bits: BitSource) -> int | Integers:
    if size is None:
        return int(_chunk(law, scale, 1, bits)[0])
    if size <= CHUNK:
        return _chunk(law, scale, size, bits)
    return np.concatenate([_chunk(law, scale, min(CHUNK, size - start), bits) for start in range(0, size, CHUNK)])


def _chunk(law: Law, scale: Fraction, size: int, bits: BitSource) -> Integers:
    step = 1 << max(0, math.floor(scale).bit_length() - _SCALE_BITS)
    words = bits.words(size)
    magnitudes = from_words(words << np.uint64(1), 63, law, scale / step, Fraction(1, 2 * step), bits)
    if step > 1:
        magnitudes = with_remainders(magnitudes, law, scale, step, bits)
    # the first bit of a word is the sign, the other 63 are those of U
    return np.where(words >> np.uint64(63) == 1, -magnitudes, magnitudes)


@lru_cache(maxsize=256)
def _floats(scale: Fraction, offset: Fraction) -> tuple[float, float]:
    return float(scale), float(offset)


def kernel(words: Words, known: int, law: Law, scale: float, offset: float) -> tuple[Floats, NDArray[np.intp]]:
    """floor(scale * |Z| + offset) as floats, and the places that the first `known` bits of U leave undecided.

    Those bits stand at the top of each word, zeros below them; narrow words are how the tests enumerate every bit
    string.
    """
    with np.errstate(all="ignore"):
        v = np.asarray(words * 2.0**-64, dtype=np.float64)
        k = np.floor(law.guess(v) * scale + offset)
        near = law.survival(np.minimum((k - offset) / scale, _FAR))
        near[k == 0] = np.inf
        far = law.survival(np.minimum((k + (1.0 - offset)) / scale, _FAR))
        band = law.band + _BAND
        decided = (v + (band + 2.0**-known) < near) & (v - band > far)
    return k, np.flatnonzero(~decided)


def from_words(words: Words, known: int, law: Law, scale: Fraction, offset: Fraction, bits: BitSource) -> Integers:
    """floor(scale * |Z| + offset) for each U whose first `known` bits stand at the top of a word."""
    k, undecided = kernel(words, known, law, *_floats(scale, offset))
    return completed(k, undecided, words, known, law, scale, offset, bits)


def completed(
    k: Floats,
    undecided: NDArray[np.intp],
    words: Words,
    known: int,
    law: Law,
    scale: Fraction,
    offset: Fraction,
    bits: BitSource,
) -> Integers:
    """The whole numbers of a kernel, with the undecided ones settled; `k` is used up."""
    guesses = k[undecided]
    k[undecided] = 0.0
    out: Integers = k.astype(np.int64)
    for place, guess in zip(undecided, guesses, strict=True):
        uniform = LazyUniform(bits, int(words[place]) >> (64 - known), known)
        value = settle(uniform, law, scale, offset, int(guess) if math.isfinite(guess) else 0)
        if value > LARGEST_INT >> 1 and out.dtype != object:
            out = out.astype(object)
        out[place] = value
    return out


def settle(uniform: LazyUniform, law: Law, scale: Fraction, offset: Fraction, guess: int) -> int:
    """The largest k with k = 0 or U < S((k - offset) / scale), searched outward from a guess."""

    def reaches(k: int) -> bool:
        return k <= 0 or uniform.is_below(partial(law.survival_enclosure, (k - offset) / scale))

    step = 1
    if reaches(guess):
        low = guess
        while reaches(low + step):
            low += step
            step *= 2
        beyond = low + step
    else:
        beyond = guess
        while not reaches(beyond - step):
            beyond -= step
            step *= 2
        low = beyond - step
    while beyond - low > 1:
        middle = (low + beyond) // 2
        low, beyond = (middle, beyond) if reaches(middle) else (low, middle)
    return low


def with_remainders(quotients: Integers, law: Law, scale: Fraction, step: int, bits: BitSource) -> Integers:
    """step * Q + R for each Q."""
    if quotients.dtype == object or (int(quotients.max(initial=0)) + 1) * step > LARGEST_INT:
        quotients = quotients.astype(object)
    keep_at_once = np.uint64(math.floor(max(Fraction(0), 1 - law.steepness * step / scale) * 2**64))
    # a cell that begins below this ends before the law is steeper than it says
    steep_from = math.inf if law.reach is None else int(law.reach * scale) - step
    base = quotients * step
    out, missing = base, np.arange(0)
    while True:
        first = out is base
        starts = base if first else base[missing]
        drawn = starts + uniform_below(step, starts.size, bits)
        words = bits.words(starts.size)
        # zero's cell is half as wide as the others, so it is always looked at
        looked_at = np.flatnonzero((words >= keep_at_once) | (drawn == 0) | (drawn >= steep_from))
        again = [
            place
            for place in looked_at.tolist()
            if not keeps(
                LazyUniform(bits, int(words[place]), 64),
                LazyUniform(bits),
                law,
                scale,
                int(starts[place]),
                int(drawn[place]),
            )
        ]
        if first:
            out, missing = drawn, np.array(again, dtype=np.intp)
        else:
            out[missing] = drawn
            missing = missing[again]
        if not missing.size:
            return out


def keeps(chance: LazyUniform, fraction: LazyUniform, law: Law, scale: Fraction, start: int, drawn: int) -> bool:
    """Whether W = drawn + fraction, proposed uniformly in the cell that begins at `start`, is kept.

    It is where chance < f((W - 1/2) / scale) / f(near end), the near end being at least 0, and W < 1/2 is outside.
    """
    half = Fraction(1, 2)
    nearest = max((start - half) / scale, Fraction(0))
    if drawn == 0:
        fraction.refine()
        if fraction.numerator >> (fraction.known - 1) == 0:
            return False
    while True:
        unit = 1 << fraction.known
        low = (drawn + Fraction(fraction.numerator, unit) - half) / scale
        high = (drawn + Fraction(fraction.numerator + 1, unit) - half) / scale
        precision = 20 + chance.known // 3
        least = Fraction(law.density_ratio(nearest, high, precision)[0])
        most = Fraction(law.density_ratio(nearest, max(low, nearest), precision)[1])
        whole = 1 << chance.known
        if Fraction(chance.numerator + 1, whole) <= least:
            return True
        if Fraction(chance.numerator, whole) >= most:
            return False
        chance.refine()
        fraction.refine()
