"""What quantiles cost: CPU seconds beside the engine's own exact ones, over the same rows.

10 million rows in 100 groups, the median and nine deciles of columns of a thousand million points: evenly spread, heavy
tailed, and fifty values. A unit has one row, or 20. DuckDB's exact quantiles are asked for in one list, which it sorts
for once, and as columns of their own, as SQL is mostly written. A private answer is a whole one: planned, charged,
queried, chosen, stored.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb

import tacit
from _cost import measured
from tacit.engines.process import Limits
from tacit.policy import ColumnUnit, Policy, RowUnit, Source, Table
from tacit.policy.columns import between

ROWS, GROUPS, POINTS, ROWS_OF_A_UNIT, RUNS = 10_000_000, 100, 10**9, 20, 3
DECILES = [Fraction(place, 10) for place in range(1, 10)]
COLUMNS = {
    "smooth": f"(hash(i * 7 + 1) % {POINTS})::BIGINT",
    "heavy": (
        "least(exp(10.3 + sqrt(-2 * ln((hash(i * 3 + 5) % 1000000 + 1) / 1000001.0))"
        f" * cos(6.2831853 * (hash(i * 5 + 3) % 1000000) / 1000000.0)) * 100, {POINTS - 1})::BIGINT"
    ),
    "lumpy": "((hash(i * 11 + 2) % 50) * 20000000)::BIGINT",
}
_TIMES = itertools.count(1)


def costs(folder: Path) -> list[str]:
    """The table of costs."""
    lines = ["| rows of a unit | data | asked | DuckDB, list | DuckDB, columns | tacit | ratio to list | to columns |"]
    lines.append("|" + "---|" * 8)
    path = folder / "rows.parquet"
    columns = ", ".join(f"{sql} AS {name}" for name, sql in COLUMNS.items())
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT (hash(i) % {GROUPS})::BIGINT AS k, i // {ROWS_OF_A_UNIT} AS unit, {columns} "
            f"FROM range({ROWS}) s(i)) TO '{path}'"
        )
    plain_file, config = str(folder / "plain.duckdb"), {"threads": Limits().threads}
    with duckdb.connect(plain_file, config=config) as plain:
        plain.execute(f"CREATE TABLE t AS SELECT * FROM '{path}'")
    with duckdb.connect(plain_file, read_only=True, config=config) as plain:
        for rows in (ROWS_OF_A_UNIT, 1):
            with tacit.Curator(_policy(path, rows)) as curator:
                for name in COLUMNS:
                    for asked, shares in (("median", [Fraction(1, 2)]), ("nine deciles", DECILES)):
                        found = _compared(plain, curator, name, shares)
                        print(f"  {rows} {name} {asked}: {found}", flush=True)
                        in_list, in_columns, ours = found
                        lines.append(
                            f"| {rows} | {name} | {asked} | {in_list:.2f} s | {in_columns:.2f} s | {ours:.2f} s | "
                            f"{ours / in_list:.1f} | {ours / in_columns:.1f} |"
                        )
    return [f"CPU seconds, {ROWS:,} rows in {GROUPS} groups, epsilon 1, least of {RUNS} runs.", "\n".join(lines)]


def _compared(
    plain: duckdb.DuckDBPyConnection, curator: tacit.Curator, name: str, shares: list[Fraction]
) -> tuple[float, float, float]:
    listed = ", ".join(str(float(share)) for share in shares)
    apart = ", ".join(f"quantile_cont({name}, {float(share)})" for share in shares)
    asked = ", ".join(f"quantile({name}, {float(share)})" for share in shares)

    def ours() -> None:
        # another epsilon each time, so that no stored answer is repeated
        curator.ask(f"SELECT k, {asked} FROM rows GROUP BY k", Fraction(10**6 - next(_TIMES), 10**6))

    return (
        _least(lambda: plain.execute(f"SELECT k, quantile_cont({name}, [{listed}]) FROM t GROUP BY k").fetchall()),
        _least(lambda: plain.execute(f"SELECT k, {apart} FROM t GROUP BY k").fetchall()),
        _least(ours),
    )


def _policy(path: Path, rows: int) -> Policy:
    columns = {
        "k": between(0, GROUPS - 1).column("k", "integer"),
        **{name: between(0, POINTS - 1).column(name, "integer") for name in COLUMNS},
    }
    unit = RowUnit() if rows == 1 else ColumnUnit("unit")
    return Policy(
        name="rows",
        tables={"rows": Table("rows", Source("parquet", str(path)), unit, rows, columns)},
        budget=tacit.Budget(epsilon=1000),
        largest_epsilon=Fraction(1),
    )


def _least(work: Callable[[], object]) -> float:
    found = []
    for _ in range(RUNS):
        with measured() as cost:
            work()
        found.append(cost.cpu)
    return min(found)
