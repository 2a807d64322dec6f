"""A federation of real processes, some of them killed at random moments: the run ends with the right model, spent once.

    python -m tests.federated.running.soak_processes [CLIENTS] [ROUNDS] [SEED]

A fifth of the clients are killed with SIGKILL at random moments and started again, and so is the coordinator, twice.
Asserted: a result; one charge in the coordinator's ledger; no client's record has more rounds than there may be, nor
one twice; and the model is as right as one that was fitted without killing (over 80 % of made-up rows, a coin has 50).
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tacit.doors.federate.demonstration import _accuracy, prepare, start
from tacit.ledger import Ledger

MINUTES = 15


def main(clients: int, rounds: int, seed: int) -> None:
    drawn, home = random.Random(seed), Path(tempfile.mkdtemp(prefix="federation-soak-")) / "run"
    federation, _ = prepare(home, clients, rounds, spare=4)
    settings = home / "coordinator.toml"
    settings.write_text(settings.read_text().replace("wait = 20", "wait = 45"))
    members = {name: start(home, "client", f"{name}.toml") for name in federation.clients}
    center = start(home, "coordinator", "coordinator.toml")
    record = home / "coordinator" / "record"
    doomed, deaths, until = drawn.sample(sorted(members), clients // 5), 0, time.monotonic() + 60 * MINUTES
    sizes = sorted(drawn.sample(range(2, 40), 2))  # the coordinator dies when its record has grown so many times
    grown, size = 0, 0
    while center.poll() is None:
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.2)
        now = record.stat().st_size if record.exists() else 0
        if now > size:
            grown, size = grown + 1, now
            if doomed and drawn.random() < 0.3:
                name = doomed.pop()
                members[name].send_signal(signal.SIGKILL)
                members[name].wait()
                members[name] = start(home, "client", f"{name}.toml")
        if deaths < 2 and grown >= sizes[deaths]:
            center.send_signal(signal.SIGKILL)
            center.wait()
            deaths, center = deaths + 1, start(home, "coordinator", "coordinator.toml")
    assert center.returncode == 0, (home / "coordinator.toml.log").read_text()[-2000:]
    for each in members.values():
        try:
            each.wait(20)
        except subprocess.TimeoutExpired:
            each.kill()
            each.wait()
    result = json.loads((home / "coordinator" / "result.json").read_text())
    with Ledger.open(home / "coordinator" / "ledger", head=home / "coordinator" / "head") as ledger:
        charges = [each for each in ledger.entries() if each.kind == "charged"]
    told = [home / f"{name}.told" for name in members]  # whoever never reached the coordinator has none
    entered = [len(json.loads(each.read_text())["rounds"]) if each.exists() else 0 for each in told]
    accuracy, rows = _accuracy(home)
    print(  # noqa: T201
        f"{clients} clients, {clients // 5 - len(doomed)} killed, coordinator killed {deaths} times: "
        f"{len(charges)} charge, {min(entered)} to {max(entered)} of {federation.attempts} rounds entered, "
        f"{result['clients']} clients in the last round, right for {accuracy:.1%} of {rows:,} rows"
    )
    assert len(charges) == 1
    assert max(entered) <= federation.attempts
    assert accuracy > 0.8


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:]]
    main(*(numbers + [50, 4, 1][len(numbers) :]))
