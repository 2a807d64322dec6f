"""A coordinator that is killed and goes on: the same answers, one charge, and the sum of those who stayed."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import BudgetExceeded, TacitError
from tacit.federated import Identity
from tacit.federated.jobs.counts import Counts, Mean
from tacit.federated.jobs.models import Descent, Logistic
from tacit.federated.refusals import Refused
from tacit.federated.running.calls import Call, called
from tacit.federated.running.coordinator import Coordinator
from tacit.federated.running.federation import Federation
from tacit.federated.running.record import Record
from tacit.ledger import Failed
from tacit.loss import compose
from tacit.loss.budget import Budget
from tests.federated.running.people import ledger_in, members, parties, run

DRINKS = Counts("drink", ("tea", "coffee"))


def test_a_round_among_processes_gives_the_noisy_sum(tmp_path: Path) -> None:
    federation, server, keys = parties(DRINKS, 6)
    everybody = members(federation, keys, ["tea", "tea", "coffee", "tea", None, "milk"], tmp_path)
    with ledger_in(tmp_path) as ledger, Coordinator(federation, server, tmp_path, ledger) as coordinator:
        found = run(coordinator, everybody)
        assert found.result is not None
        assert found.result["counts"]["tea"] == pytest.approx(3, abs=0.5)  # the noise is some hundredths at this price
        assert found.result["counts"]["coffee"] == pytest.approx(1, abs=0.5)
        assert found.result["clients"] == 6


@pytest.mark.parametrize("seed", range(12))
def test_a_coordinator_that_is_killed_again_and_again_opens_one_sum_for_one_charge(tmp_path: Path, seed: int) -> None:
    federation, server, keys = parties(DRINKS, 5, vanish=1)
    everybody = members(federation, keys, ["tea", "tea", "coffee", "tea", "coffee"], tmp_path)
    drawn = random.Random(seed)
    ledger = ledger_in(tmp_path)
    answers: dict[tuple[int, int, int], bytes] = {}

    def killed(found: Coordinator, number: int, step: int) -> Coordinator:
        """Another process takes over with what is on the disk; whatever left before is given again as it was."""
        for client in range(5):
            try:
                given = found.hear(client, number, found.step - 1)
            except Refused:
                given = None
            if given is not None:
                assert answers.setdefault((client, number, found.step - 1), given) == given
        if drawn.random() > 0.3:
            return found
        found.close()
        return Coordinator(federation, server, tmp_path, ledger)

    gone = drawn.randrange(5)
    begun = Coordinator(federation, server, tmp_path, ledger)
    found = run(begun, everybody, lambda client, _, step: client != gone or step < drawn.randrange(7), killed, seed)
    assert found.result is not None
    charges = [each for each in ledger.entries() if each.kind == "charged"]
    assert len(charges) == 1
    for each in everybody:
        assert each.odometer.rounds == (federation.setup(1).name,)
    found.close()
    with Coordinator(federation, server, tmp_path, ledger) as again:
        assert again.result == found.result
    ledger.close()


def test_a_lost_round_uses_a_spare_one_and_then_the_federation_fails(tmp_path: Path) -> None:
    federation, server, keys = parties(DRINKS, 5, vanish=1, spare=1)
    everybody = members(federation, keys, ["tea"] * 5, tmp_path)
    with ledger_in(tmp_path) as ledger, Coordinator(federation, server, tmp_path, ledger) as coordinator:
        found = run(coordinator, everybody, lambda client, number, step: number > 1 or client > 1 or step < 3)
        assert found.result is not None
        assert len(found.lost) == 1
    other = tmp_path / "other"
    other.mkdir()
    federation, server, keys = parties(Counts("drink", ("tea", "milk")), 5, vanish=1, spare=1)
    everybody = members(federation, keys, ["tea"] * 5, other)
    with ledger_in(other) as ledger, Coordinator(federation, server, other, ledger) as coordinator:
        found = run(coordinator, everybody, lambda client, number, step: client > 1 or step < 3)
        assert found.failed
        assert found.result is None
        assert isinstance(ledger.answer(f"federation:{federation.id}"), Failed)
        with pytest.raises(Refused, match="over"):
            found.say(b"x" * 60)


def test_a_federation_is_charged_for_all_its_rounds_before_anybody_is_called(tmp_path: Path) -> None:
    federation, server, _ = parties(DRINKS, 5, spare=2, epsilon="3")
    with ledger_in(tmp_path, Budget(1, "1/1000")) as ledger, pytest.raises(BudgetExceeded):
        Coordinator(federation, server, tmp_path, ledger)
    assert federation.attempts == 3
    told = compose([federation.event]).epsilon(Fraction(federation.delta))
    assert 2.7 < told <= 3  # all rounds together use the price, and do not exceed it
    assert told == compose([federation.asked.event] * 3).epsilon(Fraction(federation.delta))


def test_without_its_record_a_federation_does_not_go_on(tmp_path: Path) -> None:
    federation, server, _ = parties(DRINKS, 5)
    with ledger_in(tmp_path) as ledger:
        Coordinator(federation, server, tmp_path, ledger).close()
        (tmp_path / "record").unlink()
        with pytest.raises(Refused, match="record"):
            Coordinator(federation, server, tmp_path, ledger)


def test_a_coordinator_that_is_killed_between_charge_and_record_calls_nobody_and_charges_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a client was called is not known then, so that the price is wasted; it is not paid again."""
    federation, server, _ = parties(DRINKS, 5)
    with ledger_in(tmp_path) as ledger:
        with monkeypatch.context() as patched:
            patched.setattr(Record, "flush", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                Coordinator(federation, server, tmp_path, ledger)
        for _ in range(2):
            with pytest.raises(Refused, match="begun before"):
                Coordinator(federation, server, tmp_path, ledger)
        assert [each.kind for each in ledger.entries()].count("charged") == 1


def test_a_record_of_another_federation_or_in_use_is_refused(tmp_path: Path) -> None:
    federation, server, _ = parties(DRINKS, 5)
    other, other_server, _ = parties(Mean("age", 0, 100), 5)
    with ledger_in(tmp_path) as ledger, Coordinator(federation, server, tmp_path, ledger) as coordinator:
        with pytest.raises(Refused, match="Another process"):
            Coordinator(federation, server, tmp_path, ledger)
        coordinator.close()
        with pytest.raises(Refused):
            Coordinator(other, other_server, tmp_path, ledger)


def test_a_call_that_was_changed_or_is_for_another_is_refused(tmp_path: Path) -> None:
    federation, server, keys = parties(DRINKS, 5)
    one, other, *_ = members(federation, keys, ["tea"] * 5, tmp_path)
    with ledger_in(tmp_path) as ledger, Coordinator(federation, server, tmp_path, ledger) as coordinator:
        call = coordinator.call(0)
        for wrong in (
            call[:-1],
            call[:13] + b"\x02" + call[14:],
            call[:-1] + bytes([call[-1] ^ 1]),
            b"",
            b"tacit call",
        ):
            with pytest.raises(Refused):
                one.enter(wrong)
        with pytest.raises(Refused):
            other.enter(call)
        assert one.odometer.rounds == ()  # nothing was told by any of them
        one.enter(call)
        with pytest.raises(Refused, match="before"):
            one.enter(call)  # a second vector in one round would tell too much


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"epsilon": "0"},
        {"delta": "2"},
        {"vanish": 4},
        {"job": {"kind": "x"}},
        {"clients": []},
        {"more": 1},
    ],
)
def test_what_is_no_description_is_refused(change: dict[str, Any]) -> None:
    federation, _, _ = parties(DRINKS, 5)
    text = federation.to_json()
    assert Federation.from_json(text).id == federation.id
    with pytest.raises(TacitError):
        Federation.from_json(json.dumps({**json.loads(text), **change}, sort_keys=True, separators=(",", ":")))
    with pytest.raises(TacitError):
        Federation.from_json("not " + text)


