"""Poplar1 against the published vectors of draft-irtf-cfrg-vdaf-20; trees and sketches that are not what they say."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import ParameterError
from tacit.federated.poplar.poplar1 import Poplar1, Prefixes, packed, unpacked
from tacit.federated.poplar.streams import Blocks
from tacit.federated.poplar.trees import Trees, Walk
from tacit.federated.prio.fields import FIELD64, FIELD128, FIELD255, Vector
from tacit.federated.refusals import Refused

pytest.importorskip("Crypto", reason="an extra, which the tests' lock file holds")

FOLDER = Path(__file__).parent.parent / "fixtures" / "vdaf"
FILES = sorted(FOLDER.glob("Poplar1*.json"))
CONTEXT, KEY = b"made up", bytes(range(32))


class Replayed:
    """One file of vectors, operation by operation."""

    def __init__(self, path: Path) -> None:
        self.case = json.loads(path.read_text())
        self.scheme, self.asked = Poplar1(self.case["bits"]), Prefixes.decode(bytes.fromhex(self.case["agg_param"]))
        assert self.asked.encode().hex() == self.case["agg_param"]
        self.context, self.key = bytes.fromhex(self.case["ctx"]), bytes.fromhex(self.case["verify_key"])
        self.states: dict[tuple[int, int], Any] = {}
        self.sums: dict[int, Vector] = {}

    def do(self, operation: dict[str, Any]) -> None:
        report = operation.get("report_index")
        told = None if report is None else self.case["reports"][report]
        arguments = (told, report, operation.get("aggregator_id"), operation.get("round"))
        getattr(self, operation["operation"])(*arguments)

    def shard(self, told: dict[str, Any], *_: Any) -> None:
        nonce, random = bytes.fromhex(told["nonce"]), bytes.fromhex(told["rand"])
        made = self.scheme.sharded(self.context, told["measurement"], nonce, random)
        assert made.public.hex() == told["public_share"]
        assert [each.hex() for each in made.parts] == told["input_shares"]

    def verify_init(self, told: dict[str, Any], report: int, place: int, _: None) -> None:
        nonce, public = bytes.fromhex(told["nonce"]), bytes.fromhex(told["public_share"])
        opened = self.scheme.opened(self.context, place, nonce, public, bytes.fromhex(told["input_shares"][place]))
        state, share = self.scheme.checked(self.key, self.context, opened, self.asked)
        assert share.hex() == told["verifier_shares"][0][place]
        self.states[report, place] = state

    def verifier_shares_to_message(self, told: dict[str, Any], report: int, _: None, number: int) -> None:
        shares = [bytes.fromhex(each) for each in told["verifier_shares"][number]]
        if number == 0:
            assert self.scheme.sketch(self.asked.level, shares).hex() == told["verifier_messages"][0]
        else:
            self.scheme.accepted(self.asked.level, shares)

    def verify_next(self, told: dict[str, Any], report: int, place: int, number: int) -> None:
        state = self.states[report, place]
        if number == 1:
            share = self.scheme.answered(state, bytes.fromhex(told["verifier_messages"][0]))
            assert share.hex() == told["verifier_shares"][1][place]
        else:
            assert told["verifier_messages"][1] == ""
            assert state.field.encode(state.output).hex() == "".join(told["out_shares"][place])

    def aggregate(self, _: None, __: None, place: int, ___: None) -> None:
        outputs = [state.output for (_, at), state in self.states.items() if at == place]
        field = self.scheme.field(self.asked.level)
        self.sums[place] = field.vector(sum(each) for each in zip(*outputs, strict=True))
        assert field.encode(self.sums[place]).hex() == self.case["agg_shares"][place]

    def unshard(self, *_: Any) -> None:
        field = self.scheme.field(self.asked.level)
        total = field.vector(sum(each) for each in zip(*self.sums.values(), strict=True))
        assert total.tolist() == self.case["agg_result"]


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
    assert len(FILES) == 7
    assert sum("_bad_" in path.stem for path in FILES) == 1


def test_blocks_follow_from_seeds_as_published() -> None:
    told = json.loads((FOLDER / "XofFixedKeyAes128.json").read_text())
    seed, tag, bound_to = (bytes.fromhex(told[name]) for name in ("seed", "dst", "binder"))
    blocks = Blocks(tag, bound_to)
    assert blocks.stream(seed).bytes(16).hex() == told["derived_seed"]
    assert FIELD128.encode(blocks.stream(seed).vector(FIELD128, 40)).hex() == told["expanded_vec_field128"]
    pieces = blocks.stream(seed)
    whole = blocks.stream(seed).bytes(70)
    assert b"".join(pieces.bytes(many) for many in (1, 15, 16, 3, 35)) == whole
    two = blocks.of(np.frombuffer(seed + bytes(16), dtype=np.uint8).reshape(2, 16), 4)
    assert two[0].tobytes() == whole[:64]
    assert two[1].tobytes() == blocks.stream(bytes(16)).bytes(64)


def test_a_tree_is_planted_as_published_and_has_its_values_on_one_path_alone() -> None:
    told = json.loads((FOLDER / "IdpfBBCGGI21_0.json").read_text())
    values = [[int(each) for each in pair] for pair in (*told["beta_inner"], told["beta_leaf"])]
    context, nonce = bytes.fromhex(told["ctx"]), bytes.fromhex(told["nonce"])
    keys = [bytes.fromhex(each) for each in told["keys"]]
    trees = Trees(told["bits"], context, nonce)
    words, made = trees.planted(told["alpha"], values, b"".join(keys))
    assert made == keys
    assert Poplar1(told["bits"])._encoded(words).hex() == told["public_share"]
    way = int("".join("01"[bit] for bit in told["alpha"]), 2)
    for level in range(told["bits"]):
        here, modulus = way >> (told["bits"] - 1 - level), trees.field(level).modulus
        asked = sorted({here, here ^ 1, 0, (1 << level + 1) - 1})
        shares = [Walk(trees, place, words, key).values(level, asked) for place, key in enumerate(keys)]
        for prefix, *both in zip(asked, *shares, strict=True):
            total = [sum(pair) % modulus for pair in zip(*both, strict=True)]
            assert total == (values[level] if prefix == here else [0, 0])


def test_a_walk_goes_on_from_what_it_has_seen_and_never_back() -> None:
    trees = Trees(6, CONTEXT, bytes(16))
    words, keys = trees.planted([True, False, True, True, False, True], [(1, 5)] * 6, os.urandom(32))
    walk = Walk(trees, 0, words, keys[0])
    walk.values(1, [0, 2])
    for level, prefixes in ((1, [2]), (0, [1]), (6, [0]), (2, [2, 5])):
        with pytest.raises(Refused):
            walk.values(level, prefixes)
    assert walk.values(4, [1, 22]) == Walk(trees, 0, words, keys[0]).values(4, [1, 22])


def counted(scheme: Poplar1, asked: Prefixes, made: Any, nonce: bytes) -> list[int]:
    """What a report counts at each prefix, checked by both servers."""
    reports = [scheme.opened(CONTEXT, place, nonce, made.public, made.parts[place]) for place in (0, 1)]
    states, shares = zip(*(scheme.checked(KEY, CONTEXT, each, asked) for each in reports), strict=True)
    message = scheme.sketch(asked.level, shares)
    scheme.accepted(asked.level, [scheme.answered(state, message) for state in states])
    field = scheme.field(asked.level)
    return [int(each) for each in field.vector(sum(pair) for pair in zip(*(s.output for s in states), strict=True))]


@pytest.mark.parametrize("bits", [1, 2, 5])
def test_a_report_counts_by_one_at_its_own_prefix(bits: int) -> None:
    scheme = Poplar1(bits)
    for value in range(1 << bits):
        nonce = os.urandom(16)
        string = [bool(value >> (bits - 1 - place) & 1) for place in range(bits)]
        made = scheme.sharded(CONTEXT, string, nonce, os.urandom(scheme.random))
        for level in range(bits):
            asked = Prefixes(level, tuple(range(1 << level + 1)))
            assert counted(scheme, asked, made, nonce) == [
                int(prefix == value >> (bits - 1 - level)) for prefix in asked.prefixes
            ]


def test_a_forged_tree_that_counts_twice_or_by_more_is_refused_at_every_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client plants a tree with another value than 1, at all levels or at one, and masks that fit the honest one."""
    scheme, planted = Poplar1(4), Trees.planted
    for wrong in itertools.product((1, 2, FIELD64.modulus - 1), repeat=4):

        def forged(self: Trees, path: Any, values: Any, random: bytes, wrong: Any = wrong) -> Any:
            return planted(self, path, [(w, pair[1]) for w, pair in zip(wrong, values, strict=True)], random)

        monkeypatch.setattr(Trees, "planted", forged)
        nonce = os.urandom(16)
        made = scheme.sharded(CONTEXT, [True, False, False, True], nonce, os.urandom(scheme.random))
        for level, value in enumerate(wrong):
            asked = Prefixes(level, tuple(range(1 << level + 1)))
            if value == 1:
                assert sum(counted(scheme, asked, made, nonce)) == 1
            else:
                with pytest.raises(Refused, match="not valid"):
                    counted(scheme, asked, made, nonce)


