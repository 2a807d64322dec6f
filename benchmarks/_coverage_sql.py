"""SQL's intervals held against the truth: every aggregate that shows one, and the forms in which answers combine them.

The question is planned and its exact numbers are read once, by the engine; noise is then drawn by the plan's own
mechanisms and the plan finished, as often as runs are wanted. Without GROUP BY all runs are finished at once, as cells
of one answer that are alike but for their noise. The truth is what DuckDB says to the same text, or to `truth`, on the
rows themselves, which keep to their bounds. A group without rows, which DuckDB does not show, has a count or a sum
of 0; where nothing is true of it (a mean of no rows) its interval counts for nothing.

`UNSHOWN` lists the aggregates without intervals; `tests/curator/test_coverage_of_sql.py` holds that every aggregate
that is understood is in a case or there.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from _coverage_again import remembered
from _coverage_cases import REGIMES, Tally
from tacit.answer import Answer
from tacit.answer.release import finished_words, release
from tacit.curator import Curator
from tacit.curator.keys import with_units
from tacit.loss import Budget
from tacit.mechanisms import Gaussian
from tacit.noise import secure
from tacit.plan import finish
from tacit.policy import Column, ColumnUnit, Policy, Source, Table

WARDS = 6


@dataclass(frozen=True)
class Form:
    """A question, and the text that says the truth where that is another one."""

    sql: str
    truth: str = ""
    gaussian: bool = True  # whether it is asked under Gaussian noise too
    delta: float = 0.0
    empty: float | None = None  # what is true of a group without rows, which plain SQL does not show; None: nothing
    alone: bool = False  # runs must not be cells of one answer: an interval would hold for all cells at once


def _of_people(*outputs: str, alone: bool = False) -> dict[str, Form]:
    return {each: Form(f"SELECT {each} AS a FROM people", alone=alone) for each in outputs}


_BY_WARD = "SELECT ward, {} AS a FROM people GROUP BY ward"

_ALL_WARDS = "(SELECT k.ward, count(p.who) AS n FROM kinds k LEFT JOIN people p ON p.ward = k.ward GROUP BY k.ward)"
"""Every known ward, also those without rows: they are rows of our answers, and of plain SQL's only so."""

