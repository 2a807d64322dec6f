"""Shares, masks and bytes of secure aggregation, against enumeration: every share, every mask, every small field."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.federated.aggregation.masks import Modular
from tacit.federated.aggregation.sharing import PRIME, Holders, at, split, uniform
from tacit.federated.refusals import Refused


def test_the_prime_is_one() -> None:
    """Miller and Rabin with forty bases; and nothing below 10,000 divides it."""
    odd, power = PRIME - 1, 0
    while odd % 2 == 0:
        odd, power = odd // 2, power + 1
    for base in range(2, 42):
        x = pow(base, odd, PRIME)
        assert x in (1, PRIME - 1) or any((x := x * x % PRIME) == PRIME - 1 for _ in range(power - 1))
    assert all(PRIME % small for small in range(2, 10_000))
    assert PRIME > 1 << 256


def joined(shares: Mapping[int, int], prime: int = PRIME) -> int:
    """The secret that these shares make, by their points."""
    points = sorted(shares)
    return Holders(points, prime).secret([shares[each] for each in points])


@pytest.mark.parametrize(("prime", "threshold"), [(5, 2), (5, 3), (7, 3)])
def test_fewer_shares_than_the_threshold_say_nothing_and_as_many_say_all(prime: int, threshold: int) -> None:
    """All polynomials over a tiny field, one secret after the other."""
    points = list(range(1, prime))
    seen: dict[int, Counter[Any]] = {}
    for secret in range(prime):
        seen[secret] = Counter()
        for rest in itertools.product(range(prime), repeat=threshold - 1):
            shares = at([secret, *rest], points, prime)
            for chosen in itertools.combinations(range(len(points)), threshold):
                assert joined({points[i]: shares[i] for i in chosen}, prime) == secret
            for chosen in itertools.combinations(range(len(points)), threshold - 1):
                seen[secret][chosen, tuple(shares[i] for i in chosen)] += 1
    assert all(each == seen[0] for each in seen.values())
    assert len(set(seen[0].values())) == 1  # and they are uniform


@settings(max_examples=40, deadline=None)
@given(st.integers(0, (1 << 256) - 1), st.integers(1, 8), st.integers(0, 4), st.randoms(use_true_random=False))
def test_any_threshold_shares_give_the_secret(secret: int, threshold: int, more: int, random: Any) -> None:
    points = random.sample(range(1, 1000), threshold + more)
    shares = dict(zip(points, split(secret, threshold, points), strict=True))
    chosen = random.sample(points, threshold)
    assert joined({each: shares[each] for each in chosen}) == secret
    if threshold > 1:  # one share less is that of another polynomial: right by chance once in 2**256
        assert joined({each: shares[each] for each in chosen[1:]}) != secret


@pytest.mark.parametrize(("prime", "threshold"), [(5, 2), (7, 2), (7, 3)])
def test_holders_serve_the_secrets_of_others_and_of_one_of_themselves(prime: int, threshold: int) -> None:
    """One holder more than is needed; whose own secret it is holds no share of it. All polynomials of a tiny field."""
    for points in itertools.combinations(range(1, prime), threshold + 1):
        holders = Holders(points, prime)
        for polynomial in itertools.product(range(prime), repeat=threshold):
            shares = at(polynomial, points, prime)
            assert holders.secret(shares) == polynomial[0]
            for place, owner in enumerate(points):
                anything = [*shares[:place], 3, *shares[place + 1 :]]
                assert holders.secret(anything, without=owner) == polynomial[0]


def test_elements_of_the_field_are_drawn_uniformly() -> None:
    """A field of 5, whose elements take 3 bits: 3 of 8 patterns are passed over.

    Chi-square with 4 degrees of freedom: above 40 with a probability of 4.2e-8.
    """
    many = 20_000
    seen = Counter(uniform(many, 5))
    assert set(seen) == set(range(5))
    assert sum((each - many / 5) ** 2 for each in seen.values()) / (many / 5) < 40


MODULI = [
    2,
    3,
    7,
    256,
    1000,
    2**16,
    2**31 + 11,
    2**32 - 1,
    2**32,
    2**32 + 1,
    10**15,
    2**63 - 25,
    2**63,
    2**64,
    3**60,
    2**130,
]


@pytest.mark.parametrize("modulus", MODULI)
def test_vectors_add_mask_and_travel_as_whole_numbers_do(modulus: int) -> None:
    space = Modular(modulus, 50)
    keys = [bytes([number]) * 32 for number in range(6)]
    truth = [(number * 7919**3 - 11) % modulus for number in range(50)]
    total = space.vector(number * 7919**3 - 11 for number in range(50))
    for number, key in enumerate(keys):
        sign = 1 if number % 2 else -1
        mask = space.mask(key)
        total = space.add(total, mask, sign)
        truth = [(a + sign * int(b)) % modulus for a, b in zip(truth, mask, strict=True)]
    assert [int(each) for each in space.reduced(total)] == truth
    text = space.encode(total)
    assert len(text) == 50 * space.size
    assert [int(each) for each in space.decode(text)] == truth
    with pytest.raises(Refused, match="A vector is"):
        space.decode(text + b"\0")
    if modulus < 256**space.size:
        with pytest.raises(Refused, match="not below the modulus"):
            space.decode(modulus.to_bytes(space.size, "big") + text[space.size :])


@pytest.mark.parametrize("modulus", MODULI)
def test_arrays_are_read_as_the_numbers_they_hold(modulus: int) -> None:
    space = Modular(modulus, 5)
    for kind in (np.int64, np.int32, np.uint64, np.int8):
        low = 0 if kind == np.uint64 else -100
        numbers = np.array([low, 0, 1, 99, 127], dtype=kind)
        assert [int(each) for each in space.reduced(space.vector(numbers))] == [int(each) % modulus for each in numbers]
    with pytest.raises(Refused, match="must have 5 numbers"):
        space.vector([1, 2])


@pytest.mark.statistical
@pytest.mark.parametrize("modulus", [2, 3, 5, 7, 12, 100])
def test_masks_are_uniform(modulus: int) -> None:
    """30,000 numbers, chi-square at 1e-9. What words that are not passed over would tilt is too little to see here."""
    from scipy.stats import chi2

    drawn = Modular(modulus, 30_000).mask(b"uniform?" * 4)
    counts = np.bincount((drawn % modulus).astype(np.int64), minlength=modulus)
    expected = 30_000 / modulus
    assert float(((counts - expected) ** 2 / expected).sum()) < chi2.isf(1e-9, modulus - 1)


def test_words_beyond_the_last_multiple_are_passed_over() -> None:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    modulus = (1 << 31) + 11  # nearly every second word of 32 bits is beyond the last multiple
    key = b"k" * 32
    words = np.frombuffer(
        Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(bytes(4 * 400)), dtype="<u4"
    )
    kept = [int(each) for each in words if each < modulus][:100]
    assert Modular(modulus, 100).mask(key).tolist() == kept


def transcripts(inputs: tuple[int, ...], modulus: int, gone: tuple[int, ...]) -> Counter[Any]:
    """All that the server sees of one number, over all masks: masked inputs, and the masks it is told.

    Survivors' own masks are told, and all masks of pairs with somebody who vanished before sending.
    """
    many = len(inputs)
    pairs = list(itertools.combinations(range(many), 2))
    here = [client for client in range(many) if client not in gone]
    space, seen = Modular(modulus, 1), Counter[Any]()
    for own in itertools.product(range(modulus), repeat=many):
        for of_pairs in itertools.product(range(modulus), repeat=len(pairs)):
            masks = dict(zip(pairs, of_pairs, strict=True))
            sent = []
            for client in here:
                total = space.add(space.vector([inputs[client]]), space.vector([own[client]]), 1)
                for (a, b), mask in masks.items():
                    if client in (a, b):
                        total = space.add(total, space.vector([mask]), 1 if client == a else -1)
                sent.append(int(space.reduced(total)[0]))
            told = tuple(own[client] for client in here)
            undone = tuple(mask for pair, mask in masks.items() if set(pair) & set(gone))
            seen[tuple(sent), told, undone] += 1
    return seen


@pytest.mark.parametrize(("modulus", "gone"), [(2, ()), (2, (1,)), (3, (0,))])
def test_what_the_server_sees_depends_on_the_sum_alone(modulus: int, gone: tuple[int, ...]) -> None:
    """Three clients, every input, every mask: inputs of survivors with one sum have one law of transcripts."""
    laws: dict[int, Counter[Any]] = {}
    for inputs in itertools.product(range(modulus), repeat=3):
        total = sum(each for client, each in enumerate(inputs) if client not in gone) % modulus
        law = transcripts(inputs, modulus, gone)
        assert laws.setdefault(total, law) == law
    assert len({frozenset(law.items()) for law in laws.values()}) == modulus  # and they tell the sum
