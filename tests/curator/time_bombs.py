"""How long the bombs take with and without the bomber, side by side.

    PYTHONPATH=src python -m tests.curator.time_bombs --engine duckdb [--rows 20000] [--asks 20] [--only TEXT]

Each answered bomb is asked in turn of both neighbours, so many times, each time for another epsilon (a repeated
question would be answered from the ledger). Printed: the medians of the two, wall and, on DuckDB, CPU of the worker;
their ratio; and for scale a second series of asks of the neighbour without the bomber. A bomb passes where the wall
times are within 10 % of each other, beyond what those two series of one and the same neighbour differ by themselves.
The machine should be quiet.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path

from tacit.curator import Curator
from tests import postgres_server
from tests.curator import bomb_tables, bombs
from tests.curator.hostile_tables import Pair
from tests.engines import spark_session

BAR = 1.10


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
    """Seconds that the curator's worker has computed, all its threads together; 0 where there is none here."""
    worker = getattr(curator._engine, "_worker", None)
    pid = None if worker is None else worker.pid
    if pid is None:
        return 0.0
    spent = [path.read_text().split()[0] for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(map(int, spent)) / 1e9


def asked(curator: Curator, sql: str, epsilon: Fraction) -> tuple[float, float]:
    """Wall and CPU of one ask."""
    before, start = cpu(curator), time.perf_counter()
    curator.ask(sql, epsilon=epsilon)
    return time.perf_counter() - start, cpu(curator) - before


def measured(pair: Pair, sql: str, asks: int, price: Callable[[], Fraction]) -> list[tuple[float, float]]:
    """Median wall and CPU: with, without, and without once more."""
    sides = (pair.one, pair.other, pair.other)
    for curator in (pair.one, pair.other):
        asked(curator, sql, price())
    times: list[list[tuple[float, float]]] = [[], [], []]
    for turn in range(asks):
        order = (0, 1, 2) if turn % 2 else (2, 1, 0)
        for side in order:
            times[side].append(asked(sides[side], sql, price()))
    return [(statistics.median(w for w, _ in each), statistics.median(c for _, c in each)) for each in times]


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
    chosen = parser.parse_args()
    number = 0

    def price() -> Fraction:
        nonlocal number
        number += 1
        return Fraction(1, 100) + Fraction(number, 10**7)

    failed, total = 0, 0
    tell(f"{chosen.engine}, {chosen.rows:,} rows, median of {chosen.asks}; times in ms")
    tell(f"{'with':>8} {'without':>8} {'ratio':>6} {'same':>6} | {'CPU':>8} {'without':>8} {'ratio':>6}")
    with opened(chosen.engine, chosen.rows) as pair:
        for sql in bombs.every(bombs.ANSWERED):
            if chosen.only not in sql:
                continue
            (wall, cpu_with), (other, cpu_without), (same, _) = measured(pair, sql, chosen.asks, price)
            ratio, noise = wall / other, max(other, same) / min(other, same)
            used = cpu_with / cpu_without if cpu_without else 1.0
            passed = max(ratio, 1 / ratio) <= BAR * noise
            failed, total = failed + (not passed), total + 1
            tell(
                f"{wall * 1e3:8.2f} {other * 1e3:8.2f} {ratio:6.3f} {noise:6.3f} | {cpu_with * 1e3:8.2f} "
                f"{cpu_without * 1e3:8.2f} {used:6.3f}  {'' if passed else 'OVER'} {sql[:90]}"
            )
    tell(f"{total - failed} of {total} within {BAR - 1:.0%}.")
    return failed > 0


if __name__ == "__main__":
    raise SystemExit(main())
