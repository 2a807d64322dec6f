"""The fixed cost of one question: `ask` with a durable ledger, and `estimate`, on a table of 1,000 rows.

Every question is new. Medians of wall-clock time on a quiet machine. Bars, for a count and for count, sum and avg by a
key: `ask` 5 and 8 ms, `estimate` 1.5 and 2.5 ms, `within` (the accuracy instead of a cost) three times the estimate.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

import tacit

ROWS, RUNS = 1_000, 150
SHAPES = {
    "count": "SELECT count(*) FROM data WHERE amount < {limit}",
    "count, sum, avg by a key": "SELECT cat, count(*), sum(amount), avg(amount) FROM data WHERE amount < {limit} "
    "GROUP BY cat",
}

BARS = {"count": (5, 1.5), "count, sum, avg by a key": (8, 2.5)}  # milliseconds: ask, estimate


def milliseconds(work: Callable[[str], object], texts: list[str]) -> float:
    took = []
    for text in texts:
        started = time.perf_counter()
        work(text)
        took.append(time.perf_counter() - started)
    return 1000 * median(took)


def main() -> str:
    random = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "who": random.integers(0, 300, ROWS),
            "cat": random.integers(0, 10, ROWS),
            "amount": random.uniform(0, 100, ROWS),
        }
    )
    lines = ["## Asking", "", f"{ROWS:,} rows, {RUNS} new questions each, medians.", ""]
    lines += [
        "| question | ask | bar | estimate | bar | within | within / estimate (bar 3) |",
        "|---|---|---|---|---|---|---|",
    ]
    with (
        tempfile.TemporaryDirectory(prefix="tacit-asking-") as folder,
        tacit.protect(
            frame,
            unit="who",
            rows_per_unit=4,
            columns={"cat": tacit.one_of(*range(10)), "amount": tacit.between(0, 100)},
            budget=tacit.Budget(10**6),
            ledger=str(Path(folder) / "ledger"),
        ) as curator,
    ):
        for name, text in SHAPES.items():
            texts = [text.format(limit=run + 1) for run in range(RUNS)]
            estimate = milliseconds(lambda sql: curator.estimate(sql, "0.5"), texts)
            ask = milliseconds(lambda sql: curator.ask(sql, "0.5"), texts)
            within = milliseconds(lambda sql: curator.estimate(sql, within=50, rows=ROWS), texts[: RUNS // 3])
            paid, free = BARS[name]
            lines.append(
                f"| {name} | {ask:.1f} ms | {paid:g} | {estimate:.1f} ms | {free:g} | {within:.1f} ms "
                f"| {within / estimate:.1f}x |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    print(main())