def test_every_flipped_byte_of_a_report_is_refused_or_counts_the_same() -> None:
    """A byte of another level's correction does not touch this one. What is touched is refused."""
    scheme, nonce = Poplar1(3), os.urandom(16)
    made = scheme.sharded(CONTEXT, [True, False, True], nonce, os.urandom(scheme.random))
    asked = Prefixes(2, tuple(range(8)))
    refused = 0
    for which, text in enumerate((made.public, *made.parts)):
        for place in range(len(text)):
            spoilt = text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :]
            parts = [made.public, *made.parts]
            parts[which] = spoilt
            broken = type(made)(parts[0], (parts[1], parts[2]))
            try:
                assert counted(scheme, asked, broken, nonce) == [0, 0, 0, 0, 0, 1, 0, 0]
            except Refused:
                refused += 1
    assert refused > len(made.public) // 2


def test_what_one_server_holds_is_the_same_for_all_strings() -> None:
    """Keys, seeds and the second server's masks follow from random bytes alone; only the public part is made of both.

    Over many draws each bit of the public part is 0 or 1 equally often for either string. Off by seven deviations: at
    most 2 exp(-24.5) for a bit, so that some bit of some string is a false alarm below 1e-7.
    """
    scheme, many = Poplar1(3), 400
    for string in ([False] * 3, [True] * 3):
        texts = []
        for _ in range(many):
            made = scheme.sharded(CONTEXT, string, os.urandom(16), os.urandom(scheme.random))
            texts.append(np.unpackbits(np.frombuffer(made.public, dtype=np.uint8)))
        ones = np.sum(texts, axis=0)
        free = (ones > 0) & (ones < many)
        assert free.sum() > 0.97 * len(ones)  # but for padding, cleared bits of seeds, and the top bits of a field
        assert float(np.abs(ones[free] - many / 2).max()) < 7 * np.sqrt(many) / 2
    one, other = (
        scheme.sharded(CONTEXT, string, bytes(16), bytes(scheme.random)) for string in ([False] * 3, [True] * 3)
    )
    assert one.parts[1] == other.parts[1]


