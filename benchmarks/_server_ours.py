"""What a served clinic of 1,000 patients does in a second of one core: stored answers, estimates, new answers.

The server is a process of its own with a durable ledger; its CPU, and that of its workers, is read from the system, so
that neither the clients nor a busy machine count. The overhead of a remote question is the difference of medians, by
the clock, between `tacit.connect(...).ask` and `ask` beside the files of another such clinic, each question new, asked
in turns: a machine that is slower for a while is so for both. Bars: 800, 150 and 60 a second, 5 ms.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import tacit
from tacit.curator import open_policy
from tacit.doors import clinic
from tacit.doors.http.roles import Role
from tacit.doors.http.tokens import TokenFile

COUNT = "SELECT count(*) AS n FROM visits"
CLIENTS, ASKED = 2, 200


def written(folder: Path) -> Path:
    """The policy of a clinic with budget enough."""
    folder.mkdir(exist_ok=True)
    policy = clinic.make(folder, patients=1_000, keeps=True).policy
    policy.write_text(policy.read_text().replace("epsilon = 2\ndelta = 1e-6", "epsilon = 2000\ndelta = 1e-6"))
    return policy


class Served:
    """A clinic and its server."""

    def __init__(self, folder: Path) -> None:
        self.policy = written(folder)
        self.token = TokenFile(self.policy).add("ana", Role.ANALYST, 1)[1]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "tacit.doors.cli", "serve", str(self.policy), "--port", str(self.port)]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                self.line().request("GET", "/v1/health")
                break
            except OSError:
                time.sleep(0.1)

    def line(self) -> http.client.HTTPConnection:
        """A connection."""
        return http.client.HTTPConnection("127.0.0.1", self.port)

    def cpu(self) -> float:
        """Seconds of CPU of the server and its workers so far."""
        ticks = 0
        for each in filter(str.isdigit, os.listdir("/proc")):
            try:
                fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(each) == self.process.pid or int(fields[1]) == self.process.pid:
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def rate(self, path: str, body: Callable[[int], dict[str, Any]], count: int) -> float:
        """Requests per second of CPU."""
        wrong: list[int] = []

        def client(first: int) -> None:
            line = self.line()
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            for number in range(first, count, CLIENTS):
                line.request("POST", path, json.dumps(body(number)), headers)
                reply = line.getresponse()
                reply.read()
                if reply.status != 200:
                    wrong.append(reply.status)

        before = self.cpu()
        threads = [threading.Thread(target=client, args=(first,)) for first in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, wrong[:3]
        return count / (self.cpu() - before)

    def stop(self) -> None:
        """End it."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def milliseconds(*ways: Callable[[str], object]) -> list[float]:
    """The median time of new questions, asked in each of these ways in turn."""
    took: list[list[float]] = [[] for _ in ways]
    for number in range(ASKED):
        for way, times in zip(ways, took, strict=True):
            started = time.perf_counter()
            way(f"{COUNT} WHERE charge < {number / 100}")
            times.append(time.perf_counter() - started)
    return [1000 * median(each) for each in took]


def main() -> str:
    with tempfile.TemporaryDirectory(prefix="tacit-server-") as folder:
        os.environ["TACIT_STATE"] = f"{folder}/state"
        served = Served(Path(folder))
        try:
            same = {"sql": COUNT, "epsilon": "0.01"}
            served.rate("/v1/ask", lambda _: same, 4)
            stored = served.rate("/v1/ask", lambda _: same, 4_000)
            told = served.rate(
                "/v1/estimate", lambda each: {**same, "sql": f"{COUNT} WHERE charge > {each / 100}"}, 600
            )
            new = served.rate("/v1/ask", lambda each: {**same, "sql": f"{COUNT} WHERE charge > {each / 100}"}, 400)
            beside = written(Path(folder) / "beside")
            with (
                tacit.connect(f"http://127.0.0.1:{served.port}", served.token) as remote,
                open_policy(beside) as local,
            ):
                far, near = milliseconds(lambda sql: remote.ask(sql, "0.01"), lambda sql: local.ask(sql, "0.01"))
        finally:
            served.stop()
    lines = [
        "## Server",
        "",
        "A clinic of 1,000 patients with a durable ledger; requests per second of the server's CPU.",
        "",
    ]
    lines += ["| | measured | bar |", "|---|---|---|"]
    lines += [f"| stored answers | {stored:,.0f} /s | 800 |", f"| estimates | {told:,.0f} /s | 150 |"]
    lines += [f"| new answers | {new:,.0f} /s | 60 |"]
    lines += [f"| a remote question over a local one ({far:.1f} and {near:.1f} ms) | {far - near:.1f} ms | 5 ms |"]
    return "\n".join(lines)


if __name__ == "__main__":
    print(main())
