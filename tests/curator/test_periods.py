"""Periods that are counted together have the numbers of periods that are counted one by one, and of plain SQL."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import duckdb
import pytest

import tacit
from tacit.curator.periods import Periods
from tests.walks import counted

POLICY = """
name = "clinic"
ledger = "{name}.ledger"
working_copy = "{name}.copy"
[budget]
epsilon = 50
delta = 1e-5
[tables.visits]
source = "visits.parquet"
unit = "row"
[tables.visits.columns]
moment = {{ type = "{kind}", between = ["2025-01-01", "2025-01-20"] }}
ward = {{ type = "text", one_of = ["A", "B", "C"], nullable = false }}
cost = {{ type = "integer", between = [0, 9] }}
"""
QUESTIONS = {
    "SELECT ward, count(*) AS n FROM visits GROUP BY ward": "count(*)",
    "SELECT count(*) AS n FROM visits WHERE ward = 'A' OR cost > 4": "count(*) FILTER (WHERE ward = 'A' OR cost > 4)",
    "SELECT ward, n FROM (SELECT ward, count(*) AS n FROM visits WHERE cost < 7 GROUP BY ward) counted": (
        "count(*) FILTER (cost < 7)"
    ),
    "SELECT ward, sum(cost) AS s FROM visits WHERE cost > 3 GROUP BY 1": "coalesce(sum(cost) FILTER (cost > 3), 0)",
}


@pytest.mark.parametrize("table", ["visits", "(SELECT * FROM visits) AS inside"])
def test_the_text_of_a_watch_is_read_once_however_many_periods_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    made(tmp_path, "date")
    (tmp_path / "clinic.toml").write_text(POLICY.format(name="clinic", kind="date"))
    with tacit.open(tmp_path / "clinic.toml") as curator:
        counts = counted(monkeypatch)
        watch = curator.watch(f"SELECT count(*) AS n FROM {table} WHERE cost > 2", 1, every="3 days")
        assert len(watch.catch_up("2026-01-01")) == watch.periods > 5
        watch.close()
    assert counts["read"] == 1


def made(folder: Path, kind: str) -> None:
    time = "TIMESTAMP '2025-01-01' + INTERVAL (CAST(hash(range) % 28800 AS INTEGER)) MINUTE"
    rows = (
        f"SELECT CASE WHEN range % 11 = 0 THEN NULL ELSE CAST({time} AS {kind}) END AS moment, "
        "chr(65 + CAST(hash(range + 7) % 3 AS INTEGER)) AS ward, CAST(range % 10 AS INTEGER) AS cost FROM range(700)"
    )
    duckdb.sql(f"COPY ({rows}) TO '{folder / 'visits.parquet'}' (FORMAT parquet)")


def numbers(folder: Path, kind: str, name: str, sql: str, nows: list[str], **asked: Any) -> list[list[int]]:
    """The exact columns that a watch gives to its journal, caught up at these moments."""
    (folder / f"{name}.toml").write_text(POLICY.format(name=name, kind=kind))
    seen: list[list[int]] = []
    with tacit.open(folder / f"{name}.toml") as curator:
        watch = curator.watch(sql, 1, delta=1e-6, **asked)
        extend = watch._journal.extend
        watch._journal.extend = lambda first, rows: (seen.extend(map(list, rows)), extend(first, rows))[1]
        for now in nows:
            watch.catch_up(now)
        assert watch.counted == len(seen)
        scale = watch._plans.watched.scales[0]
        watch.close()
    return [[each // scale for each in row] for row in seen]


@pytest.mark.parametrize("sql", QUESTIONS)
@pytest.mark.parametrize(("kind", "every"), [("date", "3 days"), ("timestamp", "31 hours")])
def test_periods_counted_at_once_have_the_numbers_of_each_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sql: str, kind: str, every: str
) -> None:
    made(tmp_path, kind)
    asked = {"every": every, "since": "2025-01-02", "until": "2025-01-18"}
    together = numbers(tmp_path, kind, "together", sql, ["2026-01-01"], **asked)
    now_and_then = [f"2025-01-{day:02}" for day in range(3, 20, 4)] + ["2026-01-01"]
    assert numbers(tmp_path, kind, "now and then", sql, now_and_then, **asked) == together
    start, length = dt.datetime(2025, 1, 2), dt.timedelta(**{every.split()[1]: int(every.split()[0])})
    keyed = "GROUP BY" in sql
    for number, row in enumerate(together):
        ends = start + number * length, min(start + (number + 1) * length, dt.datetime(2025, 1, 18))
        within = f"moment >= TIMESTAMP '{ends[0]}' AND moment < TIMESTAMP '{ends[1]}'"
        wards = [f"AND ward = '{ward}'" for ward in "ABC"] if keyed else [""]
        plain = [
            duckdb.sql(f"SELECT {QUESTIONS[sql]} FROM '{tmp_path}/visits.parquet' WHERE {within} {own}").fetchall()[0][
                0
            ]
            for own in wards
        ]
        assert row[: len(plain)] == plain
    if kind == "date":
        monkeypatch.setattr(Periods, "_found", lambda self, plan: None)
        assert numbers(tmp_path, kind, "one by one", sql, ["2026-01-01"], **asked) == together


def test_a_period_is_over_at_its_end_and_when_it_was_waited_for(tmp_path: Path) -> None:
    made(tmp_path, "date")
    (tmp_path / "p.toml").write_text(POLICY.format(name="p", kind="date"))
    with tacit.open(tmp_path / "p.toml") as curator:
        watch = curator.watch(next(iter(QUESTIONS)), 1, delta=1e-6, every="3 days", until="2025-01-06", wait="1 day")
        assert watch.periods == 2
        for now, over in (("2025-01-04 23:59", 0), ("2025-01-05", 1), ("2025-01-06 23:59", 1), ("2025-01-07", 2)):
            assert len(watch.catch_up(now)) == over
        assert watch.catch_up()[-1].end == dt.datetime(2025, 1, 6)  # the last one ends with the watch
        watch.close()


def test_brackets_around_a_watched_question_change_nothing(tmp_path: Path) -> None:
    made(tmp_path, "date")
    sql = next(iter(QUESTIONS))
    asked = {"every": "5 days", "since": "2025-01-02", "until": "2025-01-18"}
    plain = numbers(tmp_path, "date", "plain", sql, ["2026-01-01"], **asked)
    assert numbers(tmp_path, "date", "in brackets", f"({sql})", ["2026-01-01"], **asked) == plain
