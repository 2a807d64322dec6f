"""Tumult Analytics' part of the SQL benchmark, on Spark in this machine's own cores; it has its own environment.

    .venv-tumult/bin/python benchmarks/_sql_tumult.py FOLDER RUNS

Spark is started, the rows are cached in its memory and one question is asked before the clock starts. Tumult releases
one aggregate a question, so each shape is a count and a sum at half the budget each; the mean is their quotient.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from tmlt.analytics import AddRowsWithID, KeySet, MaxRowsPerID, PureDPBudget, QueryBuilder, Session

from _cost import measured
from _peers import tell
from _sql_data import CATEGORIES, EPSILON, KEPT_PER_USER, MOST, REGIONS, SHAPES

KEYS: dict[str, dict[str, list[Any]]] = {
    "total": {},
    "one key": {"category": list(CATEGORIES)},
    "WHERE, one key": {"category": list(CATEGORIES)},
    "two keys": {"category": list(CATEGORIES), "region": list(REGIONS)},
}


def started(folder: Path) -> SparkSession:
    """Spark on every core, without its web page, with as few shuffle partitions as serve so small a table."""
    os.environ["PYSPARK_PYTHON"] = sys.executable  # Spark's Python workers need this environment too
    cores = os.cpu_count() or 1
    settings = {
        "spark.driver.memory": "8g",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "spark"),
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(f"local[{cores}]").appName("benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def release(session: Session, shape: str, limit: int) -> None:
    """A count and a sum of this shape."""
    query: Any = QueryBuilder("purchases")
    if "WHERE" in shape:
        query = query.filter(f"amount < {limit} AND region <> 'lakes'")
    query = query.enforce(MaxRowsPerID(KEPT_PER_USER))
    if KEYS[shape]:
        query = query.groupby(KeySet.from_dict(KEYS[shape]))
    for asked in (query.count(), query.sum("amount", low=0.0, high=MOST)):
        session.evaluate(asked, privacy_budget=PureDPBudget(EPSILON / 2)).collect()


def main(folder: Path, runs: int) -> None:
    with measured() as cost:
        spark = started(folder)
        frame = spark.read.parquet(str(folder / "purchases.parquet")).repartition(2 * (os.cpu_count() or 1)).cache()
        rows = frame.count()
        session = Session.from_dataframe(
            privacy_budget=PureDPBudget(float("inf")),
            source_id="purchases",
            dataframe=frame,
            protected_change=AddRowsWithID("user_id"),
        )
        warm = QueryBuilder("purchases").enforce(MaxRowsPerID(KEPT_PER_USER)).count()
        session.evaluate(warm, privacy_budget=PureDPBudget(EPSILON)).collect()
    tell(setup=cost.wall, rows=rows)
    for shape in SHAPES:
        for run in range(runs):
            with measured() as cost:
                release(session, shape, 100 + run)
            tell(shape=shape, cpu=cost.cpu, wall=cost.wall)
    spark.stop()
    tell(done=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
