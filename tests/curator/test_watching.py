"""A watch: right counts, one charge, what left stays, and nothing less than it promises to hide."""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

import tacit
from tacit.errors import EngineError, LedgerError, ParameterError, QuestionError, Stopped
from tacit.mechanisms.continual import RunningTotals, one_user

SQL = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"
POLICY = """
name = "clinic"
ledger = "clinic.ledger"
working_copy = "clinic.copy"
[budget]
epsilon = 5000
delta = 1e-5
[questions]
largest_epsilon = 2000
[tables.visits]
source = "visits.parquet"
unit = {unit}
rows_per_unit = {rows}
[tables.visits.columns]
day = {{ type = "date", between = ["2025-01-01", "2025-01-10"] }}
ward = {{ type = "text", one_of = ["A", "B"], nullable = false }}
person = {{ type = "integer" }}
"""


def write(folder: Path, days: int, *, extra: str = "") -> None:
    """20 visits to A and 10 to B on each of the first days."""
    rows = (
        f"SELECT range AS person, DATE '2025-01-01' + CAST(range // 30 AS INTEGER) AS day, "
        f"CASE WHEN range % 3 = 0 THEN 'B' ELSE 'A' END AS ward FROM range({30 * days})"
    )
    duckdb.sql(f"COPY ({rows} {extra}) TO '{folder / 'visits.parquet'}' (FORMAT parquet)")


@pytest.fixture
def clinic(tmp_path: Path) -> Any:
    write(tmp_path, 10)
    (tmp_path / "p.toml").write_text(POLICY.format(unit='"row"', rows=1))
    curator = tacit.open(tmp_path / "p.toml")
    yield curator
    curator.close()


def test_periods_are_counted_once_and_totals_agree(clinic: Any) -> None:
    watch = clinic.watch(SQL, 2000, delta=1e-6, every="1 day")
    assert watch.periods == 10
    assert watch.catch_up("2025-01-01 23:59") == []
    periods = watch.catch_up("2025-01-04")
    assert [each.number for each in periods] == [1, 2, 3]
    assert periods[-1].keys == (("A",), ("B",))
    assert periods[-1].start == dt.datetime(2025, 1, 3)
    for each in periods:
        for (total,), truth in zip(each.totals, (20 * each.number, 10 * each.number), strict=True):
            assert total == pytest.approx(truth, abs=1)
        assert [round(new) for (new,) in each.new] == [20, 10]
    watch.close()
    again = clinic.watch(SQL, 2000, delta=1e-6, every="1 day")
    assert again.catch_up("2025-01-04") == periods
    assert len([each for each in clinic.ledger() if "watch" in str(each.details)]) == 1
    assert again.catch_up("2025-02-01")[:3] == periods
    assert again.counted == 10
    again.close()


def test_rows_that_come_late_are_not_counted_and_new_ones_are(clinic: Any, tmp_path: Path) -> None:
    watch = clinic.watch(SQL, 2000, delta=1e-6, every="1 day")
    first = watch.catch_up("2025-01-06")
    write(tmp_path, 10, extra="UNION ALL SELECT range, DATE '2025-01-02', 'A' FROM range(500)")
    with pytest.raises(EngineError):
        watch.catch_up("2025-01-07")  # the copy is older than the table: nothing is lost, refresh and go on
    clinic.refresh()
    later = watch.catch_up("2025-01-08")
    assert later[:5] == first
    assert later[-1].totals[0][0] == pytest.approx(20 * 7, abs=1)
    watch.close()


def test_the_price_is_that_of_one_row_or_of_a_unit_in_every_period(clinic: Any, tmp_path: Path) -> None:
    rows = clinic.watch(SQL, 1, delta=1e-6, every="1 day")
    assert rows.totals.event == RunningTotals(10, epsilon=1, delta=1e-6, width=2).event
    rows.close()
    (tmp_path / "q.toml").write_text(POLICY.format(unit='"person"', rows=3).replace("clinic.", "other."))
    with tacit.open(tmp_path / "q.toml") as people:
        units = people.watch(SQL, 1, delta=1e-6, every="5 days")
        assert units.periods == 2
        assert units.totals.protects == one_user(2)
        assert units.totals.change.l1 == 3
        assert units.totals.change.l2 >= Fraction(3)
        units.close()


