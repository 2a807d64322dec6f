"""Rows for a study: neighbours differ in few of them, whatever was selected; what is no plain SELECT is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.errors import TacitError
from tacit.plan.row_plan import Cut, plan_rows

COLUMNS = {"k": tacit.between(0, 4), "x": tacit.between(-5, 5), "s": tacit.one_of("a", "b", "c")}
SELECTS = [
    "SELECT k, x FROM data",
    "SELECT k, x FROM data WHERE x > 0",
    "SELECT x * x AS y, s FROM data WHERE s <> 'a'",
    "SELECT who, sum(x) AS x, count(*) AS k FROM data GROUP BY who",
    "SELECT who, k, max(x) AS x FROM data GROUP BY who, k",
    "SELECT DISTINCT who, k, x FROM data",
    "SELECT a.x AS x, b.k AS k FROM data a JOIN data b ON a.who = b.who",
    "SELECT x, k FROM data UNION ALL SELECT k, x FROM data",
    "SELECT k, x FROM data WHERE who IN (SELECT who FROM data WHERE k = 1)",
    "WITH few AS (SELECT who, k, x FROM data WHERE k < 3) SELECT x + k AS z FROM few",
    "SELECT k, CASE WHEN x > 0 THEN x END AS x FROM data",
]


def protected(frame: pd.DataFrame, rows: int) -> tacit.Curator:
    budget = tacit.Budget(epsilon=1)
    return tacit.protect(frame, unit="who", rows_per_unit=rows, columns=COLUMNS, budget=budget)


def tally(curator: tacit.Curator, query: Any) -> Counter[Any]:
    def read(keys: Any, columns: Any) -> Counter[Any]:
        return Counter(dict(zip(keys, columns["n"].tolist(), strict=True)))

    found: Counter[Any] = curator._engine.run(query).open_for(read)
    return found


@dataclass(frozen=True)
class Worlds:
    """Nine units with as many rows as each may have, and the same without one of them, for some of them."""

    whole: tacit.Curator
    less: list[tacit.Curator]


@pytest.fixture(scope="module", params=[1, 3])
def worlds(request: pytest.FixtureRequest) -> Iterator[Worlds]:
    rows: int = request.param
    rng = np.random.default_rng(rows)
    size = 9 * rows  # as many as a unit may have: which ones are kept of more is drawn for each registration
    frame = pd.DataFrame(
        {
            "who": np.arange(size) // rows,
            "k": rng.integers(0, 5, size),
            "x": rng.integers(-6, 7, size),
            "s": rng.choice(["a", "b", "c"], size),
        }
    )
    with ExitStack() as opened:
        whole = opened.enter_context(protected(frame, rows))
        yield Worlds(whole, [opened.enter_context(protected(frame[frame.who != who], rows)) for who in (0, 4, 8)])


@pytest.mark.parametrize("sql", SELECTS)
def test_neighbours_differ_in_at_most_rows_per_unit_rows(worlds: Worlds, sql: str) -> None:
    plan = plan_rows(sql, worlds.whole.policy)
    names = [each.name for each in plan.variables]
    before = tally(worlds.whole, plan.tally(names))
    assert sum(before.values()) > 0
    for less in worlds.less:
        after = tally(less, plan_rows(sql, less.policy).tally(names))
        moved = sum(abs(before[key] - after[key]) for key in {*before, *after})
        assert moved <= plan.rows_per_unit


def test_a_cut_counts_the_edges_at_or_below_a_code() -> None:
    frame = pd.DataFrame({"who": range(11), "k": [0] * 11, "x": range(-5, 6), "s": ["a"] * 11})
    edges = (-4, -1, 0, 3, 5)
    with protected(frame, 1) as curator:
        plan = plan_rows("SELECT x FROM data", curator.policy)
        found = tally(curator, plan.tally([Cut("x", edges)]))
    truth = Counter((int(np.searchsorted(edges, x, side="right")),) for x in range(-5, 6))
    assert found == truth


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM data",
        "SELECT k FROM data) AS a JOIN (SELECT k FROM data",
        "SELECT k FROM data) AS a WHERE (k > 1",
        "SELECT k FROM data ORDER BY k LIMIT 3",
        "SELECT k FROM data WITH PRIVACY (epsilon = 1)",
        "SELECT nothing FROM data",
        "SELECT NULL AS x FROM data",
        "DELETE FROM data",
        "",
    ],
)
def test_what_is_no_plain_select_of_rows_is_refused(sql: str) -> None:
    frame = pd.DataFrame({"who": [1], "k": [1], "x": [1], "s": ["a"]})
    with protected(frame, 1) as curator, pytest.raises(TacitError):
        plan_rows(sql, curator.policy)
