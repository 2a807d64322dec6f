"""Quantiles: what they cost beside the engine's own exact ones, and how far their ranks are off beside peers.

Cost: 10 million rows in 100 groups, the median and nine deciles of a column of a thousand million points, as
`quantile_disc` of DuckDB computes them and as a private answer is made (query, transport, choices), CPU seconds.
Error: a million rows, epsilon 1, one row of each unit; the largest error in rank over nine deciles, in rows, and of a
median. OpenDP scores candidates by rank, and candidates must be listed: it gets 1,000 equally spaced ones.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

import tacit
from _cost import measured
from tacit.mechanisms import Quantiles
from tacit.policy import Policy, RowUnit, Source, Table
from tacit.policy.columns import between

ROWS, GROUPS, POINTS = 10_000_000, 100, 10**9
RUNS = 3
DECILES = [Fraction(place, 10) for place in range(1, 10)]
_COLUMNS = {
    "smooth": "(hash(i * 7 + 1) % 1000000000)::BIGINT",
    "heavy": (
        "least(exp(10.3 + sqrt(-2 * ln((hash(i * 3 + 5) % 1000000 + 1) / 1000001.0))"
        " * cos(6.2831853 * (hash(i * 5 + 3) % 1000000) / 1000000.0)) * 100, 999999999)::BIGINT"
    ),
    "lumpy": "((hash(i * 11 + 2) % 50) * 20000000)::BIGINT",
}


def main() -> str:
    """The section."""
    return "\n\n".join(["## Quantiles", *_costs(), *_errors()])


def _costs() -> list[str]:
    lines = ["| data | asked | DuckDB exact | tacit | ratio |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        columns = ", ".join(f"{sql} AS {name}" for name, sql in _COLUMNS.items())
        with duckdb.connect() as connection:
            connection.execute(
                f"COPY (SELECT (hash(i) % {GROUPS})::BIGINT AS k, {columns} FROM range({ROWS}) s(i)) TO '{path}'"
            )
        policy = Policy(
            name="rows",
            tables={
                "rows": Table(
                    "rows",
                    Source("parquet", str(path)),
                    RowUnit(),
                    1,
                    {
                        "k": between(0, GROUPS - 1).column("k", "integer"),
                        **{name: between(0, POINTS - 1).column(name, "integer") for name in _COLUMNS},
                    },
                )
            },
            budget=tacit.Budget(epsilon=1000),
            largest_epsilon=Fraction(1),
        )
        with tacit.Curator(policy) as curator, duckdb.connect(config={"threads": 2}) as plain:
            plain.execute(f"CREATE TABLE t AS SELECT * FROM '{path}'")
            for name in _COLUMNS:
                for asked, shares in (("median", [Fraction(1, 2)]), ("nine deciles", DECILES)):
                    exact = _least(lambda name=name, shares=shares: _plain(plain, name, shares))
                    ours = _least(lambda name=name, shares=shares: _ours(curator, name, shares))
                    lines.append(f"| {name} | {asked} | {exact:.2f} s | {ours:.2f} s | {ours / exact:.1f} |")
    return [f"CPU seconds, {ROWS:,} rows in {GROUPS} groups, epsilon 1.", "\n".join(lines)]


def _plain(connection: duckdb.DuckDBPyConnection, name: str, shares: list[Fraction]) -> None:
    listed = ", ".join(str(float(share)) for share in shares)
    connection.execute(f"SELECT k, quantile_disc({name}, [{listed}]) FROM t GROUP BY k").fetchall()


_TIMES = itertools.count(1)


def _ours(curator: tacit.Curator, name: str, shares: list[Fraction]) -> None:
    listed = ", ".join(f"quantile({name}, {float(share)})" for share in shares)
    # another epsilon each time, so that no stored answer is repeated
    curator.ask(f"SELECT k, {listed} FROM rows GROUP BY k", Fraction(10**6 - next(_TIMES), 10**6))


def _least(work: Callable[[], None], times: int = 3) -> float:
    found = []
    for _ in range(times):
        with measured() as cost:
            work()
        found.append(cost.cpu)
    return min(found)


def _errors() -> list[str]:
    generator = np.random.default_rng(1)
    size = 10**6
    data = {
        "smooth": generator.integers(0, 10**6, size),
        "heavy": np.minimum(np.exp(generator.normal(8, 1.5, size)), 10**6 - 1).astype(np.int64),
        "lumpy": generator.integers(0, 50, size) * 20_000,
    }
    lines = [
        "| data | tacit, median | OpenDP, median | tacit, nine deciles | OpenDP, nine deciles |",
        "|---|---|---|---|---|",
    ]
    for name, rows in data.items():
        rows = np.sort(rows)
        figures = []
        for shares in ([Fraction(1, 2)], DECILES):
            figures.append(max(_off(rows, _tacit(rows, shares), shares) for _ in range(RUNS)))
            figures.append(max(_off(rows, _opendp(rows, shares), shares) for _ in range(RUNS)))
        lines.append(f"| {name} | " + " | ".join(f"{figure:,.0f}" for figure in figures) + " |")
    note = "The largest error in rank, in rows of 1,000,000, over three runs at epsilon 1 (0.1 % is 1,000 rows)."
    return [note, "\n".join(lines)]


def _off(rows: NDArray[np.int64], values: list[float], shares: list[Fraction]) -> float:
    errors = []
    for value, share in zip(values, shares, strict=True):
        wanted = float(share) * rows.size
        low, high = np.searchsorted(rows, value, "left"), np.searchsorted(rows, value, "right")
        errors.append(max(float(low) - wanted, wanted - float(high), 0.0))
    return max(errors)


def _tacit(rows: NDArray[np.int64], shares: list[Fraction]) -> list[float]:
    values, counts = np.unique(rows, return_counts=True)
    below = np.cumsum(counts) - counts
    mechanism = Quantiles(10**6, shares, 1, 1)
    near = np.zeros(values.size, dtype=np.bool_)
    for share, reach in mechanism.windows():
        wanted = float(share) * rows.size
        near |= (below <= wanted + reach) & (below + counts >= wanted - reach)
    chosen = mechanism.choose(values[near], below[near], counts[near], rows.size)
    return [float(value) for value in chosen]


def _opendp(rows: NDArray[np.int64], shares: list[Fraction]) -> list[float]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    candidates = [float(place) for place in np.linspace(0, 10**6, 1_001)]
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    found, private = [], rows.astype(np.float64).tolist()
    for share in shares:

        def build(scale: float, share: Fraction = share) -> dp.Measurement:
            return dp.m.make_private_quantile(
                domain, dp.symmetric_distance(), dp.max_divergence(), candidates, float(share), scale
            )

        scale = dp.binary_search_param(build, d_in=1, d_out=1 / len(shares))
        found.append(float(build(scale)(private)))
    return found
