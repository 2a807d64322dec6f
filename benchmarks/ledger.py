"""The ledger: durable charges a second, alone and with group commit, and sixteen processes on one ledger.

Bar: at least 300 durable charges a second with group commit. The physical limit is the disk's own: one flush of a few
kilobytes, measured in between. A charge is two flushes (the log, then the head), however many charges share them.
Times are wall time, because a flush is waiting; set TMPDIR to choose the disk.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.postgres_server import BINARIES, MISSING, running

from tacit.ledger import Ledger
from tacit.loss import Budget
from tacit.loss.events import Pure

THREADS = 32
BAR = 300.0
EVENT = Pure(Fraction(1, 1000))
SOAK = Path(__file__).resolve().parent.parent / "tests" / "ledger" / "soak.py"


def opened(where: Path | str, head: Path) -> Ledger:
    return Ledger.open(where, head=head, budget=Budget(10**6), analysts={"ana": Budget(10**6)})


def alone(folder: Path, count: int = 200) -> dict[str, float]:
    """Median milliseconds of one caller's charge, of storing its answer, and of one flush of the disk in between."""
    took: dict[str, list[float]] = {"flush": [], "charge": [], "answer": []}
    descriptor = os.open(folder / "flush", os.O_RDWR | os.O_CREAT)
    os.pwrite(descriptor, bytes(8192), 0)
    os.fsync(descriptor)
    with opened(folder / "alone", folder / "alone.head") as ledger:
        for number in range(count):
            moments = [time.perf_counter()]
            os.pwrite(descriptor, number.to_bytes(4, "big") * 1024, 0)
            os.fdatasync(descriptor)
            moments.append(time.perf_counter())
            receipt = ledger.charge("ana", f"{number}", "SELECT count(*) FROM visits", EVENT)
            moments.append(time.perf_counter())
            ledger.store_answer(receipt, b"x" * 500)
            moments.append(time.perf_counter())
            for what, start, end in zip(took, moments, moments[1:], strict=False):
                took[what].append(1e3 * (end - start))
    os.close(descriptor)
    return {what: statistics.median(times) for what, times in took.items()}


def together(where: Path | str, head: Path, each: int = 100) -> tuple[float, float]:
    """Charges a second of many threads, and CPU milliseconds a charge."""
    with opened(where, head) as ledger:

        def charge(name: int) -> None:
            for number in range(each):
                ledger.charge("ana", f"{name}-{number}", "SELECT count(*) FROM visits", EVENT)

        threads = [threading.Thread(target=charge, args=(name,)) for name in range(THREADS)]
        start, cpu = time.perf_counter(), time.process_time()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        assert len(ledger.entries()) == 2 + THREADS * each
    return THREADS * each / seconds, 1e3 * cpu / (THREADS * each)


def opening(folder: Path) -> tuple[int, float]:
    """Entries of the ledger that `together` filled, and CPU microseconds an entry to open and check it."""
    start = time.process_time()
    with opened(folder / "together", folder / "together.head") as ledger:
        seconds = time.process_time() - start
        entries = len(ledger.entries())
    return entries, 1e6 * seconds / entries


def processes(folder: Path) -> dict[str, int]:
    """Sixteen processes with 500 charges each; checked as in the tests."""
    command = [sys.executable, str(SOAK), "processes", "16", "500", "--disk", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, int] = json.loads(done.stdout)
    return result


def in_postgres(folder: Path) -> str:
    """The line for charges of many threads to a server on the same disk, or why there is none."""
    if BINARIES is None:
        return f"| the same in PostgreSQL | not measured: {MISSING} | |"
    with running(tempfile.gettempdir()) as server:
        group, cpu = together(server.database("ledger"), folder / "postgres.head", each=50)
    return f"| the same in PostgreSQL (its own server, fsync on; {cpu:.2f} ms of client CPU a charge) | {group:.0f} | |"


def main() -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        took = alone(folder)
        group, cpu = together(folder / "together", folder / "together.head")
        entries, check = opening(folder)
        shared = processes(folder)
        database = in_postgres(folder)
    asked = shared["charged"] + shared["repeated"] + shared["refused"]
    exact = shared["charged"] == shared["cap"] and not shared["problems"]
    lines = [
        "## The ledger",
        "",
        "| what | figure | bar |",
        "|---|---|---|",
        f"| durable charges a second, {THREADS} threads, group commit | {group:.0f} "
        f"| >= {BAR:.0f}: {'met' if group >= BAR else 'NOT MET'} |",
        database,
        f"| 16 processes x 500 questions: charged, of a cap of {shared['cap']} | {shared['charged']} "
        f"| exactly: {'met' if exact else 'NOT MET'} |",
        f"| the same, questions a second | {asked / shared['seconds']:.0f} | |",
        f"| one caller alone, charges a second | {1e3 / took['charge']:.0f} | |",
        "",
        f"Medians of one caller: a charge {took['charge']:.2f} ms, storing the answer {took['answer']:.2f} ms, one "
        f"bare flush of this disk {took['flush']:.2f} ms (each of the two takes two). With group commit {cpu:.2f} ms "
        f"of CPU a charge. Opening checks every entry: {check:.0f} microseconds of CPU each ({entries} entries).",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(main())