def test_what_may_be_asked_after_what() -> None:
    first = Prefixes(1, (0, 2, 3))
    first.after(None)
    Prefixes(3, (0, 3, 8)).after(first)
    for wrong in (
        Prefixes(1, (0,)),
        Prefixes(0, (0,)),
        Prefixes(2, (3,)),
        Prefixes(2, (1, 1)),
        Prefixes(2, (1, 0)),
        Prefixes(2, ()),
    ):
        with pytest.raises(Refused):
            wrong.after(first)
    with pytest.raises(Refused, match="must have 2 bits"):
        Prefixes(1, (4,)).after(None)
    for text in (b"", b"\0\0\0\0\0\1", Prefixes(0, (1,)).encode()[:-1] + b"\xc0", Prefixes(8, (0,)).encode() + b"\0"):
        with pytest.raises(Refused):
            Prefixes.decode(text)


def test_what_is_no_report_is_refused() -> None:
    scheme = Poplar1(4)
    nonce, random = os.urandom(16), os.urandom(scheme.random)
    made = scheme.sharded(CONTEXT, [True] * 4, nonce, random)
    for wrong in (
        lambda: scheme.sharded(CONTEXT, [True] * 3, nonce, random),
        lambda: scheme.sharded(CONTEXT, [True] * 4, nonce[1:], random),
        lambda: scheme.sharded(CONTEXT, [True] * 4, nonce, random[1:]),
        lambda: scheme.opened(CONTEXT, 2, nonce, made.public, made.parts[0]),
        lambda: scheme.opened(CONTEXT, 0, nonce, made.public[1:], made.parts[0]),
        lambda: scheme.opened(CONTEXT, 0, nonce, made.public, made.parts[0][1:]),
        lambda: scheme.opened(CONTEXT, 0, nonce, made.public, made.parts[0][:-32] + b"\xff" * 32),
        lambda: scheme.sketch(0, [bytes(24)]),
        lambda: unpacked(b"\xff", 7),
    ):
        with pytest.raises(Refused):
            wrong()
    assert unpacked(packed([True, False, True]), 3) == [True, False, True]
    for bits in (0, 257):
        with pytest.raises(ParameterError):
            Poplar1(bits)
    assert FIELD255.modulus == 2**255 - 19
