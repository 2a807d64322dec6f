"""How long the bombs take with and without the bomber, side by side; and that the others are refused for nothing.

    PYTHONPATH=src python -m tests.curator.time_bombs --engine duckdb [--rows 20000] [--asks 20] [--only TEXT]
        [--part 1/4] [--kind joins]

Each answered bomb is asked in turn of both neighbours, strictly by turns, and each begins as often as the other, in an
order by chance, so that neither finds warmer caches than the other. Each time it is for another epsilon: a repeated
question would be answered from the ledger. One ask of each side goes before and is not counted.

The rule. A bomb passes where the median wall times of the two differ by at most 10 %. Where they do not, it is asked
anew, four times as often, and the fresh medians alone decide: a busy moment of the machine passes, a leak repeats. A
bomb of the other list passes where both neighbours refuse it in the same words, before anything is charged. The last
line counts every bomb.

Printed: the medians of the two and their ratio; how far the medians of every other ask of the neighbour without the
bomber are from each other, for scale; and the CPU of the worker, which other programs disturb less (of Spark's it is
that of all of Java, whose compiler and garbage collector work when they choose).
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.curator import Curator
from tacit.errors import QuestionError
from tests import postgres_server
from tests.curator import bomb_tables, bombs
from tests.curator.pairs import Pair
from tests.engines import spark_session

BAR = 1.10
AGAIN = 4


@contextmanager
def opened(engine: str, rows: int) -> Iterator[Pair]:
    """The neighbours on an engine."""
    with ExitStack() as stack:
        if engine == "duckdb":
            yield stack.enter_context(bomb_tables.on_duckdb(rows))
        elif engine == "spark":
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            session = stack.enter_context(spark_session.running())
            yield stack.enter_context(bomb_tables.on_spark(session, folder, rows))
        else:
            server = stack.enter_context(postgres_server.running())
            one, other = (server.database(f"bombs_{side}") for side in ("with", "without"))
            yield stack.enter_context(bomb_tables.on_postgres((one, other), rows))


def cpu(curator: Curator) -> float:
    """Seconds that what runs the curator's queries has computed, all threads together; 0 where that is not known."""
    engine: Any = curator._engine
    session = getattr(engine, "_session", None)
    worker = getattr(engine, "_worker", getattr(session, "worker", None))
    connection = getattr(session, "_connection", None)
    pid = worker.pid if hasattr(worker, "pid") else connection.info.backend_pid if connection is not None else None
    if pid is None:
        return 0.0
    return sum(_computed(each) for each in (_of_session(pid) if session is not None and worker else [pid]))


def _computed(pid: int) -> float:
    """By the system's own clock of a process, which goes on counting what threads did that have ended."""
    with suppress(OSError):
        return time.clock_gettime(~pid << 3 | 2)
    return 0.0


