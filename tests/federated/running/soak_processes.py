"""A federation of real processes, some of them killed at random moments: the run ends with the right model, spent once.

    python -m tests.federated.running.soak_processes [CLIENTS] [ROUNDS] [SEED]

A fifth of the clients are killed with SIGKILL and started again, and so is the coordinator, twice. Moments are drawn
beforehand: after so many steps of the run, and up to a second later; all are before the middle of the last round, so
that all of them happen, and a process that is to be killed must be alive. Each process runs `tacit federate` as typed;
it is forked from this one, which has imported everything and priced the federation, so that a busy machine spends its
time on rounds. Asserted:

    killed      as many clients as were to be, and the coordinator twice
    right       each opened sum is that of those who survived its round, as their files and the public state make it,
                but for its noise (eight deviations); and the model is right for over 80 % of made-up rows (a coin: 50)
    spent once  one charge in the coordinator's ledger, that of the federation's event; one stored answer; no client's
                record has a round that is not one of the federation, nor more than there may be
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import random
import signal
import struct
import sys
import tempfile
import time
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np

from tacit.doors.cli import app
from tacit.doors.federate.demonstration import _accuracy, prepare
from tacit.doors.federate.taking_part import columns_of
from tacit.federated.aggregation.messages import Kind, sender_of
from tacit.federated.distributed.rotation import clipped
from tacit.federated.running.federation import Federation
from tacit.federated.running.record import Record
from tacit.ledger import Ledger

MINUTES = 40  # on a busy machine the processes alone take minutes to start
STEPS = 6
KIND = 10  # the place of a message's kind
LATEST = 1.0  # seconds after a step


def main(clients: int, rounds: int, seed: int) -> None:
    drawn, home = random.Random(seed), Path(tempfile.mkdtemp(prefix="federation-soak-")) / "run"
    federation, _ = prepare(home, clients, rounds, spare=4)
    settings = home / "coordinator.toml"
    settings.write_text(settings.read_text().replace("wait = 20", "wait = 45"))
    doomed = [f"{name}.toml" for name in drawn.sample(sorted(federation.clients), clients // 5)]
    last = STEPS * (rounds - 1) + STEPS // 2
    moments = [(drawn.randrange(last), name) for name in doomed]
    moments += [(moment, settings.name) for moment in drawn.sample(range(1, last), 2)]
    killed = run(home, federation, sorted(moments), drawn)
    assert sorted(killed) == sorted([*doomed, settings.name, settings.name])
    result, accuracy, told = examined(home, federation)
    print(  # noqa: T201
        f"{clients} clients, {len(killed) - 2} killed, coordinator killed {killed.count(settings.name)} times: "
        f"1 charge, {told}; {result['clients']} clients in the last round, right for {accuracy:.1%} of rows"
    )


def run(home: Path, federation: Federation, moments: list[tuple[int, str]], drawn: random.Random) -> list[str]:
    """All processes to the end; which were killed."""
    names = {"coordinator.toml": "coordinator", **{f"{name}.toml": "client" for name in federation.clients}}
    _ = federation.asked  # priced once, before it is forked
    running = {name: start(home, command, name) for name, command in names.items()}
    until, killed = time.monotonic() + 60 * MINUTES, list[str]()
    while running["coordinator.toml"].is_alive():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.1)
        if moments and steps_ended(home / "coordinator" / "record") >= moments[0][0]:
            _, name = moments.pop(0)
            time.sleep(drawn.uniform(0, LATEST))
            assert running[name].is_alive(), f"{name} has ended before it could be killed"
            running[name].kill()
            running[name].join()
            assert running[name].exitcode == -signal.SIGKILL
            killed.append(name)
            running[name] = start(home, names[name], name)
    running["coordinator.toml"].join()
    assert running["coordinator.toml"].exitcode == 0, (home / "coordinator.toml.log").read_text()[-2000:]
    for each in running.values():
        each.join(20)
        each.kill()
    return killed


def start(home: Path, command: str, settings: str) -> BaseProcess:
    """A process of the federation; its words go to a file beside its settings."""
    made = multiprocessing.get_context("fork").Process(target=_typed, args=(home, command, settings), daemon=True)
    made.start()
    return made


def _typed(home: Path, command: str, settings: str) -> None:
    with (home / f"{settings}.log").open("ab", buffering=0) as log:
        for standard in (1, 2):
            os.dup2(log.fileno(), standard)
    app(["federate", command, "--config", str(home / settings)])  # ends the process


def steps_ended(record: Path) -> int:
    """How many steps the coordinator has closed, by what is on its disk."""
    data = record.read_bytes() if record.exists() else b""
    place, found = 0, 0
    while place + 5 <= len(data):
        kind, length = struct.unpack_from(">cI", data, place)
        place += 5 + length + 8
        found += kind == b"C" and place <= len(data)
    return found


def examined(home: Path, federation: Federation) -> tuple[dict[str, Any], float, str]:
    """What was found, after all assertions about it."""
    result = json.loads((home / "coordinator" / "result.json").read_text())
    with Ledger.open(home / "coordinator" / "ledger", head=home / "coordinator" / "head") as ledger:
        entries = list(ledger.entries())
    charges = [json.loads(each.content) for each in entries if each.kind == "charged"]
    assert len(charges) == 1
    assert charges[0]["event"] == federation.event.to_dict()
    assert len([each for each in entries if each.kind == "answered"]) == 1
    rounds = {federation.setup(number).name for number in range(1, federation.attempts + 1)}
    entered = []
    for name in federation.clients:
        told = home / f"{name}.told"  # whoever never reached the coordinator has none
        kept = json.loads(told.read_text())["rounds"] if told.exists() else {}
        assert set(kept) <= rounds
        assert all(each["event"] == federation.asked.event.to_dict() for each in kept.values())
        entered.append(len(kept))
    survivors = opened_rightly(home, federation)
    assert len(survivors) == federation.job.rounds
    accuracy, _ = _accuracy(home)
    assert accuracy > 0.8
    said = f"{min(entered)} to {max(entered)} of {federation.attempts} rounds entered"
    return result, accuracy, f"{said}, {survivors} survivors of the opened ones"


def opened_rightly(home: Path, federation: Federation) -> list[int]:
    """Each opened mean against the exact one of those who survived; how many they were."""
    job, asked = federation.job, federation.asked
    owns = [job.read(columns_of(home / f"{name}.csv")[0]) for name in federation.clients]
    state, masked, survivors = job.begin(), set[int](), list[int]()
    with Record(home / "coordinator" / "record", federation.id.encode()) as record:
        entries = record.entries
    for kind, content in entries:
        if kind == b"S" and content[KIND] == Kind.MASKED:
            masked.add(sender_of(content))
        elif kind == b"L":
            masked = set()
        elif kind == b"O":
            task: Any = asked.task
            exact = sum(clipped(job.value(state, owns[each]), task.norm) for each in masked) / len(masked)
            after = json.loads(content)
            moved = np.array(after["weights"]) - np.array(state["weights"])
            aimed = np.asarray(job.descent.after(np.array(state["weights"]), np.array(state["motion"]), exact)[0])  # type: ignore[attr-defined]
            aimed = aimed - np.array(state["weights"])
            deviation = math.sqrt(len(masked) * (float(asked.shares.variance) + 0.25)) * task.unit(len(masked))
            off = np.abs(moved - aimed).max() / (deviation * job.descent.rate)  # type: ignore[attr-defined]
            assert off < 8, f"a sum is off by {off:.1f} deviations"
            assert after["clients"] == len(masked)
            survivors.append(len(masked))
            state, masked = after, set()
    return survivors


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:]]
    main(*(numbers + [50, 4, 1][len(numbers) :]))