def test_two_federations_that_differ_in_anything_share_no_round() -> None:
    server, keys = Identity(), [Identity() for _ in range(5)]
    listed = {f"{place}": key.public for place, key in enumerate(keys)}
    terms: list[dict[str, Any]] = [{}, {"epsilon": "2"}, {"delta": "1/7"}, {"spare": 1}, {"vanish": 1}, {"collude": 1}]
    made = [
        Federation("one", DRINKS, server.public, listed, **{"epsilon": "1", "delta": "1/100", **each}) for each in terms
    ]
    made.append(Federation("one", Counts("drink", ("a", "b")), server.public, listed, "1", "1/100"))
    assert len({each.setup(1).name for each in made}) == len(made)


@pytest.mark.parametrize("weights", [None, [], [[1.0]], [[10**400]], "x", {"a": 1}, [[0.0] * 1000] * 5])
def test_a_state_that_is_none_makes_no_client_stay_away_whatever_it_holds(tmp_path: Path, weights: Any) -> None:
    """A coordinator that lies must not learn who has rows from who refuses, or from who works longer."""
    job = Logistic({"age": (0.0, 100.0)}, "ill", ("no", "yes"), Descent(1), among=4)
    federation, server, keys = parties(job, 4)
    owns = [job.read({"age": ["50"] * many, "ill": ["yes"] * many}) for many in (0, 1, 9, 0)]
    for each in members(federation, keys, owns, tmp_path):
        each.enter(called(federation, server, each.number, Call(1, {"weights": weights})))
        assert each.odometer.rounds == (federation.setup(1).name,)
