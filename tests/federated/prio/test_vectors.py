"""Prio3 against the published vectors of draft-irtf-cfrg-vdaf-20: every byte, and every report that must be refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.federated.prio.circuits import Circuit, Count, Shape, Sum
from tacit.federated.prio.fields import FIELD64, FIELD128, Vector
from tacit.federated.prio.gadgets import Polynomial
from tacit.federated.prio.prio3 import Prio3
from tacit.federated.prio.seeds import derived, expanded
from tacit.federated.prio.vectors import Histogram, MultihotCountVec, SumVec
from tacit.federated.refusals import Refused

pytest.importorskip("Crypto", reason="an extra, which the tests' lock file holds")

FOLDER = Path(__file__).parent.parent.parent / "fixtures" / "vdaf"
FILES = sorted(FOLDER.glob("Prio3*.json"))


@dataclass(frozen=True)
class UpToTwo(Circuit):
    """A circuit of the vectors alone: 0, 1 or 2, checked by a gadget of degree 3."""

    is_list = False

    @property
    def shape(self) -> Shape:
        gadget = Polynomial((0, 2, -3, 1))
        return Shape(0xFFFFFFFF, FIELD64, gadget, calls=1, inputs=1, length=1, l1=2, l2_squared=4)

    def encoded(self, measurement: Any) -> Vector:
        return FIELD64.vector([measurement])

    def wires(self, inputs: Vector, joint: Vector, shares: int) -> Vector:
        return inputs[np.newaxis, :]

    def checks(self, inputs: Vector, called: Vector, shares: int) -> Vector:
        return called

    def summed(self, inputs: Vector) -> Vector:
        return inputs


def circuit_of(name: str, case: dict[str, Any]) -> Circuit:
    kind = name.removeprefix("Prio3").partition("_")[0]
    length, chunk, largest = case.get("length"), case.get("chunk_length"), case.get("max_measurement")
    made: dict[str, Any] = {
        "Count": lambda: Count(),
        "Sum": lambda: Sum(largest),
        "SumVec": lambda: SumVec(length, largest, chunk),
        "SumVecWithMultiproof": lambda: SumVec(length, largest, chunk, small=True),
        "Histogram": lambda: Histogram(length, chunk),
        "MultihotCountVec": lambda: MultihotCountVec(length, case["max_weight"], chunk),
        "HigherDegree": lambda: UpToTwo(),
    }
    circuit: Circuit = made[kind]()
    return circuit


class Replayed:
    """One file of vectors, operation by operation."""

    def __init__(self, path: Path) -> None:
        self.case = json.loads(path.read_text())
        self.scheme = Prio3(circuit_of(path.stem, self.case), self.case["shares"])
        self.context, self.key = bytes.fromhex(self.case["ctx"]), bytes.fromhex(self.case["verify_key"])
        self.states: dict[tuple[int, int], Any] = {}
        self.outputs: dict[tuple[int, int], Vector] = {}
        self.sums: dict[int, Vector] = {}

    def do(self, operation: dict[str, Any]) -> None:
        report = operation.get("report_index")
        told = None if report is None else self.case["reports"][report]
        getattr(self, operation["operation"])(told, report, operation.get("aggregator_id"))

    def shard(self, told: dict[str, Any], report: int, place: None) -> None:
        nonce, random = bytes.fromhex(told["nonce"]), bytes.fromhex(told["rand"])
        made = self.scheme.sharded(self.context, told["measurement"], nonce, random)
        assert made.public.hex() == told["public_share"]
        assert [each.hex() for each in made.parts] == told["input_shares"]

    def verify_init(self, told: dict[str, Any], report: int, place: int) -> None:
        nonce, public = bytes.fromhex(told["nonce"]), bytes.fromhex(told["public_share"])
        part = bytes.fromhex(told["input_shares"][place])
        state, share = self.scheme.checked(self.key, self.context, place, nonce, public, part)
        assert share.hex() == told["verifier_shares"][0][place]
        self.states[report, place] = state

    def verifier_shares_to_message(self, told: dict[str, Any], report: int, place: None) -> None:
        shares = [bytes.fromhex(each) for each in told["verifier_shares"][0]]
        assert self.scheme.agreed(self.context, shares).hex() == told["verifier_messages"][0]

    def verify_next(self, told: dict[str, Any], report: int, place: int) -> None:
        output = self.scheme.finished(self.states[report, place], bytes.fromhex(told["verifier_messages"][0]))
        assert self.scheme.field.encode(output).hex() == told["out_shares"][place]
        self.outputs[report, place] = output

    def aggregate(self, told: None, report: None, place: int) -> None:
        self.sums[place] = self.scheme.opened([out for (_, at), out in self.outputs.items() if at == place])
        assert self.scheme.field.encode(self.sums[place]).hex() == self.case["agg_shares"][place]

    def unshard(self, told: None, report: None, place: None) -> None:
        total = self.scheme.opened(list(self.sums.values())).tolist()
        assert (total if self.scheme.circuit.is_list else total[0]) == self.case["agg_result"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_published_vector_is_reproduced_byte_for_byte(path: Path) -> None:
    replayed = Replayed(path)
    assert ("_bad_" in path.stem) == any(not each["success"] for each in replayed.case["operations"])
    for operation in replayed.case["operations"]:
        if operation["success"]:
            replayed.do(operation)
        else:
            with pytest.raises(Refused, match="The report is not valid"):
                replayed.do(operation)


def test_all_files_of_vectors_are_there() -> None:
    assert len(FILES) == 25
    assert sum("_bad_" in path.stem for path in FILES) == 8


def test_seeds_are_made_long_as_published() -> None:
    told = json.loads((FOLDER / "XofTurboShake128.json").read_text())
    seed, tag, bound_to = (bytes.fromhex(told[name]) for name in ("seed", "dst", "binder"))
    assert derived(seed, tag, bound_to).hex() == told["derived_seed"]
    assert (
        FIELD128.encode(expanded(FIELD128, seed, tag, bound_to, told["length"])).hex() == told["expanded_vec_field128"]
    )
