"""Fields, polynomials and proofs against independent truth: schoolbook arithmetic, and vectors that are not valid."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.federated.prio.circuits import Circuit, Count, Sum, bits, weights
from tacit.federated.prio.fields import FIELD64, FIELD128, Field, roots
from tacit.federated.prio.polynomials import at, completed, extended
from tacit.federated.prio.proofs import Proof
from tacit.federated.prio.vectors import Histogram, MultihotCountVec, SumVec
from tacit.federated.refusals import Refused

FIELDS = pytest.mark.parametrize("field", [FIELD64, FIELD128], ids=["64", "128"])


def horner(field: Field, coefficients: list[int], point: int) -> int:
    out = 0
    for each in reversed(coefficients):
        out = (out * point + each) % field.modulus
    return out


@FIELDS
def test_the_generator_has_the_order_that_is_said(field: Field) -> None:
    order = 1 << field.two_adicity
    assert (field.modulus - 1) % order == 0
    assert pow(field.generator, order, field.modulus) == 1
    assert pow(field.generator, order // 2, field.modulus) == field.modulus - 1
    assert pow(3, field.modulus - 1, field.modulus) == pow(5, field.modulus - 1, field.modulus) == 1


@FIELDS
@pytest.mark.parametrize("n", [1, 2, 8, 32])
def test_polynomials_told_by_values_are_those_of_their_coefficients(field: Field, n: int) -> None:
    coefficients = [int(each) for each in field.drawn(n)]
    values = field.vector(horner(field, coefficients, x) for x in roots(field, n))
    doubled = extended(field, values, 2 * n)
    assert doubled.tolist() == [horner(field, coefficients, x) for x in roots(field, 2 * n)]
    point = int(field.drawn(1)[0])
    assert int(at(field, values, point)) == horner(field, coefficients, point)
    assert int(at(field, values, roots(field, n)[-1])) == values[-1]
    both = at(field, np.stack([values, values]), point)
    assert both.tolist() == [horner(field, coefficients, point)] * 2


@FIELDS
@pytest.mark.parametrize(("given_values", "count"), [(1, 2), (3, 4), (7, 16), (31, 32), (10, 32), (8, 8)])
def test_missing_values_follow_from_the_others(field: Field, given_values: int, count: int) -> None:
    coefficients = [int(each) for each in field.drawn(given_values)]
    values = [horner(field, coefficients, x) for x in roots(field, count)]
    assert completed(field, field.vector(values[:given_values]), count).tolist() == values


@FIELDS
def test_only_canonical_bytes_are_read(field: Field) -> None:
    vector = field.drawn(5)
    text = field.encode(vector)
    assert field.decode(text, 5).tolist() == vector.tolist()
    with pytest.raises(Refused, match="5 field elements are"):
        field.decode(text[:-1], 5)
    with pytest.raises(Refused, match="not below the modulus"):
        field.decode(field.modulus.to_bytes(field.size, "little"), 1)


@given(st.integers(1, 300))
def test_every_number_in_range_has_bits_and_every_choice_of_bits_is_in_range(largest: int) -> None:
    weight = weights(FIELD64, largest)
    for number in range(largest + 1):
        assert int(FIELD64.vector(bits(number, largest)).dot(weight)) == number
    reached = {
        sum(int(w) for w, bit in zip(weight, choice, strict=True) if bit)
        for choice in itertools.product((0, 1), repeat=len(weight))
    }
    assert reached == set(range(largest + 1))


CIRCUITS: list[tuple[Circuit, Any]] = [
    (Count(), True),
    (Sum(1), 1),
    (Sum(200), 131),
    (SumVec(3, 5), [0, 5, 4]),
    (SumVec(3, 5, small=True), [0, 5, 4]),
    (Histogram(7), 6),
    (Histogram(1), 0),
    (MultihotCountVec(6, 3), [True, False, True, False, False, True]),
]


def run(circuit: Circuit, inputs: Any, servers: int = 2) -> bool:
    """Prove an encoded vector, split it, query the shares, and decide; one proof."""
    field, proof = circuit.shape.field, Proof(circuit)
    joint, seeds, query = (field.drawn(n) for n in (circuit.shape.joint, proof.seeds, proof.query_length))
    made = proof.proved(inputs, seeds, joint)
    shares = [(field.drawn(len(inputs)), field.drawn(len(made))) for _ in range(servers - 1)]
    first = inputs - sum(a for a, _ in shares), made - sum(b for _, b in shares)
    pairs = [(first[0] % field.modulus, first[1] % field.modulus), *shares]
    opened = sum(proof.queried(a, b, query, joint, servers) for a, b in pairs) % field.modulus
    return proof.accepted(opened)


@pytest.mark.parametrize(("circuit", "measurement"), CIRCUITS, ids=lambda each: repr(each))
def test_a_valid_vector_is_accepted_and_no_other(circuit: Circuit, measurement: Any) -> None:
    inputs = circuit.encoded(measurement)
    for servers in (2, 3, 5):
        assert run(circuit, inputs, servers)
    for place in range(len(inputs)):
        for change in (1, 2, -1, int(circuit.shape.field.drawn(1)[0]) or 3):
            other = inputs.copy()
            other[place] = (other[place] + change) % circuit.shape.field.modulus
            valid = set(other.tolist()) <= {0, 1} and _adds_up(circuit, other.tolist())
            assert run(circuit, other) == valid, (place, change)


def _adds_up(circuit: Circuit, numbers: list[int]) -> bool:
    if isinstance(circuit, Histogram):
        return sum(numbers) == 1
    if isinstance(circuit, MultihotCountVec):
        said = numbers[circuit.length :]
        weight = [int(each) for each in weights(FIELD128, circuit.most)]
        return sum(numbers[: circuit.length]) == sum(w * bit for w, bit in zip(weight, said, strict=True))
    return True


def test_a_test_point_that_would_open_an_input_is_refused() -> None:
    circuit = Count()
    proof = Proof(circuit)
    with pytest.raises(Refused, match="root of unity"):
        proof.queried(circuit.encoded(1), FIELD64.drawn(proof.length), FIELD64.vector([1]), FIELD64.zeros(0), 2)


@pytest.mark.parametrize(
    ("circuit", "wrong"),
    [
        (Count(), 2), (Count(), "yes"), (Count(), 0.5), (Sum(10), 11), (Sum(10), -1), (Sum(10), True), (Sum(10), 1.0),
        (SumVec(2, 3), [1]), (SumVec(2, 3), [1, 4]), (SumVec(2, 3), 1), (Histogram(4), 4), (Histogram(4), -1),
        (Histogram(4), True), (MultihotCountVec(3, 1), [True, True, False]), (MultihotCountVec(3, 2), [2, 0, 0]),
    ],
)  # fmt: skip
def test_a_measurement_out_of_range_is_refused_without_quoting_it(circuit: Circuit, wrong: Any) -> None:
    with pytest.raises(Refused, match="Nothing was sent") as refused:
        circuit.encoded(wrong)
    assert "Got" not in str(refused.value)


@pytest.mark.parametrize(
    "build",
    [lambda: Sum(0), lambda: Sum(1 << 64), lambda: SumVec(0, 1), lambda: Histogram(0), lambda: Histogram(1 << 21),
     lambda: MultihotCountVec(3, 4), lambda: MultihotCountVec(3, 0), lambda: SumVec(1, 1 << 64, small=True)],
)  # fmt: skip
def test_circuits_that_cannot_be_are_refused(build: Any) -> None:
    with pytest.raises(ParameterError, match="parameter must be"):
        build()


def everything(circuit: Circuit) -> list[Any]:
    """All measurements of a small circuit."""
    if isinstance(circuit, Count):
        return [0, 1]
    if isinstance(circuit, Sum):
        return list(range(circuit.largest + 1))
    if isinstance(circuit, SumVec):
        return [list(each) for each in itertools.product(range(circuit.largest + 1), repeat=circuit.length)]
    if isinstance(circuit, Histogram):
        return list(range(circuit.length))
    assert isinstance(circuit, MultihotCountVec)
    choices = itertools.product((False, True), repeat=circuit.length)
    return [list(each) for each in choices if sum(each) <= circuit.most]


SMALL: list[Circuit] = [
    Count(), Sum(6), SumVec(2, 2), SumVec(2, 2, small=True), Histogram(4), MultihotCountVec(4, 1),
    MultihotCountVec(4, 3),
]  # fmt: skip


@pytest.mark.parametrize("circuit", SMALL, ids=lambda each: repr(each))
def test_sensitivity_is_the_farthest_that_one_replaced_report_moves_the_sums(circuit: Circuit) -> None:
    sums = [circuit.summed(circuit.encoded(each)).tolist() for each in everything(circuit)]
    pairs = list(itertools.product(sums, sums))
    assert max(sum(abs(a - b) for a, b in zip(x, y, strict=True)) for x, y in pairs) == circuit.shape.l1
    assert max(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for x, y in pairs) == circuit.shape.l2_squared


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(1, 12))
def test_any_chunk_of_bits_is_checked_whole(length: int, chunk: int) -> None:
    circuit = Histogram(length, chunk)
    assert run(circuit, circuit.encoded(length - 1))
    two = circuit.encoded(length - 1)
    two[0] = (two[0] + 1) % FIELD128.modulus
    assert not run(circuit, two)