FORMS: Mapping[str, Form] = {
    **_of_people(
        "count(*)",
        "count(x)",
        "count(DISTINCT who)",
        "count_if(b)",
        "sum(x)",
        "sum(x) FILTER (WHERE b)",
        "avg(x)",
        "avg(x) FILTER (WHERE b)",
        "var_pop(x)",
        "var_samp(x)",
        "stddev_pop(x)",
        "stddev_samp(x)",
        "covar_pop(x, y)",
        "covar_samp(x, y)",
        "corr(x, y)",
        "regr_slope(y, x)",
        "regr_intercept(y, x)",
        "regr_r2(y, x)",
        "regr_count(y, x)",
        "sum(x) / count(*)",
        "sum(x) / sum(y)",
        "avg(x) - avg(y)",
        "sum(x) - sum(y)",
        "2 * count(*) + 1",
        "count_if(b) / count(*)",
        "1000 / count(*)",
        "sum(x) * sum(y)",
        "stddev_pop(x) / avg(x)",
        "sqrt(sum(x))",
        "ln(count(*))",
        "exp(avg(x) / 50)",
        "abs(avg(x) - avg(y))",
        "sign(avg(x) - avg(y))",
        "round(avg(x))",
        "round(avg(x), 1)",
        "floor(avg(x))",
        "count(*) // 10",
        "count(*) % 7",
        "count(*) % 100",
        "ceil(sum(x) / 10)",
        "round(100.0 * count_if(b) / count(*), 1)",
        "100.0 * count_if(b) / count(*)",
        "abs(count(*) - 1000)",
        "greatest(avg(x), avg(y))",
        "greatest(count(*), 998)",
        "least(count(*), 1003)",
        "exp(avg(x) / 5)",
        "ln(count_if(b))",
    ),
    **_of_people(
        "CASE WHEN count(*) > 999 THEN sum(x) ELSE 0 END",
        "CASE WHEN avg(x) > 40 THEN sum(x) ELSE sum(y) END",
        "CASE WHEN count(*) > 9 THEN 1 ELSE 0 END * sum(x)",
        "coalesce(avg(x) FILTER (WHERE x > 1000000), -1000000)",
        alone=True,
    ),
    "avg of a group": Form(_BY_WARD.format("avg(x)")),
    "variance of a group": Form(_BY_WARD.format("var_pop(x)")),
    "count of a group": Form(_BY_WARD.format("count(*)"), empty=0),
    "histogram(ward)": Form("SELECT histogram(ward) AS a FROM people", gaussian=False),
    "rollup": Form("SELECT ward, b, count(*) AS a FROM people GROUP BY ROLLUP (ward, b)", empty=0),
    "total of an answer": Form(f"SELECT sum(a) AS a FROM ({_BY_WARD.format('count(*)')})"),
    "window over an answer": Form("SELECT ward, sum(count(*)) OVER (ORDER BY ward) AS a FROM people GROUP BY ward"),
    "running share": Form(
        "SELECT ward, 100.0 * sum(count(*)) OVER (ORDER BY ward) / sum(count(*)) OVER () AS a FROM people GROUP BY ward"
    ),
    "distance to the greatest": Form(
        "SELECT ward, max(count(*)) OVER () - count(*) AS a FROM people GROUP BY ward",
        f"SELECT ward, max(n) OVER () - n AS a FROM {_ALL_WARDS}",
    ),
    "change from ward to ward": Form(
        "SELECT ward, count(*) - lag(count(*)) OVER (ORDER BY ward) AS a FROM people GROUP BY ward",
        f"SELECT ward, n - lag(n) OVER (ORDER BY ward) AS a FROM {_ALL_WARDS}",
    ),
    "flags of an answer": Form(
        f"SELECT sum(CASE WHEN a > 100 THEN 1 ELSE 0 END) AS a FROM ({_BY_WARD.format('count(*)')})",
        f"SELECT sum(CASE WHEN n > 100 THEN 1 ELSE 0 END) AS a FROM {_ALL_WARDS}",
    ),
    "share of an answer": Form("SELECT ward, count(*) / sum(count(*)) OVER () AS a FROM people GROUP BY ward"),
    "inner by unit": Form("SELECT sum(n) AS a FROM (SELECT who, count(*) AS n FROM visits GROUP BY who)"),
    "inner by unit, avg": Form("SELECT avg(s) AS a FROM (SELECT who, sum(amount) AS s FROM visits GROUP BY who)"),
    "joined": Form("SELECT sum(v.amount) AS a FROM people p JOIN visits v ON p.who = v.who WHERE p.b"),
    "joined, avg": Form("SELECT avg(v.amount) AS a FROM people p JOIN visits v ON p.who = v.who"),
    "public join": Form("SELECT sum(p.x * k.weight) AS a FROM people p JOIN kinds k ON p.ward = k.ward"),
    "having": Form(_BY_WARD.format("count(*)") + " HAVING count(*) > 100", _BY_WARD.format("count(*)"), empty=0),
    "having, avg": Form(_BY_WARD.format("avg(x)") + " HAVING avg(x) > 20", _BY_WARD.format("avg(x)")),
    "first of a sorted answer": Form(
        _BY_WARD.format("count(*)") + " ORDER BY a DESC LIMIT 1", _BY_WARD.format("count(*)"), empty=0
    ),
    "fourth of a sorted answer": Form(
        _BY_WARD.format("count(*)") + " ORDER BY a LIMIT 1 OFFSET 3", _BY_WARD.format("count(*)"), empty=0
    ),
    "first, sum": Form(_BY_WARD.format("sum(x)") + " ORDER BY a DESC LIMIT 1", _BY_WARD.format("sum(x)"), empty=0),
    "first, avg": Form(_BY_WARD.format("avg(x)") + " ORDER BY a DESC LIMIT 1", _BY_WARD.format("avg(x)")),
    "first, variance": Form(_BY_WARD.format("var_pop(x)") + " ORDER BY a DESC LIMIT 1", _BY_WARD.format("var_pop(x)")),
    "first, ratio": Form(
        _BY_WARD.format("sum(x) / sum(y)") + " ORDER BY a LIMIT 1", _BY_WARD.format("sum(x) / sum(y)")
    ),
    "first, intercept": Form(
        _BY_WARD.format("regr_intercept(y, x)") + " ORDER BY a DESC LIMIT 1", _BY_WARD.format("regr_intercept(y, x)")
    ),
    "round of an answer": Form(f"SELECT round(sum(a) / 7) AS a FROM ({_BY_WARD.format('count(*)')})"),
    "max of an answer": Form(f"SELECT max(a) AS a FROM ({_BY_WARD.format('count(*)')})"),
    "max, avg": Form(f"SELECT max(a) AS a FROM ({_BY_WARD.format('avg(x)')})"),
    "max, variance": Form(f"SELECT max(a) AS a FROM ({_BY_WARD.format('var_pop(x)')})"),
    "unknown keys": Form("SELECT town, count(*) AS a FROM people GROUP BY town", delta=1e-3, gaussian=False),
}

