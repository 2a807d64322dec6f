"""Many random neighbours, counted: how far the exact results of pushed-down queries lie apart, against the plan.

    python tests/plan/soak.py narrow 20000               one private table and public ones
    python tests/plan/soak.py wide 20000 7               joins, SELECTs inside, levels, few groups; seeds from 7 on
    python tests/plan/soak.py levels 2000                ROLLUP, CUBE, GROUPING SETS; `inside`: questions inside
    python tests/plan/soak.py wide 2000 7 postgres       on a PostgreSQL server of its own; or `spark`, in .venv-spark
    python tests/plan/soak.py raw csv 2000 7             one row more in a source, from raw bytes up; or json, parquet,
                                                         pandas, polars, arrow (tests/engines/raw_rows.py)

A case is one question on one random database and on the same without one unit. On other engines than DuckDB every exact
result is compared with DuckDB's as well. Seeds are printed; a violation stops the run with hypothesis' own report of
the example.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import duckdb
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tacit.plan import Plan
from tacit.policy import Policy
from tests.engines import raw_rows, spark_session
from tests.plan import engine_worlds, test_neighbours, test_neighbours_wide
from tests.plan.worlds import Blocks, Rows, Store, World

CHUNKS = {"duckdb": 100, "postgres": 50, "spark": 5}
PARTS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "narrow": (test_neighbours, test_neighbours.CASE),
    "wide": (test_neighbours_wide, test_neighbours_wide.CASE),
    **{name: (test_neighbours_wide, case) for name, case in test_neighbours_wide.CASES_OF.items()},
}


class Agreeing:
    """Two stores that must give the same cells in every world."""

    def __init__(self, one: Store, reference: Store) -> None:
        self._stores = (one, reference)

    def load(self, policy: Policy, rows: Mapping[str, Rows]) -> None:
        for store in self._stores:
            store.load(policy, rows)

    def blocks(self, plan: Plan, worlds: Sequence[World]) -> list[Blocks]:
        found, expected = (store.blocks(plan, worlds) for store in self._stores)
        assert found == expected, "the engine's exact results are not DuckDB's"
        return found


@contextmanager
def opened(engine: str) -> Iterator[Store]:
    """The engine's store."""
    if engine == "duckdb":
        with engine_worlds.on_duckdb() as store:
            yield store
    elif engine == "postgres":
        with engine_worlds.on_duckdb() as reference, engine_worlds.on_postgres() as store:
            yield Agreeing(store, reference)
    else:
        with (
            tempfile.TemporaryDirectory() as folder,
            engine_worlds.on_duckdb() as reference,
            spark_session.running() as session,
            engine_worlds.on_spark(session, Path(folder)) as store,
        ):
            yield Agreeing(store, reference)


def main(name: str, wanted: int, first: int, engine: str) -> None:
    module, strategies = PARTS[name]
    cases, started, number = 0, time.monotonic(), first
    with opened(engine) as store:
        while cases < wanted:

            @settings(
                max_examples=CHUNKS[engine],
                phases=[Phase.generate],
                deadline=None,
                suppress_health_check=list(HealthCheck),
                database=None,
            )
            @seed(number)
            @given(st.tuples(*strategies))
            def run(drawn: tuple[Any, ...]) -> None:
                nonlocal cases
                cases += module.compare(store, *drawn)

            run()
            sys.stdout.write(
                f"{name} on {engine}: seed {number}, {cases:,} cases, {time.monotonic() - started:.0f} s\n"
            )
            sys.stdout.flush()
            number += 1
    sys.stdout.write(f"{name} on {engine}: {cases:,} cases without a violation, seeds {first} to {number - 1}\n")


def _drawn(form: raw_rows.Form, number: int) -> list[raw_rows.Growing]:
    drawn: list[raw_rows.Growing] = []

    @settings(
        max_examples=200,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @seed(number)
    @given(raw_rows.growing(form))
    def draw(one: raw_rows.Growing) -> None:
        drawn.append(one)

    draw()
    return drawn


def raw(name: str, wanted: int, first: int) -> None:
    """Copies of random sources with one row more, then one more: all that differs is of one unit."""
    form = raw_rows.FORMS[name]
    cases, tried, started, number = 0, 0, time.monotonic(), first
    with duckdb.connect(config={"threads": 1}) as connection:
        while cases < wanted:
            drawn = _drawn(form, number)
            for some in (drawn[start : start + 20] for start in range(0, len(drawn), 20)):
                new, of = raw_rows.compare_many(connection, form, some)
                cases, tried = cases + new, tried + of
            seconds = f"{time.monotonic() - started:.0f} s, {time.process_time():.0f} s of CPU"
            sys.stdout.write(f"raw {name}: seed {number}, {cases:,} registered of {tried:,}, {seconds}\n")
            sys.stdout.flush()
            number += 1
    sys.stdout.write(f"raw {name}: {cases:,} cases without a violation, seeds {first} to {number - 1}\n")


if __name__ == "__main__":
    if sys.argv[1] == "raw":
        raw(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 1)
        sys.exit()
    arguments = dict(enumerate(sys.argv))
    main(sys.argv[1], int(sys.argv[2]), int(arguments.get(3, 1)), str(arguments.get(4, "duckdb")))
