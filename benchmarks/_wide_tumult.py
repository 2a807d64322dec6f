"""Tumult's part of the benchmark of wider questions: users and rows by category, at most three categories a user.

    .venv-tumult/bin/python benchmarks/_wide_tumult.py FOLDER

As in `_sql_tumult`, Spark is started and warm before the clock starts.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tmlt.analytics import (
    AddRowsWithID,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    MaxRowsPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)

from _cost import measured
from _peers import tell
from _sql_data import CATEGORIES, KEPT_PER_USER
from _sql_tumult import started

GROUPS = 3


def main(folder: Path) -> None:
    spark = started(folder)
    frame = spark.read.parquet(str(folder / "purchases.parquet")).cache()
    rows = frame.count()
    session = Session.from_dataframe(
        privacy_budget=PureDPBudget(float("inf")),
        source_id="purchases",
        dataframe=frame,
        protected_change=AddRowsWithID("user_id"),
    )
    warm = QueryBuilder("purchases").enforce(MaxRowsPerID(KEPT_PER_USER)).count()
    session.evaluate(warm, privacy_budget=PureDPBudget(1)).collect()
    tell(rows=rows)
    keys = KeySet.from_dict({"category": list(CATEGORIES)})
    bounded = QueryBuilder("purchases").enforce(MaxGroupsPerID("category", GROUPS))
    bounded = bounded.enforce(MaxRowsPerGroupPerID("category", KEPT_PER_USER)).groupby(keys)
    with measured() as cost:
        for asked in (bounded.count_distinct(columns=["user_id"]), bounded.count()):
            session.evaluate(asked, privacy_budget=PureDPBudget(1)).collect()
    spark.stop()
    tell(done=True, cpu=cost.cpu, wall=cost.wall)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