def test_a_watch_whose_journal_is_gone_is_not_drawn_again(clinic: Any, tmp_path: Path) -> None:
    watch = clinic.watch(SQL, 1, delta=1e-6, every="1 day")
    watch.catch_up("2025-01-03")
    watch.close()
    (kept,) = (each for each in tmp_path.glob("clinic.ledger.watch-*") if not each.name.endswith(".lock"))
    kept.unlink()
    with pytest.raises(LedgerError, match="nobody can tell what was drawn"):
        clinic.watch(SQL, 1, delta=1e-6, every="1 day")
    with pytest.raises(LedgerError, match="nobody can tell what was drawn"):  # the empty one was not left behind
        clinic.watch(SQL, 1, delta=1e-6, every="1 day")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ward, avg(person) FROM visits GROUP BY ward",
        "SELECT person, count(*) FROM visits GROUP BY person",
        "SELECT count(*) AS n FROM visits HAVING count(*) > 3",
        "SELECT median(day) FROM visits",
    ],
)
def test_other_questions_are_refused(clinic: Any, sql: str) -> None:
    with pytest.raises((QuestionError, ParameterError)):
        clinic.watch(sql, 1, delta=1e-6, every="1 day")
    assert not [each for each in clinic.ledger() if "watch" in str(each.details)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"every": "sometimes"}, "every"),
        ({"every": "0 days"}, "every"),
        ({"every": "6 hours"}, "whole days"),
        ({"every": "1 day", "time": "ward"}, "dates or timestamps"),
        ({"every": "1 day", "until": "2024-01-01"}, "after"),
        ({"every": "1 day", "since": "soon"}, "since"),
    ],
)
def test_wrong_periods_are_refused(clinic: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        clinic.watch(SQL, 1, delta=1e-6, **options)


@pytest.mark.parametrize("broken", ["the engine", "the journal"])
def test_a_watch_that_failed_is_never_gone_on_with(clinic: Any, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by the same watch, nor by one that is opened again; and its analyst is stopped."""
    watch = clinic.watch(SQL, 2000, delta=1e-6, every="1 day")
    kept = watch.catch_up("2025-01-03")

    def breaks(*given: Any) -> Any:
        raise MemoryError("row 42")

    spoiled = (clinic._till.engine, "run") if broken == "the engine" else (watch._journal, "_keep")
    with monkeypatch.context() as spoil:
        spoil.setattr(*spoiled, breaks)
        with pytest.raises(EngineError, match="could not answer"):
            watch.catch_up("2025-01-04")
    assert [each.kind for each in clinic.ledger()][1:] == ["charged", "failed"]
    for _ in range(2):
        with pytest.raises(EngineError, match="could not answer"):
            watch.catch_up("2025-01-04")
    watch.close()
    with pytest.raises(EngineError, match="could not answer"):
        clinic.watch(SQL, 2000, delta=1e-6, every="1 day")
    with pytest.raises(Stopped):
        clinic.ask("SELECT count(*) FROM visits", 1)
    assert [each.kind for each in clinic.ledger()][1:] == ["charged", "failed"]
    assert kept[-1].number == 2


def test_a_watch_that_was_killed_while_it_counted_failed(tmp_path: Path) -> None:
    """The system kills for want of memory, and rows decide how much is wanted: it is not counted again."""
    write(tmp_path, 10)
    (tmp_path / "p.toml").write_text(POLICY.format(unit='"row"', rows=1))
    program = (
        "import os, sys, tacit\n"
        "clinic = tacit.open(sys.argv[1])\n"
        f"watch = clinic.watch({SQL!r}, 2000, delta=1e-6, every='1 day')\n"
        "watch.catch_up('2025-01-03')\n"
        "clinic._till.engine.run = lambda query: os.kill(os.getpid(), 9)\n"
        "watch.catch_up('2025-01-04')\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path / "p.toml")], check=False)
    assert ended.returncode == -9
    with tacit.open(tmp_path / "p.toml") as clinic:
        for _ in range(2):
            with pytest.raises(EngineError, match="could not answer"):
                clinic.watch(SQL, 2000, delta=1e-6, every="1 day")
        assert [each.kind for each in clinic.ledger()][1:] == ["charged", "failed"]
        with pytest.raises(Stopped):
            clinic.ask("SELECT count(*) FROM visits", 1)


def test_with_a_ledger_in_a_database_another_host_is_refused(
    tmp_path: Path, postgres: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its journal is on the host that paid: what was drawn there cannot be told here."""
    monkeypatch.setenv("WATCHED", postgres.database("watched"))
    write(tmp_path, 10)
    text = POLICY.format(unit='"row"', rows=1).replace('"clinic.ledger"', '"postgres:$WATCHED"')
    (tmp_path / "p.toml").write_text(text)
    for host in ("one", "other"):
        (tmp_path / host).mkdir()
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "one"))
    with tacit.open(tmp_path / "p.toml") as clinic:
        watch = clinic.watch(SQL, 2000, delta=1e-6, every="1 day")
        periods = watch.catch_up("2025-01-04")
        watch.close()
        again = clinic.watch(SQL, 2000, delta=1e-6, every="1 day")
        assert again.catch_up("2025-01-04") == periods
        again.close()
    (head,) = (tmp_path / "one").glob("*.head")  # a further host begins with a copy of another host's head
    shutil.copy(head, tmp_path / "other")
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "other"))
    with tacit.open(tmp_path / "p.toml") as clinic, pytest.raises(LedgerError, match="journal"):
        clinic.watch(SQL, 2000, delta=1e-6, every="1 day")