UNSHOWN: Mapping[str, str] = {
    **dict.fromkeys(
        ("Median", "Quantile", "ApproxQuantile", "PercentileCont", "PercentileDisc", "WithinGroup"),
        "chosen by rank, which the answer bounds in words",
    ),
    **dict.fromkeys(("Min", "Max", "Mode", "ApproxTopK"), "chosen by rank or frequency, likewise"),
    **dict.fromkeys(("LogicalAnd", "LogicalOr"), "yes or no"),
}
"""Aggregates as the parser names them that show no interval."""


def _tables(regime: Any, rng: np.random.Generator) -> dict[str, pa.Table]:
    xy = np.rint(regime.matrix(rng, 2))
    rows, (low, high) = len(xy), regime.bounds
    ward = np.minimum((WARDS * (xy[:, 0] - low) / (high - low)).astype(int), WARDS - 1)
    who = np.arange(rows)
    visits = np.repeat(who, 1 + who % 3)
    return {
        "people": pa.table(
            {
                "who": who,
                "x": xy[:, 0].astype(np.int64),
                "y": xy[:, 1].astype(np.int64),
                "ward": ward,
                "b": rng.random(rows) < 0.4,
                "town": [f"t{each}" for each in ward],
            }
        ),
        "visits": pa.table({"who": visits, "amount": np.rint(regime.column(rng, len(visits))).astype(np.int64)}),
        "kinds": pa.table({"ward": np.arange(WARDS), "weight": np.arange(WARDS) % 3 + 1}),
    }


def _policy(regime: Any) -> Policy:
    low, high = map(int, regime.bounds)
    ward = Column("ward", "integer", 0, WARDS - 1, nullable=False)
    own = [
        Column("x", "integer", low, high, nullable=False),
        Column("y", "integer", low, high, nullable=False),
        ward,
        Column("b", "boolean", nullable=False),
        Column("town", "text", nullable=False),
    ]
    amount = Column("amount", "integer", low, high, nullable=False)
    weight = Column("weight", "integer", 1, 3, nullable=False)
    unit = ColumnUnit("who")
    return Policy(
        "clinic",
        {
            "people": Table("people", Source("frame", "people"), unit, 1, {each.name: each for each in own}),
            "visits": Table("visits", Source("frame", "visits"), unit, 3, {"amount": amount}),
            "kinds": Table("kinds", Source("frame", "kinds"), None, 1, {"ward": ward, "weight": weight}, True),
        },
        Budget(10**6, Fraction(1, 10)),
        largest_epsilon=Fraction(10**6),
    )


class _Open:
    """One regime's tables at a time, in an engine and as they are."""

    def __init__(self) -> None:
        self._name: tuple[Any, ...] = ()
        self._curator: Curator | None = None

    def __call__(self, name: str, regime: Any, seed: int) -> tuple[Curator, duckdb.DuckDBPyConnection]:
        if self._name != (name, seed):
            self.close()
            tables = _tables(regime, np.random.default_rng([seed, len(name)]))
            self._plain = duckdb.connect(config={"threads": 1})
            for each, table in tables.items():
                self._plain.register(each, table)
            self._curator, self._name = Curator(_policy(regime), frames=tables), (name, seed)
        assert self._curator is not None
        return self._curator, self._plain

    def close(self) -> None:
        if self._curator is not None:
            self._curator.close()
        self._name, self._curator = (), None


