"""Two private tables for the benchmark of wider questions, and the questions with the plain queries they stand for.

Purchases as in `_sql_data`, and users (one row each: country and year of birth). Every question is written for tacit
and for the plain engine; they differ only where the dialect of the engine does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from _sql_data import CATEGORIES, KEPT_PER_USER, MOST, REGIONS, ROWS_PER_USER, write

COUNTRIES = 20
QUANTILES = tuple(f"0.{tenth}" for tenth in range(1, 10))
_NINE = ", ".join(f"quantile_disc(amount, {q}) AS q{place}" for place, q in enumerate(QUANTILES))


@dataclass(frozen=True, slots=True)
class Shape:
    """A question, the most its CPU may be of the plain query's, and options of the asker."""

    sql: str
    bar: float
    groups_per_unit: int | None = None


SHAPES = {
    "per user, then the mean": Shape(
        "SELECT avg(total) AS mean, avg(times) AS times FROM "
        "(SELECT user_id, sum(amount) AS total, count(*) AS times FROM purchases GROUP BY user_id) AS t",
        3.0,
    ),
    "private x private join": Shape(
        "SELECT u.country, count(*) AS n, avg(p.amount) AS mean FROM purchases p "
        "JOIN users u ON u.user_id = p.user_id GROUP BY u.country",
        3.0,
    ),
    "semi-join": Shape(
        "SELECT category, count(*) AS n FROM purchases p "
        "WHERE p.user_id IN (SELECT user_id FROM users WHERE born < 1970) GROUP BY category",
        3.0,
    ),
    "rollup": Shape(
        "SELECT category, region, count(*) AS n, sum(amount) AS total FROM purchases "
        "GROUP BY ROLLUP (category, region)",
        2.0,
    ),
    "median by group": Shape("SELECT category, quantile_disc(amount, 0.5) AS q FROM purchases GROUP BY category", 3.0),
    "nine quantiles by group": Shape(f"SELECT category, {_NINE} FROM purchases GROUP BY category", 3.0),
}
BOUNDED = Shape(
    "SELECT category, count(DISTINCT user_id) AS users, count(*) AS n FROM purchases GROUP BY category", 0.0, 3
)

USERS = """
[tables.users]
source = "users.parquet"
unit = "user_id"
rows_per_unit = 1

[tables.users.columns]
country = {{ type = "integer", one_of = {countries}, nullable = false }}
born = {{ type = "integer", between = [1930, 2010], nullable = false }}
"""


def write_both(folder: Path, rows: int) -> None:
    """Both tables as Parquet files, and the policy."""
    import duckdb
    import numpy as np

    write(folder, rows)
    generator = np.random.default_rng(30_000_000 + rows)
    users = rows // ROWS_PER_USER
    drawn = {
        "user_id": np.arange(users),
        "country": generator.integers(0, COUNTRIES, users, dtype=np.int32),
        "born": generator.integers(1930, 2011, users, dtype=np.int32),
    }
    with duckdb.connect() as connection:
        connection.register("drawn", drawn)
        connection.execute(f"COPY (SELECT * FROM drawn) TO '{folder / 'users.parquet'}' (FORMAT parquet)")
    policy = folder / "policy.toml"
    policy.write_text(policy.read_text() + USERS.format(countries=list(range(COUNTRIES))))


__all__ = ["BOUNDED", "CATEGORIES", "KEPT_PER_USER", "MOST", "REGIONS", "SHAPES", "write_both"]
