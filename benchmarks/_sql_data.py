"""The table of the SQL benchmark, the owner's promise about it, and the four shapes of question.

Purchases: who bought (1,000,000 users, ten purchases each on average), the category (100), the region (10) and the
amount in cents, as a Parquet file. At most 20 purchases of one user count, which leaves out about three rows in ten
thousand, so every contender adds up nearly all rows. The rows are drawn from a fixed seed. The constants need no
package, because the peers read them from other environments.
"""

from __future__ import annotations

from pathlib import Path

ROWS = 10_000_000
ROWS_PER_USER = 10
KEPT_PER_USER = 20
CATEGORIES = tuple(range(100))
REGIONS = ("north", "south", "east", "west", "centre", "coast", "hills", "islands", "lakes", "plains")
MOST = 500.0
EPSILON = 1.0

SHAPES = {
    "total": "SELECT count(*) AS n, sum(amount) AS total, avg(amount) AS mean FROM purchases",
    "one key": "SELECT category, count(*) AS n, sum(amount) AS total, avg(amount) AS mean "
    "FROM purchases GROUP BY category",
    "WHERE, one key": "SELECT category, count(*) AS n, sum(amount) AS total, avg(amount) AS mean "
    "FROM purchases WHERE amount < {limit} AND region <> 'lakes' GROUP BY category",
    "two keys": "SELECT category, region, count(*) AS n, sum(amount) AS total, avg(amount) AS mean "
    "FROM purchases GROUP BY category, region",
}

POLICY = """\
name = "purchases"
working_copy = "purchases.copy"
ledger = "purchases.ledger"

[budget]
epsilon = 100000
delta = 1e-6

[questions]
default_epsilon = 1
largest_epsilon = 10

[tables.purchases]
source = "purchases.parquet"
unit = "user_id"
rows_per_unit = {kept}

[tables.purchases.columns]
category = {{ type = "integer", one_of = {categories}, nullable = false }}
region = {{ type = "text", one_of = {regions}, nullable = false }}
amount = {{ type = "real", between = [0.0, {most}], nullable = false }}
"""


def write(folder: Path, rows: int) -> Path:
    """The table of that many rows as a Parquet file in the folder, with the policy beside it."""
    import duckdb
    import numpy as np

    generator = np.random.default_rng(20_000_000 + rows)
    purchases = {
        "user_id": generator.integers(0, rows // ROWS_PER_USER, rows),
        "category": generator.integers(0, len(CATEGORIES), rows, dtype=np.int32),
        "place": generator.integers(0, len(REGIONS), rows, dtype=np.int8),
        "amount": np.minimum(np.round(generator.gamma(2.0, 30.0, rows), 2), MOST),
    }
    source = folder / "purchases.parquet"
    named = " ".join(f"WHEN {place} THEN '{region}'" for place, region in enumerate(REGIONS))
    with duckdb.connect() as connection:
        connection.register("drawn", purchases)
        connection.execute(
            f"COPY (SELECT user_id, category, CASE place {named} END AS region, amount FROM drawn) "
            f"TO '{source}' (FORMAT parquet)"
        )
    toml = {"categories": list(CATEGORIES), "regions": str(list(REGIONS)).replace("'", '"')}
    (folder / "policy.toml").write_text(POLICY.format(kept=KEPT_PER_USER, most=MOST, **toml))
    return source