opened = _Open()


def misses(name: str, regime: str, runs: int, *, gaussian: bool = False, seed: int = 0) -> tuple[int, int]:
    """How many intervals were shown, and how many of them did not hold the truth."""
    form = FORMS[name]
    known = REGIMES[regime]
    curator, plain = opened(regime, known, seed)
    epsilon = Fraction(str(known.epsilon))
    price = {"rho": epsilon**2 / 2, "delta": 1e-6} if gaussian else {"epsilon": epsilon, "delta": form.delta}
    plan = curator.planned(form.sql, **price)
    run = functools.lru_cache(maxsize=None)(lambda query: curator._engine.run(with_units(query)))
    truths = _truths(plain, form)
    answers = _at_once(plan, run, runs) if _is_plain(plan) and not form.alone else (
        release(plan, run, _RECEIPT, "one row", secure()) for _ in range(runs)
    )  # fmt: skip
    shown = missed = 0
    with remembered():
        for answer in answers:
            for keys, ends in _ends(answer):
                for end, truth in _pairs(ends, truths.get(keys, form.empty)):
                    if truth is None or (isinstance(truth, float) and math.isnan(truth)):
                        continue  # there is nothing to hold
                    shown += 1
                    missed += not _held(end, truth)
    return shown, missed


_RECEIPT: Any = SimpleNamespace(sequence=0)  # nothing is charged here


def sweep(name: str, regime: str, runs: int, seed: int = 0) -> dict[str, Tally]:
    """The same for each law of noise."""
    found = {}
    for gaussian in (False, True) if FORMS[name].gaussian else (False,):
        shown, missed = misses(name, regime, runs, gaussian=gaussian, seed=seed)
        # one answer may show several intervals, or none: what counts is how many there were
        found["Gaussian" if gaussian else "Laplace"] = Tally(
            np.array([shown - missed]), np.array([shown]), shown or runs
        )
    return found


def _held(ends: Any, truth: Any) -> bool:
    close = 1e-9 * max(abs(float(truth)), 1.0)
    return bool(ends[0] - close <= float(truth) <= ends[1] + close)


def _pairs(ends: Any, truth: Any) -> list[tuple[Any, Any]]:
    if isinstance(ends, dict):
        return [(each, (truth or {}).get(key, 0)) for key, each in ends.items()]
    return [] if ends is None else [(ends, truth)]


def _truths(plain: duckdb.DuckDBPyConnection, form: Form) -> dict[tuple[Any, ...], Any]:
    rows = plain.execute(form.truth or form.sql).fetchall()
    return {tuple(row[:-1]): row[-1] for row in rows}


def _ends(answer: Answer) -> Any:
    around = answer.intervals()["a"]
    place = answer.names.index("a")
    keys = [column for at, column in enumerate(answer.columns) if at != place]
    for row, ends in enumerate(around):
        yield tuple(column[row] for column in keys), ends


def _is_plain(plan: Any) -> bool:
    single = len(plan.keys.columns) == 0 if hasattr(plan.keys, "columns") else False
    bins = any(each.bins is not None or each.levels is not None or each.block for each in plan.measures)
    return single and plan.summary is None and not bins and not plan.picks


def _draws(mechanism: Any, exact: int, runs: int) -> Any:
    if isinstance(mechanism, Gaussian):  # it was made for one number at a time
        return np.array([int(mechanism.release(exact)) for _ in range(runs)])
    return mechanism.release(np.full(runs, exact, dtype=np.int64))


def _at_once(plan: Any, run: Callable[[Any], Any], runs: int) -> list[Answer]:
    exact = run(plan.query).open_for(lambda keys, columns: {name: int(column[0]) for name, column in columns.items()})
    noisy = [_draws(each.mechanism, exact[each.name], runs) for each in plan.measures]
    table = finish(plan, [()] * runs, noisy)
    heavy = not all(isinstance(each.mechanism, Gaussian) for each in plan.measures)
    columns = tuple(map(tuple, table.columns))
    spread = tuple(None if each is None else tuple(each) for each in table.deviations)
    return [Answer(table.names, table.kinds, columns, spread, heavy, {}, False, *finished_words(table))]
