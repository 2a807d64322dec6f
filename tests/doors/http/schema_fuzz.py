"""Requests that Schemathesis makes up from the server's own OpenAPI description: `python3 go.py fuzz 10000`.

A clinic is served by a process of its own, and its access log counts what came. Wanted: so many requests at least, no
500, and no reply but those that the description allows for; and afterwards a ledger that is sound.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tacit.curator import open_policy
from tests.doors.http.soak import Soak, say

ALLOWED = {200, 202, 400, 401, 402, 403, 404, 406, 408, 409, 413, 415, 429, 503}
MOST_ROUNDS = 40


def counted(log: Path) -> Counter[int]:
    """How often each status was sent."""
    found: Counter[int] = Counter()
    for line in log.read_text().splitlines():
        if line.startswith("{"):
            found[int(json.loads(line)["status"])] += 1
    return found


def main() -> int:
    program, wanted, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TACIT_STATE"] = f"{folder}/state"
        soak, log = Soak(Path(folder)), Path(folder) / "access.log"
        with log.open("wb") as written:
            soak.start(written)
            try:
                for number in range(seed, seed + MOST_ROUNDS):
                    who = soak.owner if number % 2 else soak.tokens["ana"]
                    command = [program, "run", soak.url("openapi.json"), "--header", f"Authorization: Bearer {who}"]
                    command += ["--checks", "not_a_server_error", "--seed", str(number), "--max-examples", "40"]
                    command += ["--phases", "examples,coverage,fuzzing", "--suppress-health-check", "all", "--no-color"]
                    done = subprocess.run(command, capture_output=True, text=True, timeout=3_600, cwd=folder)
                    soak.lift()
                    so_far = counted(log)
                    say(f"round {number}: code {done.returncode}, {so_far.total():,} requests, {dict(so_far)}")
                    if done.returncode:  # a check that failed, with the request that made it fail
                        say(done.stdout[-6_000:] + done.stderr[-2_000:])
                    if done.returncode not in (0, 1) or 500 in so_far:
                        break
                    if so_far.total() >= wanted:
                        break
            finally:
                assert soak.process is not None
                soak.process.send_signal(signal.SIGTERM)
                soak.process.wait(180)
        time.sleep(0.1)
        found = counted(log)
        traces = [line for line in log.read_text().splitlines() if not line.startswith("{") and " in " in line]
        with open_policy(soak.policy) as curator:
            sound = curator.verify().sound
        wrong = sorted(set(found) - ALLOWED)
        say(f"{found.total():,} requests: {dict(sorted(found.items()))}; ledger {'sound' if sound else 'NOT SOUND'}")
        say("\n".join(traces[:20]) or "no mistake was reported")
    return 0 if sound and not wrong and not traces and found.total() >= wanted else 1


if __name__ == "__main__":
    sys.exit(main())
