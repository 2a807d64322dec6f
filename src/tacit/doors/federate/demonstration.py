"""`tacit federate demo`: hospitals as processes, each with a file that no other process opens, train one model.

Everything is what an owner would do by hand: keys, a plan, settings files, a coordinator, clients.
"""

from __future__ import annotations

import csv
import json
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Final

from tacit.doors.federate.planning import planned
from tacit.doors.federate.settings import write_secret
from tacit.errors import TacitError
from tacit.federated.aggregation.keys import Identity
from tacit.federated.running.federation import Federation

_ROWS: Final = 150
_MINUTES: Final = 10
_PLAN: Final = {
    "name": "readmissions",
    "server": "server.pub",
    "clients": "keys",
    "epsilon": 8,
    "delta": 1e-5,
    "spare": 2,
}
_JOB: Final = {
    "kind": "logistic regression",
    "target": "readmitted",
    "classes": ["no", "yes"],
    "features": {"age": [0, 100], "nights": [0, 30], "ward": ["surgery", "medicine"]},
}


def prepare(folder: Path, clients: int, rounds: int, **terms: float) -> tuple[Federation, int]:
    """All files of a federation of made-up hospitals; the port its coordinator will have."""
    (folder / "keys").mkdir(parents=True)
    vanish = clients // 5
    content = {**_PLAN, "vanish": vanish, "job": {**_JOB, "rounds": rounds}, **terms}
    _pair(folder / "server", folder / "server.pub")
    for number in range(clients):
        _pair(folder / f"hospital-{number:03}", folder / "keys" / f"hospital-{number:03}.pub")
    federation = planned(content, folder)
    (folder / "federation.json").write_text(federation.to_json() + "\n")
    port = free_port()
    (folder / "coordinator.toml").write_text(
        f'federation = "federation.json"\nkey = "server.key"\nfolder = "coordinator"\nport = {port}\n'
        f"epsilon = 100\ndelta = 1e-3\nwait = 20\ngather = 180\n"
    )
    drawn = random.Random(7)  # noqa: S311 - made-up hospitals, not noise
    for number in range(clients):
        name = f"hospital-{number:03}"
        _hospital(folder / f"{name}.csv", drawn)
        (folder / f"{name}.toml").write_text(
            f'federation = "federation.json"\nkey = "{name}.key"\ndata = "{name}.csv"\nrecord = "{name}.told"\n'
            f'coordinator = "http://127.0.0.1:{port}"\nepsilon = 20\ndelta = 1e-4\npatience = 120\n'
        )
    return federation, port


def demonstrate(clients: int, rounds: int, folder: Path | None, said: Callable[[str], None]) -> str:
    """Run it; what is printed at the end."""
    home = Path(tempfile.mkdtemp(prefix="tacit-federation-")) if folder is None else folder
    running: list[subprocess.Popen[bytes]] = []
    try:
        federation, port = prepare(home, clients, rounds)
        said(f"{clients} hospitals, one coordinator, {rounds} rounds: {clients + 1} processes at port {port}.")
        center = start(home, "coordinator", "coordinator.toml")
        running.append(center)
        running += [start(home, "client", f"{name}.toml") for name in federation.clients]
        until = time.monotonic() + 60 * _MINUTES
        while center.poll() is None and time.monotonic() < until:
            time.sleep(0.2)
        if center.poll() != 0:
            raise TacitError(f"The federation did not end well; its words are in {home / 'coordinator.toml.log'}.")
        result = json.loads((home / "coordinator" / "result.json").read_text())
        accuracy, rows = _accuracy(home)
    finally:
        for each in running:
            _end(each)
        if folder is None:
            shutil.rmtree(home, ignore_errors=True)
    return (
        f"A model of {clients} hospitals, none of which showed a row. Right for {accuracy:.1%} of {rows:,} rows.\n"
        f"{result['clients']} hospitals were in the last round. A whole hospital is hidden at epsilon "
        f"{federation.epsilon}, delta {float(Fraction(federation.delta)):g}."
    )


def start(folder: Path, command: str, settings: str) -> subprocess.Popen[bytes]:
    """A process of the federation; its output goes to a file next to its settings."""
    with (folder / f"{settings}.log").open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "tacit.doors.cli", "federate", command, "--config", str(folder / settings)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port


def _pair(name: Path, public: Path) -> None:
    made = Identity()
    write_secret(name.with_suffix(".key"), made.secret)
    public.write_text(made.public.hex() + "\n")


def _hospital(path: Path, drawn: random.Random) -> None:
    """Older patients and longer stays come back more often."""
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["age", "nights", "ward", "readmitted"])
        for _ in range(_ROWS):
            age, nights, ward = drawn.randrange(20, 95), drawn.randrange(1, 29), drawn.choice(("surgery", "medicine"))
            score = (age - 55) / 12 + (nights - 14) / 6 + (ward == "medicine") - 0.5 + drawn.gauss(0, 0.7)
            lines.writerow([age, nights, ward, "yes" if score > 0 else "no"])


def _accuracy(folder: Path) -> tuple[float, int]:
    """Over all rows, which only a demonstration can see together."""
    import numpy as np

    from tacit import learning

    model = learning.load(folder / "coordinator" / "model.json")
    rows: list[list[str]] = []
    for path in sorted(folder.glob("hospital-*.csv")):
        with path.open(newline="") as file:
            rows += list(csv.reader(file))[1:]
    table = np.array([[float(age), float(nights), ward] for age, nights, ward, _ in rows], dtype=object)
    right = model.predict(table) == np.array([row[-1] for row in rows], dtype=object)
    return float(right.mean()), len(rows)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
