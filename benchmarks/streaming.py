"""Running totals: the error of the matrix beside those known, steps a second, and a watch beside the plain query.

Errors are exact sums, not samples: the mean over steps of the variance of a running total, in units of the noise's
sensitivity, for one event. The square root of the matrix of totals is computed here by itself, from its coefficients.

Jax-privacy's factorisations (`_streaming_jax`, in `.venv-jax`) are optimised by its own code and measured the same way:
the largest error at the whole length, the mean error at a shorter one, where its optimiser ends within a minute.

    python benchmarks/run.py streaming
"""

from __future__ import annotations

import datetime as dt
import json
import math
import subprocess
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

import tacit
from tacit.mechanisms.continual import RunningTotals
from tacit.mechanisms.continual.poles import poles_for

STEPS = 1 << 20
SHORTER = 1 << 9
JAX = Path(__file__).resolve().parents[1] / ".venv-jax" / "bin" / "python"
ROWS, DAYS = 10_000_000, 365


def fitted(steps: int) -> float:
    """|c|^2 times the mean squared norm of the rows of B, from its closed forms."""
    poles = poles_for(steps)
    squares = np.square(poles.error_below(np.arange(steps, dtype=np.float64)))
    return float(poles.inner(np.zeros(1), steps)[0]) * float(np.cumsum(squares).mean())


def square_root(steps: int) -> float:
    """The same of the square root of the matrix of totals: both factors have its coefficients."""
    coefficients = np.concatenate([[1.0], np.cumprod(1 - 0.5 / np.arange(1, steps, dtype=np.float64))])
    squares = np.square(coefficients)
    return float(squares.sum()) * float(np.cumsum(squares).mean())


def tree(steps: int) -> float:
    """The binary tree with Gaussian noise, each node refined by those below it."""
    from tacit.mechanisms.continual.tree import levels_of, node_variances

    variances = np.array(node_variances(levels_of(steps)))
    bits = np.arange(1, steps + 1)
    total = sum(float(np.mean(bits >> level & 1)) * each for level, each in enumerate(variances))
    return levels_of(steps) * total


def jax_privacy() -> list[str]:
    """A line for each of its two optimised matrices beside ours of the same length."""
    if not JAX.exists():
        return ["Jax-privacy is not installed: `python3 go.py bench streaming` does it."]
    lines = []
    for aim, steps in (("max", STEPS), ("mean", SHORTER)):
        command = [str(JAX), str(Path(__file__).with_name("_streaming_jax.py")), aim, str(steps)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode:
            lines.append(f"Jax-privacy, {aim} error at {steps:,} steps: failed ({done.stderr.strip()[-200:]}).")
            continue
        theirs = json.loads(done.stdout.splitlines()[-1])
        lines.append(
            f"Jax-privacy, optimised for the {aim} error at {steps:,} steps: {theirs['error']:.4f} with "
            f"{theirs['buffers']} buffers, found in {theirs['seconds']:.0f} s of CPU; ours {fitted(steps):.4f} "
            f"({fitted(steps) / theirs['error']:.4f}x), from a table."
        )
    return lines


def speeds() -> tuple[float, float]:
    """Steps a second of CPU at once, and microseconds of CPU for one."""
    course = RunningTotals(STEPS, epsilon=1, delta=1e-6).begin()
    values = np.random.default_rng(1).integers(0, 50, STEPS)
    began = time.process_time()
    course.extend(values)
    many = STEPS / (time.process_time() - began)
    single = RunningTotals(STEPS, epsilon=1, delta=1e-6).begin()
    began = time.process_time()
    for _ in range(20_000):
        single.step(7)
    return many, (time.process_time() - began) / 20_000 * 1e6


POLICY = """
name = "visits"
ledger = "visits.ledger"
working_copy = "visits.copy"
[budget]
epsilon = 10
delta = 1e-5
[tables.visits]
source = "visits.parquet"
unit = "row"
[tables.visits.columns]
day = {{ type = "date", between = ["2025-01-01", "{last}"], nullable = false }}
ward = {{ type = "text", one_of = ["A", "B", "C", "D"], nullable = false }}
"""


def watched(rows: int = ROWS, days: int = DAYS) -> tuple[float, float]:
    """Seconds by the clock of all periods: plain DuckDB on the same copy's file, and the watch."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        made = (
            f"SELECT DATE '2025-01-01' + CAST(range * {days} // {rows} AS INTEGER) AS day, "
            f"chr(65 + CAST(hash(range) % 4 AS INTEGER)) AS ward FROM range({rows})"
        )
        duckdb.sql(f"COPY ({made}) TO '{place / 'visits.parquet'}' (FORMAT parquet)")
        last = dt.date(2025, 1, 1) + dt.timedelta(days - 1)
        (place / "p.toml").write_text(POLICY.format(last=last))
        database = duckdb.connect()
        database.execute("SET threads = 1")
        database.execute(f"CREATE TABLE visits AS SELECT * FROM '{place / 'visits.parquet'}'")
        with tacit.open(place / "p.toml") as curator:
            sql = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"
            watch = curator.watch(sql, 1, delta=1e-6, every="1 day")
            began = time.perf_counter()
            watch.catch_up("2030-01-01")
            ours = time.perf_counter() - began
            watch.close()
        began = time.perf_counter()
        for day in range(days):
            start = dt.date(2025, 1, 1) + dt.timedelta(day)
            database.execute(
                f"SELECT ward, count(*) FROM visits WHERE day >= DATE '{start}' AND day < DATE "
                f"'{start + dt.timedelta(1)}' GROUP BY ward"
            ).fetchall()
        return time.perf_counter() - began, ours


def main() -> str:
    ours, root, binary = fitted(STEPS), square_root(STEPS), tree(STEPS)
    many, single = speeds()
    plain, watch = watched()
    bound = (math.log(STEPS) / math.pi + 0.5) ** 2  # what no factorisation goes below by much (Matousek et al. 2020)
    return "\n".join(
        [
            "## Running totals",
            "",
            f"Mean squared error over 2^20 steps, in squared sensitivities: ours (6 poles) {ours:.3f}; square root "
            f"{root:.3f}; refined binary tree with the same noise {binary:.1f}; (log(n)/pi + 1/2)^2 = {bound:.2f}.",
            "",
            *jax_privacy(),
            "",
            f"Steps: {many / 1e6:.2f}M a second of CPU at once (bar 1M), {single:.1f} microseconds for one (bar 20).",
            "",
            f"A watch of {ROWS:,} rows in {DAYS} daily periods: {watch:.1f} s, plain DuckDB {plain:.1f} s "
            f"by the clock ({watch / plain:.2f}x; bar 1.3).",
        ]
    )


if __name__ == "__main__":
    print(main())
