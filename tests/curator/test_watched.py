"""Watched sums and means: neighbours, right totals, intervals that hold, late rows, and journals of other charges."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from scipy.stats import norm
from typer.testing import CliRunner

import tacit
from tacit.curator.watched import Reach, _mean_reach, reach_of, watched
from tacit.doors.cli import app
from tacit.errors import LedgerError, QuestionError
from tacit.mechanisms.continual import RunningTotals

SQL = "SELECT ward, count(*) AS n, sum(cost) AS s, avg(cost) AS m, sum(stay) AS d FROM visits GROUP BY ward"
POLICY = """
name = "clinic"
ledger = "clinic.ledger"
working_copy = "clinic.copy"
[budget]
epsilon = 100000
delta = 1e-5
[questions]
largest_epsilon = 20000
[tables.visits]
source = "visits.parquet"
unit = "{unit}"
rows_per_unit = {rows}
[tables.visits.columns]
day = {{ type = "date", between = ["2025-01-01", "2025-01-04"] }}
ward = {{ type = "text", one_of = ["A", "B", "C"], nullable = false }}
cost = {{ type = "real", between = [10, 50] }}
stay = {{ type = "integer", between = [-3, 20] }}
person = {{ type = "integer" }}
"""


def write(folder: Path, rows: list[tuple[Any, ...]]) -> None:
    values = ", ".join(f"({p}, DATE '{d}', '{w}', {c}, {s})" for p, d, w, c, s in rows)
    table = f"SELECT * FROM (VALUES {values}) AS v(person, day, ward, cost, stay)"
    duckdb.sql(f"COPY ({table}) TO '{folder / 'visits.parquet'}' (FORMAT parquet)")


def some_rows(many: int = 240) -> list[tuple[Any, ...]]:
    return [
        (k // 3, f"2025-01-0{1 + k % 4}", "AB"[k // 4 % 2], "NULL" if k % 11 == 0 else 12.5 + k % 30, k % 25 - 2)
        for k in range(many)
    ]


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Any]:
    write(tmp_path, some_rows())
    (tmp_path / "p.toml").write_text(POLICY.format(unit="row", rows=1))
    with tacit.open(tmp_path / "p.toml") as curator:
        yield curator


def truth(rows: list[tuple[Any, ...]], ward: str, last: int) -> tuple[float, float, float, float]:
    own = [r for r in rows if r[2] == ward and int(r[1][-2:]) <= last]
    costs = [r[3] for r in own if r[3] != "NULL"]
    return len(own), sum(costs), sum(costs) / len(costs), sum(min(max(r[4], -3), 20) for r in own)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_counts_sums_and_means_are_those_of_the_rows(clinic: Any, delta: float) -> None:
    watch = clinic.watch(SQL, 20_000, delta=delta, every="1 day")
    periods = watch.catch_up("2026-01-01")
    assert [each.names for each in periods] == [("n", "s", "m", "d")] * 4
    for period in periods:
        for place, ward in enumerate("AB"):
            for found, off, true in zip(
                period.totals[place], period.within_95[place], truth(some_rows(), ward, period.number), strict=True
            ):
                assert found is not None
                assert off is not None
                assert found == pytest.approx(true, abs=8 * off)
                assert off < 0.5 + 0.01 * abs(true)
    assert periods[-1].totals[2][2] is None  # nobody can tell whether there are rows in ward C
    assert periods[0].new[0][0] == periods[0].totals[0][0]
    watch.close()


@pytest.mark.parametrize(("unit", "delta"), [("row", 0), ("row", 1e-6), ("person", 1e-6)])
def test_a_unit_moves_the_columns_by_no_more_than_is_paid_for(tmp_path: Path, unit: str, delta: float) -> None:
    """Exact columns of neighbours, a unit removed from a small table; the L1 bound is nearly reached by somebody."""
    rows = [
        *(
            (7, f"2025-01-0{1 + k % 4}", "ABC"[k % 3], [10, 50, "NULL", 33.3][k % 4], [-3, 20, 5][k % 3])
            for k in range(4)
        ),
        *((k, "2025-01-02", "A", 50, 20) for k in range(2)),
    ]
    named = sorted({r[0] for r in rows})
    asked: dict[str, Any] = {}

    def columns(kept: list[tuple[Any, ...]], name: str) -> list[list[int]]:
        folder = tmp_path / name
        folder.mkdir()
        write(folder, kept)
        (folder / "p.toml").write_text(POLICY.format(unit=unit, rows=1 if unit == "row" else 4))
        with tacit.open(folder / "p.toml") as curator:
            watch = curator.watch(SQL, 1, delta=delta, every="1 day")
            seen: list[list[int]] = []
            extend = watch._journal.extend
            watch._journal.extend = lambda first, rows: (seen.extend(map(list, rows)), extend(first, rows))[1]
            watch.catch_up("2026-01-01")
            asked.update(change=watch.totals.change, scales=watch._plans.watched.scales)
            watch.close()
        return seen

    whole = columns(rows, "whole")
    widest = 0.0
    gone = (0, 1, len(rows) - 1) if unit == "row" else (len(named) - 1,)
    for number in gone:
        kept = rows[:number] + rows[number + 1 :] if unit == "row" else [row for row in rows if row[0] != named[number]]
        part = columns(kept, f"without {number}")
        for one, two in zip(whole, part, strict=True):
            moved = [abs(a - b) for a, b in zip(one, two, strict=True)]
            assert sum(moved) <= asked["change"].l1
            assert sum(each**2 for each in moved) <= asked["change"].l2 ** 2
            assert sum(map(bool, moved)) <= asked["change"].cells
            widest = max(widest, sum(moved) / asked["change"].l1)
    if unit == "row":
        assert widest > 0.9


def test_what_is_paid_for_is_the_change_of_all_columns(clinic: Any) -> None:
    plan = clinic.plan("SELECT ward, count(*) AS n, sum(stay) AS d FROM visits GROUP BY ward", 1)
    found = watched(plan)
    parts = {tuple(m.together.places) if m.together else (p,): m for p, m in enumerate(plan.measures)}
    l1 = sum(found.scales[places[0]] * m.l1 for places, m in parts.items())
    squares = sum((found.scales[places[0]] * m.l2) ** 2 for places, m in parts.items())
    assert found.change.l1 == l1
    assert squares <= found.change.l2**2 <= squares * (1 + Fraction(1, 10**6))
    watch = clinic.watch("SELECT ward, count(*) AS n, sum(stay) AS d FROM visits GROUP BY ward", 1, every="1 day")
    totals = RunningTotals(4, epsilon=1, width=found.width, change=found.change, largest=None)
    assert watch.totals.event == totals.event
    watch.close()


@pytest.mark.statistical
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_totals_and_means_are_within_what_is_said(clinic: Any, delta: float) -> None:
    """400 runs of noise alone: of each output 380 or more are expected within; fewer than 345 once in 1e10.

    With Gaussian noise the mean of a ward is held with exactly 95 %: in all of 400 runs once in 1e8.
    """
    found = watched(clinic.plan(SQL, 1))
    totals = RunningTotals(4, epsilon=30, delta=delta, width=found.width, change=found.change, largest=None)
    rows = some_rows()
    seen: list[list[int]] = []
    watch = clinic.watch(SQL, 20_000, every="1 day")
    extend = watch._journal.extend
    watch._journal.extend = lambda first, rows: (seen.extend(map(list, rows)), extend(first, rows))[1]
    watch.catch_up("2026-01-01")
    watch.close()
    held, reach = np.zeros(4), reach_of(totals, 4)
    for _ in range(400):
        sent = totals.begin().extend(np.array(seen, dtype=object))[-1].tolist()
        values, off = found.told(sent, reach)
        for place, true in enumerate(truth(rows, "A", 4)):
            value, far = values[0][place], off[0][place]
            held[place] += value is None or far is None or abs(value - true) <= far
    assert held.min() >= 345
    assert delta == 0 or held[2] < 400


@pytest.mark.statistical
@pytest.mark.parametrize("m", [-0.9, 0.0, 0.8])
@pytest.mark.parametrize("weights", [((1.0, 0.0), (0.0, 1.0)), ((0.5, -0.5), (0.5, 0.5)), ((1.0, 0.2), (0.3, 1.5))])
def test_a_mean_under_gaussian_noise_is_held_exactly_as_often_as_said(m: float, weights: Any) -> None:
    """4,000 draws of normal noise: a share outside .93 to .97 once in 1e8. 40 rows, so that their noise matters."""
    total, count = map(np.array, weights)
    off, least = _mean_reach(total, count, Reach(lambda level: float(norm.ppf((1 + level) / 2)), True))
    exact = np.linalg.solve(np.array([total, count]), [40 * m, 40])
    draws = exact + np.random.default_rng(11).normal(size=(4_000, 2))
    held = []
    for moved, many in zip(draws @ total, draws @ count, strict=True):
        assert many > least
        found = moved / many
        held.append(abs(found - m) <= off(moved, many, found))
    # the interval told is as far as the farther end on both sides, which holds a little more
    assert 0.93 < np.mean(held) < 0.97


def test_a_period_is_told_once_and_is_the_same_ever_after(clinic: Any) -> None:
    watch = clinic.watch(SQL, 20_000, delta=1e-6, every="1 day")
    days = [watch.catch_up(f"2025-01-0{day}") for day in range(2, 6)]
    assert [len(each) for each in days] == [1, 2, 3, 4]
    assert all(each is first for day in days for each, first in zip(day, days[-1], strict=False))
    watch.close()
    again = clinic.watch(SQL, 20_000, delta=1e-6, every="1 day")
    assert again.catch_up("2025-01-05") == days[-1]
    again.close()


def test_periods_wait_for_late_rows(clinic: Any) -> None:
    watch = clinic.watch("SELECT count(*) AS n FROM visits", 20_000, delta=1e-6, every="1 day", wait="2 days")
    assert watch.catch_up("2025-01-03 23:00") == []
    assert len(watch.catch_up("2025-01-04")) == 1
    watch.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ward, variance(cost) FROM visits GROUP BY ward",
        "SELECT ward, sum(cost) / count(*) + 1 FROM visits GROUP BY ward",
        "SELECT ward, count(*) AS n FROM visits GROUP BY ward LIMIT 1",
        "SELECT count(DISTINCT person) FROM visits",
    ],
)
def test_what_is_neither_count_sum_nor_mean_is_refused_before_the_charge(clinic: Any, sql: str) -> None:
    with pytest.raises(QuestionError):
        clinic.watch(sql, 1, delta=1e-6, every="1 day")
    assert not [each for each in clinic.ledger() if "watch" in str(each.details)]


def test_a_journal_that_lay_there_before_the_charge_is_not_gone_on_with(clinic: Any, tmp_path: Path) -> None:
    """As on another host, which was killed before it could pay: it must not draw what was drawn elsewhere."""
    sql = "SELECT count(*) AS n FROM visits"
    watch = clinic.watch(sql, 1, delta=1e-6, every="1 day")
    watch.catch_up("2026-01-01")
    path, totals = watch._journal.path, watch.totals
    watch.close()
    path.rename(tmp_path / "elsewhere")
    from tacit.ledger.journal import Journal

    Journal(path, totals).close()
    with pytest.raises(LedgerError, match="nobody can tell what was drawn"):
        clinic.watch(sql, 1, delta=1e-6, every="1 day")
    path.unlink()
    (tmp_path / "elsewhere").rename(path)
    again = clinic.watch(sql, 1, delta=1e-6, every="1 day")
    assert again.counted == 4
    again.close()
    with Journal(path, totals) as journal, pytest.raises(LedgerError, match="paid for before"):
        journal.bind("another charge")


def test_the_command_tells_every_period_and_the_same_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, some_rows())
    (tmp_path / "p.toml").write_text(POLICY.format(unit="row", rows=1))
    monkeypatch.chdir(tmp_path)
    asked = ["watch", "p.toml", SQL, "--every", "1 day", "--epsilon", "1000", "--delta", "1e-6", "--now", "2025-01-03"]
    first = CliRunner().invoke(app, [*asked, "--json"])
    assert first.exit_code == 0, first.output
    told = json.loads(first.stdout)["periods"]
    assert [each["number"] for each in told] == [1, 2]
    assert math.isclose(told[1]["totals"][0][0], 60, abs_tol=20)
    again = CliRunner().invoke(app, [*asked[:-2], "--now", "2026-01-01", "--format", "csv"])
    lines = again.stdout.splitlines()
    assert lines[0].startswith("start,key,n,n_low,n_high,n_new,s,")
    assert len(lines) == 1 + 4 * 3
    assert CliRunner().invoke(app, asked).stdout.count("\n") == 1 + 4 * 3  # what was counted is told again
    wrong = CliRunner().invoke(app, ["watch", "p.toml", SQL, "--every", "now and then", "--epsilon", "1"])
    assert wrong.exit_code == 2
