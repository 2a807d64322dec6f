"""Resource bombs: refused before anything is paid, or answered alike with and without the one whom they are about.

The bomber's rows cost as much as the policy allows (`bomb_tables`). What is compared is all that can be seen, as in
`test_hostile`; and on DuckDB how many rows the operators themselves handled for the bomber, against what the plan says.
How long the answered ones take is measured by `tests/curator/time_bombs.py`, on a quiet machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tacit import statistics
from tacit.errors import QuestionError, TacitError
from tacit.plan import Plan
from tacit.policy.columns import LONGEST_TEXT
from tests.curator import bomb_tables, bombs
from tests.curator.hostile_tables import Pair
from tests.curator.test_hostile import ALL_ENGINES, ENGINE_WORDS, outcome, shortened
from tests.engines import spark_session
from tests.engines.conformance.engines import content
from tests.engines.conformance.test_copies import asking
from tests.plan.operators import handled
from tests.postgres_server import Server

ROWS = 300
REFUSED, ANSWERED = bombs.every(bombs.REFUSED), bombs.every(bombs.ANSWERED)
# of each kind the first: other engines take longer, and the plan is the same
SOME = [sql for some in bombs.ANSWERED.values() for sql in some[:1]]


@pytest.fixture(scope="module")
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Curators over the neighbours, on one engine."""
    with ExitStack() as stack:
        yield stack.enter_context(_opened(request.param, request))


@contextmanager
def _opened(engine: str, request: pytest.FixtureRequest) -> Iterator[Pair]:
    if engine == "duckdb":
        with bomb_tables.on_duckdb(ROWS) as pair:
            yield pair
    elif engine == "spark":
        if spark_session.MISSING:
            pytest.skip(spark_session.MISSING)
        folder: Path = request.getfixturevalue("tmp_path_factory").mktemp("bombs")
        with spark_session.running() as session, bomb_tables.on_spark(session, folder, ROWS) as pair:
            yield pair
    else:
        server: Server = request.getfixturevalue("postgres")
        copy = "query" if engine == "postgres without a copy" else None
        names = [f"bombs_{side}_{'query' if copy else 'copy'}" for side in ("with", "without")]
        one, other = (server.database(name) for name in names)
        with bomb_tables.on_postgres((one, other), ROWS, copy) as pair:
            yield pair
        for name in names:
            server.drop(name)


def test_there_are_enough_bombs() -> None:
    assert len({*REFUSED, *ANSWERED}) >= 60
    assert min(len(REFUSED), len(ANSWERED)) >= 40


@pytest.mark.parametrize("pair", ["duckdb"], indirect=True)
@pytest.mark.parametrize("sql", REFUSED, ids=shortened)
def test_a_bomb_that_is_too_much_is_refused_alike_at_once_and_for_nothing(pair: Pair, sql: str) -> None:
    start = time.process_time()
    first, second = (outcome(curator, sql, epsilon="1e-6") for curator in pair)
    assert time.process_time() - start < 20  # of our own CPU, whatever else the machine does
    assert first == second
    kind, text, cause, charge = first
    assert kind is QuestionError
    assert cause is None
    assert (charge.loss, charge.delta) == (0, 0)
    assert "are allowed" in text
    assert "of one unit" in text or "for one unit" in text
    assert len(text) < 600
    assert not any(word in text for word in ENGINE_WORDS if word not in sql)


@pytest.mark.parametrize("pair", ["duckdb"], indirect=True)
@pytest.mark.parametrize("sql", ANSWERED, ids=shortened)
def test_any_other_bomb_is_answered_alike_with_and_without_the_bomber(pair: Pair, sql: str) -> None:
    check_alike(pair, sql)


@pytest.mark.parametrize("pair", ALL_ENGINES[1:], indirect=True)
@pytest.mark.parametrize("sql", SOME, ids=shortened)
def test_it_is_answered_alike_on_other_engines(pair: Pair, sql: str) -> None:
    check_alike(pair, sql)


def check_alike(pair: Pair, sql: str) -> None:
    delta = {"delta": "1e-6"} if "GROUP BY 1" in sql else {}
    first, second = (outcome(curator, sql, epsilon=1, **delta) for curator in pair)
    assert first == second
    assert isinstance(first[0], tuple), first  # the names: it was answered


