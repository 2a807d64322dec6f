"""Spark reads and does the same with and without one person: plans, jobs, tasks and rows, counted on neighbours.

As `test_read_alike` for the other engines: the bomber alone satisfies the conditions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tacit.curator import Curator
from tacit.engines.spark.engine import Session
from tacit.engines.spark.settings import MEANING, WORK
from tests.curator import bomb_tables, bombs
from tests.curator.pairs import Pair
from tests.engines.spark_tables import command
from tests.engines.test_read_alike import JOINS, PICKS, own_rows

pytestmark = pytest.mark.spark
ROWS = 6_000
# what a whole scan, a filter of one, a list and a union of many do
OTHERS = [
    "SELECT count(*) FROM visits WHERE age = 101",
    "SELECT sum(cost) FROM visits WHERE age > 100 AND note LIKE 'a%a_b'",
    "SELECT ward, count(*), avg(cost) FROM visits WHERE age = 101 GROUP BY ROLLUP (ward)",
    "SELECT count(DISTINCT note) FROM visits WHERE age = 101",
    f"SELECT count(*) FROM ({bombs.copies(3)}) AS t",
    "SELECT min(cost), max(cost) FROM visits WHERE age = 101",
]


@pytest.fixture(scope="module")
def pair(spark: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder: Path = tmp_path_factory.mktemp("alike")
    with bomb_tables.on_spark(spark, folder, ROWS) as found:
        yield found


def done_by_spark(curator: Curator, sql: str) -> list[dict[str, Any]]:
    """What Spark says it did, for every query of a plan."""
    engine: Any = curator._engine
    return [
        engine._session.worker.ask({**engine._request(query), "task": "profile"})
        for query in curator.planned(sql, 1).queries  # type: ignore[union-attr]
    ]


@pytest.mark.parametrize("sql", [*JOINS, *PICKS, *OTHERS])
def test_spark_does_the_same_with_and_without_the_bomber(pair: Pair, sql: str) -> None:
    names = list(bomb_tables.COLUMNS)
    for one, other in zip(*(done_by_spark(curator, sql) for curator in pair), strict=True):
        assert [one[part] for part in ("jobs", "stages", "tasks")] == [
            other[part] for part in ("jobs", "stages", "tasks")
        ]
        assert [name for name, _ in one["operators"]] == [name for name, _ in other["operators"]]
        scanned = 0
        for (name, rows), (_, without) in zip(one["operators"], other["operators"], strict=True):
            if name.startswith("Scan ") and name.endswith(".parquet"):
                table = names[int(name.removeprefix("Scan ").removesuffix(".parquet"))]
                assert without >= 12  # all of it: the smallest table has as many rows
                assert rows - without == own_rows(table), (name, rows, without)
                scanned += 1
        assert scanned > 0


def test_what_a_session_was_set_to_is_what_it_must_be(spark: Session) -> None:
    for key, value in {**MEANING, **WORK}.items():
        ((_, found),) = command(spark, f"SET {key}")
        assert found.lower() == value.lower(), key


def test_a_spark_that_was_told_otherwise_is_set_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The defaults of a machine or a cluster do not decide what one person's rows can cause."""
    pytest.importorskip("pyspark")
    opposite = {"true": "false", "false": "true", "10485760": "-1", "1000000.0": "1.0"}
    lines = [f"{key} {opposite[value]}" for key, value in WORK.items()]
    (tmp_path / "spark-defaults.conf").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    session = Session("local[1]", module="tests.engines.spark_tables")
    try:
        for key, value in WORK.items():
            ((_, found),) = command(session, f"SET {key}")
            assert found.lower() == value.lower(), key
    finally:
        session.close()