def _of_session(leader: int) -> list[int]:
    """A worker of Spark's and the Java that it started, which are one session of the system."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rsplit(")", 1)[1].split()[3]) == leader:
                found.append(int(stat.parent.name))
    return found


def asked(curator: Curator, sql: str, epsilon: Fraction) -> tuple[float, float]:
    """Wall and CPU of one ask."""
    gc.collect()  # Python's own full collections follow a beat of their own, which may meet the same side each time
    before, start = cpu(curator), time.perf_counter()
    curator.ask(sql, epsilon=epsilon, delta="1e-9" if "GROUP BY 1" in sql else None)
    return time.perf_counter() - start, cpu(curator) - before


@dataclass(frozen=True)
class Measured:
    """Medians of wall and CPU of the two neighbours, and how far two halves of one series are apart."""

    wall: tuple[float, float]
    cpu: tuple[float, float]
    noise: float

    @property
    def ratio(self) -> float:
        """With the bomber, to without."""
        return self.wall[0] / self.wall[1]

    @property
    def passes(self) -> bool:
        """Whether neither takes more than a tenth longer than the other."""
        return max(self.ratio, 1 / self.ratio) <= BAR


def measured(pair: Pair, sql: str, asks: int, price: Callable[[], Fraction], coin: random.Random) -> Measured:
    """So many asks of each neighbour, by turns."""
    sides = (pair.one, pair.other)
    times: tuple[list[tuple[float, float]], ...] = ([], [])
    begins = [0, 1] * (asks // 2) + [0] * (asks % 2)
    coin.shuffle(begins)
    for turn, first in enumerate([0, *begins]):
        for side in (first, 1 - first):
            found = asked(sides[side], sql, price())
            if turn:
                times[side].append(found)
    wall, used = ([statistics.median(each[place] for each in side) for side in times] for place in (0, 1))
    halves = [statistics.median(wall for wall, _ in times[1][half::2]) for half in (0, 1)]
    return Measured((wall[0], wall[1]), (used[0], used[1]), max(halves) / min(halves))


def refused_alike(pair: Pair, sql: str) -> bool:
    """Whether both refuse it in the same words, for nothing."""
    told = []
    for curator in pair:
        before = curator.spent()
        try:
            curator.ask(sql, epsilon="1e-6")
        except QuestionError as refusal:
            told.append(str(refusal))
        if (curator.spent() - before).loss:
            return False
    return len(told) == 2 and told[0] == told[1]


def tell(line: str) -> None:
    """A line of the report."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=("duckdb", "postgres", "spark"), default="duckdb")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--asks", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--kind", default="", help="bombs of these kinds only, such as joins,texts")
    parser.add_argument("--part", default="1/1", help="every so manieth bomb: 1/4, 2/4, 3/4 and 4/4 are all of them")
    chosen = parser.parse_args()
    number = 0

    def price() -> Fraction:
        nonlocal number
        number += 1
        return Fraction(1, 100) + Fraction(number, 10**7)

    coin = random.Random(chosen.asks)  # who begins when, nothing else
    part, parts = map(int, chosen.part.split("/"))
    answered, refused = (
        [sql for sql in bombs.every(_of_kind(listed, chosen.kind)) if chosen.only in sql][part - 1 :: parts]
        for listed in (bombs.ANSWERED, bombs.REFUSED)
    )
    failed = 0
    tell(f"{chosen.engine}, {chosen.rows:,} rows, median of {chosen.asks}; times in ms")
    tell(f"{'with':>8} {'without':>8} {'ratio':>6} {'halves':>6} | {'CPU':>8} {'without':>8} {'ratio':>6}")
    with opened(chosen.engine, chosen.rows) as pair:
        gc.freeze()
        for sql in answered:
            found = measured(pair, sql, chosen.asks, price, coin)
            shown = _line(found, sql, "" if found.passes else "again ")
            tell(shown)
            if not found.passes:
                found = measured(pair, sql, AGAIN * chosen.asks, price, coin)
                tell(_line(found, sql, "" if found.passes else "OVER "))
            failed += not found.passes
        wrong = [sql for sql in refused if not refused_alike(pair, sql)]
        gc.unfreeze()
    for sql in wrong:
        tell(f"NOT REFUSED ALIKE {sql[:90]}")
    tell(
        f"{chosen.engine}: {len(answered) - failed} of {len(answered)} answered bombs within {BAR - 1:.0%}, "
        f"{len(refused) - len(wrong)} of {len(refused)} refused alike and for nothing; "
        f"{len(answered) + len(refused)} bombs, {failed + len(wrong)} failed."
    )
    return failed + len(wrong) > 0


def _of_kind(listed: dict[str, list[str]], wanted: str) -> dict[str, list[str]]:
    return {kind: some for kind, some in listed.items() if kind.startswith(tuple(wanted.split(",")))}


def _line(found: Measured, sql: str, verdict: str) -> str:
    used = found.cpu[0] / found.cpu[1] if found.cpu[1] else 1.0
    return (
        f"{found.wall[0] * 1e3:8.2f} {found.wall[1] * 1e3:8.2f} {found.ratio:6.3f} {found.noise:6.3f} | "
        f"{found.cpu[0] * 1e3:8.2f} {found.cpu[1] * 1e3:8.2f} {used:6.3f}  {verdict}{sql[:90]}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
