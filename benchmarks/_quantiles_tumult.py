"""Tumult's part of the benchmark of quantiles: how far its ranks are off, on Spark in its own environment.

    .venv-tumult/bin/python benchmarks/_quantiles_tumult.py FOLDER MOST

FOLDER holds values.parquet, a column for each kind of data, all from 0 to MOST. One row of each unit, epsilon 1 for a
median; nine deciles would take it an hour.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tmlt.analytics import AddOneRow, PureDPBudget, QueryBuilder, Session

from _peers import tell
from _sql_tumult import started


def main(folder: Path, most: int) -> None:
    spark = started(folder)
    frame = spark.read.parquet(str(folder / "values.parquet")).cache()
    frame.count()
    session = Session.from_dataframe(
        privacy_budget=PureDPBudget(float("inf")), source_id="rows", dataframe=frame, protected_change=AddOneRow()
    )
    for column in frame.columns:
        query = QueryBuilder("rows").quantile(column, quantile=0.5, low=0, high=most, name="q")
        found = session.evaluate(query, privacy_budget=PureDPBudget(1)).collect()[0]["q"]
        tell(column=column, median=float(found))
    spark.stop()
    tell(done=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