@pytest.mark.parametrize("pair", ALL_ENGINES, indirect=True)
def test_rows_of_studies_are_held_to_the_same_limit(pair: Pair) -> None:
    for sql in bombs.STUDIES_REFUSED:
        told = set()
        for curator in pair:
            with pytest.raises(QuestionError, match="are allowed") as refused:
                curator.rows(sql)
            told.add(str(refused.value))
        assert len(told) == 1
    for sql in bombs.STUDIES_ANSWERED:
        kinds = {type(statistics.mean(curator.rows(sql), "cost", epsilon=1)) for curator in pair}
        assert len(kinds) == 1


@pytest.mark.parametrize("pair", ["duckdb"], indirect=True)
def test_one_bomb_among_several_questions_refuses_all_before_the_charge(pair: Pair) -> None:
    harmless = "SELECT count(*) FROM visits"
    told = []
    for curator in pair:
        before = curator.spent()
        with pytest.raises(TacitError) as several:
            curator.ask_all([harmless, REFUSED[0]], epsilon=1)
        with pytest.raises(TacitError) as published:
            curator.publish({"a": harmless, "b": REFUSED[0]}, epsilon=1)
        with pytest.raises(TacitError) as united:
            curator.ask(f"{harmless} UNION ALL {REFUSED[1]}", epsilon=1)
        assert (curator.spent() - before).loss == 0
        told.append([str(each.value) for each in (several, published, united)])
    assert told[0] == told[1]
    assert all("are allowed" in text for text in told[0])


@pytest.mark.parametrize("pair", ALL_ENGINES, indirect=True)
def test_no_text_of_the_working_copy_is_longer_than_stated(pair: Pair) -> None:
    """Of the bomber's three million letters the first thousand are there, and of notes no more."""
    engine: Any = pair.one._engine
    for table, column in (("people", "name"), ("visits", "note"), ("bills", "memo")):
        most = f"SELECT max(length(t.{column})) AS m FROM tacit_copy.{table} AS t"
        assert content(engine, asking(most)) == {(): (LONGEST_TEXT,)}


# -- what DuckDB itself counted ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def anchored() -> Iterator[Pair]:
    """The neighbours with two others who meet every condition too, on either side of all keys.

    So no operator is skipped for want of rows, and no range of keys gets wider by the bomber: what is counted beyond
    is of the bomber's own rows.
    """
    whole, without = bomb_tables.neighbours(ROWS)
    anchor: dict[str, list[dict[str, Any]]] = {
        name: [
            {**row, **{key: number for key in ("pid", "vid") if key in row}}
            for row in rows[:1]
            for number in (-1, 2 * bomb_tables.BOMBER)
        ]
        for name, rows in bomb_tables.bomber().items()
    }
    sides = [{name: rows + anchor[name] for name, rows in side.items()} for side in (whole, without)]
    with bomb_tables.both_in_memory(sides[0], sides[1]) as pair:
        yield pair


@pytest.fixture(scope="module")
def copies(anchored: Pair) -> Iterator[list[duckdb.DuckDBPyConnection]]:
    """The working copies of both, opened beside their curators."""
    with ExitStack() as stack:
        paths = [curator._engine._worker._path for curator in anchored]  # type: ignore[attr-defined]
        yield [stack.enter_context(duckdb.connect(path, read_only=True, config={"threads": 1})) for path in paths]


def _handled(plan: Plan, copy: duckdb.DuckDBPyConnection) -> int:
    return sum(handled(copy, query.text(), ["wards"]) for query in plan.queries)


@pytest.mark.parametrize("sql", ANSWERED, ids=shortened)
def test_the_bomber_causes_no_more_rows_of_work_than_the_plan_states(
    anchored: Pair, copies: list[duckdb.DuckDBPyConnection], sql: str
) -> None:
    delta = {"delta": "1e-6"} if "GROUP BY 1" in sql else {}
    planned = anchored.one.planned(sql, 1, **delta)
    plans = [planned] if isinstance(planned, Plan) else [plan for _, plan in planned.plans]
    counts = [[_handled(plan, copy) for plan in plans] for copy in copies]
    for plan, with_bomber, without in zip(plans, *counts, strict=True):
        assert with_bomber - without <= plan.work.rows
