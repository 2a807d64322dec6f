"""A served clinic under many clients, half of them repeating, some hostile; the server and its workers are killed.

    python -m tests.doors.http.soak --seconds 600 --clients 64 --kills 50

Two of three kills hit the server, the third one of its workers, while it is working. Holds at the end: the ledger is
sound; no question was charged twice, and every charge has its one outcome (answered, failed or interrupted); every
answer that somebody got is the stored one of its charge, and all who got one for the same question got the same; who
was told that a budget is spent has spent it, and nobody more; nothing came but answers, refusals of the house (400,
402, 409, 503), 401, 413 and 429. It ends by itself: after the seconds, and two minutes at most for each start.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import httpx

from tacit.curator import Curator, open_policy
from tacit.doors import clinic
from tacit.doors.http.roles import Role
from tacit.doors.http.tokens import TokenFile
from tacit.errors import BudgetExceeded

ALLOWED = {200, 400, 401, 402, 409, 413, 429, 503}
PEOPLE = {"ana": 5, "bob": 10, "cy": 40, "di": 40}
"""Who asks, and the epsilon that each of them has: in the long form some have spent it before the end."""
OUTCOMES = ("answered", "failed", "interrupted")


def say(text: str) -> None:
    """A line of the report."""
    sys.stdout.write(f"{text}\n")


class Soak:
    """The server as a process, and what all clients saw."""

    def __init__(self, folder: Path) -> None:
        self.policy = clinic.make(folder, patients=1_000, keeps=True).policy
        text = self.policy.read_text().replace("epsilon = 2\ndelta = 1e-6", "epsilon = 200\ndelta = 1e-6")
        own = "".join(f"\n[analysts.{name}]\nepsilon = {most}\n" for name, most in {**PEOPLE, "owner": 40}.items())
        self.policy.write_text(text + own)
        file = TokenFile(self.policy)
        self.tokens = {name: file.add(name, Role.ANALYST, 1)[1] for name in PEOPLE}
        self.owner = file.add("owner", Role.OWNER, 1)[1]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None
        self.stop = threading.Event()
        self.seen: dict[str, set[str]] = collections.defaultdict(set)
        self.entries: dict[str, set[str]] = collections.defaultdict(set)
        self.statuses: collections.Counter[int] = collections.Counter()
        self.spent: dict[str, str] = {}
        self.lost = 0
        self.killed = collections.Counter[str]()

    def start(self, log: IO[bytes] | int = subprocess.DEVNULL) -> None:
        """Start the server, and wait until it answers."""
        command = [sys.executable, "-m", "tacit.doors.cli", "serve", str(self.policy), "--port", str(self.port)]
        self.process = subprocess.Popen(command, stderr=log, start_new_session=True)
        for _ in range(1_200):
            try:
                httpx.get(self.url("health"))
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        self.lift()

    def lift(self) -> None:
        """The owner's word that what failed was looked at."""
        httpx.post(self.url("resume"), json={}, headers={"Authorization": f"Bearer {self.owner}"}, timeout=120)

    def kill(self, number: int) -> None:
        """kill -9: of the server, which is started again, or of one of its workers, which it starts again itself."""
        assert self.process is not None
        workers = [] if number % 3 != 2 else self.workers()
        if workers:
            os.kill(workers[number % len(workers)], signal.SIGKILL)
            self.killed["worker"] += 1
            time.sleep(0.5)
            self.lift()
            return
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.killed["server"] += 1
        self.start()

    def workers(self) -> list[int]:
        """The processes that the server started."""
        assert self.process is not None
        found = []
        for each in filter(str.isdigit, os.listdir("/proc")):
            try:
                parent = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()[1]
            except OSError:
                continue
            if int(parent) == self.process.pid:
                found.append(int(each))
        return sorted(found)

    def url(self, path: str) -> str:
        """An address of the server."""
        return f"http://127.0.0.1:{self.port}/v1/{path}"

    def client(self, number: int) -> None:
        """One client, until the end."""
        rng, who = random.Random(number), list(PEOPLE)[number % len(PEOPLE)]
        headers = {"Authorization": f"Bearer {self.tokens[who]}"}
        with httpx.Client(headers=headers, timeout=60) as line:
            while not self.stop.is_set():
                if number % 10 == 9:
                    self.hostile(line, rng)
                    continue
                number_of = rng.randrange(20) if number % 2 else rng.randrange(10**6)
                self.ask(line, who, f"SELECT count(*) AS n FROM visits WHERE charge > {number_of / 1000}")

    def ask(self, line: httpx.Client, who: str, sql: str) -> None:
        """Ask until there is a reply: a lost one is asked for again."""
        while not self.stop.is_set():
            try:
                reply = line.post(self.url("ask"), json={"sql": sql, "epsilon": "0.01"})
            except httpx.HTTPError:
                self.lost += 1
                time.sleep(0.3)
                continue
            self.statuses[reply.status_code] += 1
            if reply.status_code == 200:
                content = reply.json()
                self.seen[sql].add(json.dumps(content["stored"], sort_keys=True))
                self.entries[sql].add(content["receipt"]["entry"])
            if reply.status_code == 402:
                self.spent.setdefault(who, str(reply.json().get("detail")))
            if reply.status_code == 429:
                time.sleep(0.2)
                continue
            return

    def hostile(self, line: httpx.Client, rng: random.Random) -> None:
        """What nobody should send."""
        bad: list[dict[str, Any]] = [
            {"content": b"{" * rng.randrange(9999)},
            {"json": {"sql": "SELECT * FROM patients"}},
            {"json": {"sql": "SELECT count(*) FROM visits", "analyst": "owner"}},
            {"content": b"x" * 300_000},
            {"json": {"sql": "SELECT count(*) FROM visits"}, "headers": {"Authorization": "Bearer tacit-a-b"}},
        ]
        said = rng.choice(bad)
        said["headers"] = {"Content-Type": "application/json", **said.get("headers", {})}
        try:
            self.statuses[line.post(self.url("ask"), **said).status_code] += 1
        except httpx.HTTPError:
            time.sleep(0.3)

    def verdict(self) -> list[str]:
        """What is wrong, if anything is."""
        wrong = [f"status {each}" for each in set(self.statuses) - ALLOWED]
        wrong += [f"two answers: {sql}" for sql, each in self.seen.items() if len(each) > 1]
        wrong += [f"two charges: {sql}" for sql, each in self.entries.items() if len(each) > 1]
        with open_policy(self.policy) as curator:
            if not curator.verify().sound:
                wrong.append("the ledger is not sound")
            charged = [each for each in curator.ledger() if each.kind == "charged"]
            if len({each.key for each in charged}) < len(charged):
                wrong.append("a key was charged twice")
            paid = {str(each.sequence) for each in charged}
            outcomes = collections.Counter(
                str(each.details.get("charge")) for each in curator.ledger() if str(each.kind) in OUTCOMES
            )
            wrong += [f"charge {each} has {outcomes[each]} outcomes" for each in paid if outcomes[each] != 1]
            for who in PEOPLE:
                wrong += self.cap(curator, who)
            wrong += [f"an answer without its charge: {sql}" for sql, each in self.entries.items() if not each <= paid]
            kinds = collections.Counter(str(each.kind) for each in curator.ledger())
            say(f"ledger: {dict(kinds)}; {curator.budget()}")
            for who in PEOPLE:
                mine = [each for each in curator.ledger(who) if each.kind == "charged"]
                say(f"{who}: {len(mine)} charges, {curator.budget(who)}; told {self.spent.get(who)}")
        return wrong

    def cap(self, curator: Curator, who: str) -> list[str]:
        """Whether somebody's budget is spent exactly where they were told so, and nowhere beyond."""
        try:
            own = list(PEOPLE).index(who)  # a question that nobody else has paid for: a stored answer costs nothing
            curator.ask(f"SELECT count(*) FROM visits WHERE charge < 0.{own + 5}", "0.01", analyst=who)
            fits = True
        except BudgetExceeded:
            fits = False
        wrong = [f"{who} was told: {self.spent[who]}, and something is left"] if fits and who in self.spent else []
        cost = sum((each.asked.epsilon for each in curator.ledger(who) if each.kind == "charged"), start=Fraction(0))
        return wrong + ([f"{who} spent {cost}"] if cost > PEOPLE[who] else [])


def main() -> int:
    said = argparse.ArgumentParser(description=__doc__)
    for name, default in (("seconds", 60), ("clients", 8), ("kills", 3)):
        said.add_argument(f"--{name}", type=int, default=default)
    options = said.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TACIT_STATE"] = f"{folder}/state"
        soak = Soak(Path(folder))
        soak.start()
        threads = [threading.Thread(target=soak.client, args=(number,)) for number in range(options.clients)]
        for thread in threads:
            thread.start()
        for number in range(options.kills):
            time.sleep(options.seconds / (options.kills + 1))
            soak.kill(number)
        time.sleep(options.seconds / (options.kills + 1))
        soak.stop.set()
        for thread in threads:
            thread.join(90)
        assert soak.process is not None
        soak.process.send_signal(signal.SIGTERM)
        say(f"stopped with code {soak.process.wait(60)}")
        wrong = soak.verdict()
        say(f"statuses {dict(soak.statuses)}, replies lost and asked for again {soak.lost}, killed {dict(soak.killed)}")
        say("\n".join(wrong) or "nothing wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
