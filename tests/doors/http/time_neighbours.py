"""Response times of two neighbours over HTTP: one of them has a unit whose rows make every query slower.

    python -m tests.doors.http.time_neighbours --asks 2000 --slower 0.02

Two datasets behind one server, the same but for the engine of the second, which takes `--slower` seconds more for each
query, as if one unit's rows did that. Questions are new, and go to the two in turn. A classifier (the best threshold on
the response time, in either direction, learned on the first half) says of the second half which dataset answered.
With `timing = "steps"` it must do no better than chance at 99 %; without steps it must do better: else it has no power.
"""

from __future__ import annotations

import argparse
import http.client
import json
import math
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tacit.doors import clinic
from tacit.doors.http.app import Limits, Server, make_app
from tacit.doors.http.datasets import close_all, open_all
from tacit.doors.http.roles import Role
from tacit.doors.http.tokens import TokenFile


class Slowed:
    """An engine whose queries take longer."""

    def __init__(self, engine: Any, seconds: float) -> None:
        self._engine, self._seconds = engine, seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    @contextmanager
    def snapshot(self) -> Iterator[Any]:
        """A snapshot whose queries take longer."""
        with self._engine.snapshot() as run:

            def slow(query: Any) -> Any:
                time.sleep(self._seconds)
                return run(query)

            yield slow


def measured(folder: Path, timing: str, asks: int, slower: float) -> list[tuple[float, int]]:
    """Response times in seconds, and which dataset answered."""
    import uvicorn

    policies, tokens = [], []
    for name in ("first", "second"):
        (folder / name).mkdir()
        policy = clinic.make(folder / name, patients=200, keeps=True).policy
        text = policy.read_text().replace('name = "clinic"', f'name = "{name}"\ntiming = "{timing}"')
        policy.write_text(text.replace("epsilon = 2\ndelta = 1e-6", "epsilon = 2000\ndelta = 1e-6"))
        policies.append(policy)
        tokens.append(TokenFile(policy).add("ana", Role.ANALYST, 1)[1])
    datasets = open_all(policies)
    till = datasets[1].curator._till
    till.engine = Slowed(till.engine, slower)  # type: ignore[assignment]
    server = Server(datasets, Limits())
    served = uvicorn.Server(uvicorn.Config(make_app(server), "127.0.0.1", 0, log_level="critical"))
    thread = threading.Thread(target=served.run)
    thread.start()
    try:
        while not served.started:
            time.sleep(0.05)
        port = served.servers[0].sockets[0].getsockname()[1]
        line = http.client.HTTPConnection("127.0.0.1", port)
        found = []
        for number in range(asks):
            body = {"sql": f"SELECT count(*) AS n FROM visits WHERE charge < {number / 10}", "epsilon": "0.01"}
            headers = {"Authorization": f"Bearer {tokens[number % 2]}", "Content-Type": "application/json"}
            began = time.perf_counter()
            line.request("POST", "/v1/ask", json.dumps(body), headers)
            reply = line.getresponse()
            reply.read()
            assert reply.status == 200, reply.status
            found.append((time.perf_counter() - began, number % 2))
        return found
    finally:
        served.should_exit = True
        thread.join(60)
        server.close()
        close_all(datasets)


def right(times: list[tuple[float, int]]) -> tuple[int, int]:
    """Of the second half, how many the classifier tells rightly, and of how many."""
    half = len(times) // 2
    learned, tested = times[:half], times[half:]
    best, rule = -1, (0.0, 1)
    for threshold in sorted(value for value, _ in learned):
        above = sum((value > threshold) == (which == 1) for value, which in learned)
        for count, direction in ((above, 1), (half - above, 0)):
            if count > best:
                best, rule = count, (threshold, direction)
    threshold, direction = rule
    return sum((value > threshold) == (which == direction) for value, which in tested), len(tested)


def chance(count: int) -> int:
    """The least number of right ones that chance alone reaches in fewer than 1 of 100 cases."""
    total, threshold = 0, count
    while total * 100 < 2**count:
        total += math.comb(count, threshold)
        threshold -= 1
    return threshold + 2


def main() -> int:
    said = argparse.ArgumentParser(description=__doc__)
    said.add_argument("--asks", type=int, default=2_000)
    said.add_argument("--slower", type=float, default=0.02)
    options = said.parse_args()
    verdicts = []
    for timing in ("open", "steps"):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TACIT_STATE"] = f"{folder}/state"
            told, of = right(measured(Path(folder), timing, options.asks, options.slower))
        least = chance(of)
        verdicts.append((told >= least) == (timing == "open"))
        sys.stdout.write(f"{timing}: {told} of {of} told rightly; {least} or more is better than chance at 99 %\n")
        sys.stdout.flush()
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
