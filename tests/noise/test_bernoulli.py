"""Uniform whole numbers and coins."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.errors import ParameterError
from tacit.noise import bernoulli, bernoulli_exp, secure, uniform_below
from tacit.noise.bernoulli import decide, first_bits_of
from tacit.noise.reals import exp_enclosure
from tests.noise.doubles import Served, chance_at_most, every_word


@pytest.mark.parametrize("n", [2, 3, 5, 7, 8])
def test_every_bit_string_gives_one_number_or_none(n: int) -> None:
    """Enumeration: each number below n comes from exactly one string of the drawn width; the rest are redrawn."""
    width = (n - 1).bit_length()
    spare = 0  # what a redraw is given: the string of zeros, which gives 0
    arrays = [int(uniform_below(n, 1, Served([int(word), spare]))[0]) for word in every_word(width)]
    scalars = [uniform_below(n, None, Served([int(word), spare])) for word in every_word(width)]
    assert arrays == scalars == [*range(n), *[0] * (2**width - n)]


@pytest.mark.statistical
def test_uniform_draws_are_even() -> None:
    """False alarm 1e-9 each."""
    for n in (3, 6, 100):
        drawn = uniform_below(n, 60_000, secure())
        assert chance_at_most(np.bincount(drawn, minlength=n), [1 / n] * n) > 1e-9
    wide = uniform_below(3 * 2**62, 60_000, secure())
    thirds = np.bincount([int(value) // 2**62 for value in wide], minlength=3)
    assert chance_at_most(thirds, [1 / 3] * 3) > 1e-9


def test_uniform_below_one_needs_no_bits_and_huge_bounds_are_exact() -> None:
    assert uniform_below(1, None, Served()) == 0
    assert uniform_below(1, 3, Served()).tolist() == [0, 0, 0]
    drawn = uniform_below(2**300, 5, secure())
    assert len(set(drawn.tolist())) == 5
    assert max(drawn) > 2**250
    for bad in (0, -3, 2.0, True):
        with pytest.raises(ParameterError, match="'n' parameter must be a whole number of at least 1"):
            uniform_below(bad, 1, Served())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "p", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(5, 16), Fraction(99, 100), Fraction(1)]
)
def test_a_coin_lands_true_on_exactly_its_share_of_the_narrow_words(p: Fraction) -> None:
    """Enumeration at 8 bits: words below p's own are true, words above false, p's own asks for more."""
    width = 8
    first_bits = p.numerator * 2**width // p.denominator
    asked: list[int] = []

    def continues(uniform: object) -> bool:
        asked.append(1)
        return False

    landed = decide(every_word(width), width, first_bits, continues, Served())
    assert int(landed.sum()) == first_bits
    assert len(asked) == (0 if p == 1 else 1)


def test_a_rational_coin_goes_on_until_its_bits_differ() -> None:
    third = 2**64 // 3  # 0101...01
    assert bernoulli(Fraction(1, 3), None, Served([third, third - 1])) is True
    assert bernoulli(Fraction(1, 3), None, Served([third, third, third + 1])) is False
    half = 2**63
    assert bernoulli(Fraction(1, 2), 3, Served([half, half - 1, 2**64 - 1])).tolist() == [False, True, False]


def test_an_exponential_coin_goes_on_until_its_bits_differ() -> None:
    edge = int(mpmath.floor(mpmath.exp(mpmath.mpf(-3) / 7) * 2**64))
    assert first_bits_of(lambda precision: exp_enclosure(Fraction(-3, 7), precision), 64) == edge
    x = Fraction(3, 7)
    assert bernoulli_exp(x, 4, Served([edge - 1, edge + 1, edge, edge, 0, 2**64 - 1])).tolist() == [
        True,
        False,
        True,
        False,
    ]
    assert bernoulli_exp(x, None, Served([edge, 0])) is True


@pytest.mark.parametrize(
    "p", [Fraction(1, 3), Fraction(3, 4), Fraction(1, 1000), Fraction(999, 1000), Fraction(0), Fraction(1)]
)
def test_of_many_coins_every_first_byte_counts_once_and_one_leaves_it_open(p: Fraction) -> None:
    """Enumeration: each byte four times; those that leave it open get words spread evenly, a share r of them below."""
    first = np.tile(np.arange(256, dtype=np.uint8), 4).view(np.uint64)
    then = [2**61, 3 * 2**61, 5 * 2**61, 7 * 2**61]  # the middles of four quarters
    landed = bernoulli(p, 1_024, Served([*first.tolist(), *then]))
    top, rest = divmod(256 * p, 1)
    for byte in range(256):
        quarters = [int(landed[byte + 256 * turn]) for turn in range(4)]
        if byte == top and p < 1:
            assert quarters == [int(Fraction(word, 2**64) < rest) for word in then]
        else:
            assert quarters == [int(byte < 256 * p)] * 4


@pytest.mark.statistical
def test_coins_land_true_with_their_probability() -> None:
    """False alarm 1e-9 each."""
    size = 100_000
    for p in (Fraction(1, 3), Fraction(1, 1000)):
        ones = int(bernoulli(p, size, secure()).sum())
        assert chance_at_most(np.array([ones, size - ones]), [float(p), float(1 - p)]) > 1e-9
    for x in (Fraction(1, 2), Fraction(5)):
        ones = int(bernoulli_exp(x, size, secure()).sum())
        q = float(mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator))
        assert chance_at_most(np.array([ones, size - ones]), [q, 1 - q]) > 1e-9


def test_certain_coins_are_certain() -> None:
    assert bernoulli(0, 50, secure()).any() == False  # noqa: E712
    assert bernoulli(1, 50, secure()).all() == True  # noqa: E712
    assert bernoulli_exp(0, 50, secure()).all() == True  # noqa: E712
    assert bernoulli_exp(0, None, Served()) is True
    # exp(-10**9) is below 2**-10**9
    assert bernoulli_exp(10**9, None, secure()) is False


def test_coins_with_impossible_probabilities_are_refused() -> None:
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(ParameterError, match="'p' parameter must be a number from 0 to 1"):
            bernoulli(bad, 1, Served())
    with pytest.raises(ParameterError, match="'exponent' parameter must be a finite number of at least 0"):
        bernoulli_exp(-1, 1, Served())


@pytest.mark.parametrize("exponent", [Fraction(1, 10**9), Fraction(1, 3), Fraction(7, 2), Fraction(40), Fraction(599)])
def test_a_single_exponential_coin_is_decided_by_its_digits_where_the_float_is_not_sure(exponent: Fraction) -> None:
    with mpmath.workdps(400):
        exact = mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator) * mpmath.mpf(2) ** 128
        first, second = divmod(int(exact), 2**64)
    far = first >> 30
    cases = [
        (first - 1, [], True),
        (first + 1, [], False),
        (first - far, [], True),
        (first + far, [], False),
        (first, [second - 1], True),
        (first, [second + 1], False),
    ]
    for word, more, lands in cases:
        if 0 <= word < 2**64 and (word, more) != (first, []) and all(0 <= each < 2**64 for each in more):
            source = Served([word, *more])
            assert bernoulli_exp(exponent, None, source) is lands
            assert source.left == []
