"""The worker is locked in, killed in time, and says nothing of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from tacit.engines import wire
from tacit.engines.duckdb.worker import answer, open_locked
from tacit.engines.process import FAILED, Limits, Worker
from tacit.errors import EngineError

GOOD = "SELECT count(*) AS n FROM tacit_copy.t"


def make_copy(folder: Path) -> str:
    path = folder / "c.copy"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA tacit_copy")
        connection.execute("CREATE TABLE tacit_copy.t AS SELECT range AS a, 'x' AS s FROM range(10)")
    (folder / "loot.csv").write_text("a\n1\n")
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("worker")


@pytest.fixture(scope="module")
def worker(folder: Path) -> Iterator[Worker]:
    worker = Worker(make_copy(folder), Limits())
    yield worker
    worker.close()


def ask(worker: Worker, sql: str, keys: tuple[str, ...] = (), measures: tuple[str, ...] = ("n",)) -> dict[str, Any]:
    return worker.ask({"sql": sql, "keys": list(keys), "measures": list(measures)})


def refused(worker: Worker, sql: str) -> None:
    with pytest.raises(EngineError) as refusal:
        ask(worker, sql)
    assert str(refusal.value) == FAILED
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None or refusal.value.__suppress_context__


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) AS n FROM read_csv('{folder}/loot.csv')",
        "SELECT count(*) AS n FROM '{folder}/loot.csv'",
        "SELECT count(*) AS n FROM read_text('/etc/passwd')",
        "SELECT count(*) AS n FROM read_blob('/etc/passwd')",
        "SELECT count(*) AS n FROM glob('/etc/*')",
        "SELECT count(*) AS n FROM read_parquet('https://example.com/x.parquet')",
        "ATTACH ':memory:' AS other",
        "ATTACH '{folder}/other.duckdb' AS other",
        "COPY tacit_copy.t TO '{folder}/out.csv'",
        "COPY (SELECT 1 AS n) TO '{folder}/out.csv'",
        "EXPORT DATABASE '{folder}/out'",
        "PRAGMA database_list",
        "PRAGMA enable_profiling",
        "SET enable_external_access = true",
        "SET threads = 1",
        "RESET ALL",
        "INSTALL httpfs",
        "LOAD httpfs",
        "CREATE TABLE x AS SELECT 1 AS n",
        "CREATE TEMP TABLE x AS SELECT 1 AS n",
        "DELETE FROM tacit_copy.t",
        "WITH gone AS (DELETE FROM tacit_copy.t RETURNING *) SELECT count(*) AS n FROM gone",
        "CALL pragma_version()",
        "EXPLAIN SELECT 1 AS n",
        "SELECT 1 AS n; SELECT 2 AS n",
        "SELECT getenv('HOME') AS n",
        "SELECT count(*) AS n FROM worker",
        "SELECT nonsense FROM tacit_copy.t",
        "SELECT 1.5 AS n",
        "SELECT 0.5::DOUBLE AS n",
        "SELECT 'text' AS n",
        "SELECT true AS n",
        "SELECT error('the secret of row 7') AS n",
        "SELECT count(*) AS other FROM tacit_copy.t",
        "",
        ";",
        "not sql at all",
    ],
)
def test_everything_but_one_select_of_whole_numbers_is_refused_in_the_same_words(
    worker: Worker, folder: Path, sql: str
) -> None:
    refused(worker, sql.format(folder=folder))
    assert ask(worker, GOOD)["measures"] == [[10]]
    # Refused means not run: nothing was attached, made or written.
    assert ask(worker, "SELECT count(*) AS n FROM duckdb_databases() WHERE NOT internal")["measures"] == [[1]]
    assert ask(worker, "SELECT count(*) AS n FROM duckdb_tables()")["measures"] == [[1]]
    assert sorted(os.listdir(folder)) == ["c.copy", "loot.csv"]


def test_the_refusals_come_from_the_locks_and_not_only_from_the_statement_check(folder: Path, worker: Worker) -> None:
    assert ask(worker, GOOD)  # the copy is there
    connection = open_locked(str(folder / "c.copy"), 2**28, 1)
    try:
        with pytest.raises(duckdb.PermissionException):
            connection.execute(f"SELECT * FROM read_csv('{folder}/loot.csv')")
        with pytest.raises(duckdb.PermissionException):
            connection.execute(f"COPY tacit_copy.t TO '{folder}/out.csv'")
        with pytest.raises(duckdb.PermissionException):
            connection.execute(f"ATTACH '{folder}/other.duckdb'")
        with pytest.raises(duckdb.PermissionException):
            connection.execute("LOAD httpfs")
        with pytest.raises(duckdb.InvalidInputException, match="locked"):
            connection.execute("SET threads = 2")
        with pytest.raises(duckdb.InvalidInputException, match="locked"):
            connection.execute("SET enable_external_access = true")
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            connection.execute("DELETE FROM tacit_copy.t")
    finally:
        connection.close()


def test_keys_are_whole_numbers_text_or_null_and_an_empty_sum_is_zero(worker: Worker) -> None:
    reply = ask(
        worker,
        "SELECT a, s, a > 8 AS b, CASE WHEN a > 8 THEN NULL ELSE a END AS c, sum(CASE WHEN a < 0 THEN a END) AS n "
        "FROM tacit_copy.t WHERE a IN (8, 9) GROUP BY ALL ORDER BY a",
        ("a", "s", "b", "c"),
    )
    assert reply == {"rows": 2, "keys": [[8, 9], ["x", "x"], [0, 1], [8, None]], "measures": [[0, 0]]}
    with pytest.raises(EngineError):
        ask(worker, "SELECT 1 AS n, DATE '2020-01-01' AS k", ("k",))
    with pytest.raises(EngineError):
        ask(worker, "SELECT 1 AS n, 2 AS n")


@pytest.mark.parametrize("rows", [3, 5_000])
def test_columns_of_words_are_those_that_were_read_one_by_one(worker: Worker, rows: int) -> None:
    sql = (
        "SELECT CASE WHEN i % 3 = 1 THEN NULL ELSE i END AS k, CASE WHEN i % 3 = 2 THEN NULL ELSE 'é' || i END AS s, "
        "CASE WHEN i % 2 = 0 THEN NULL WHEN i = 1 THEN 9223372036854775807 ELSE -9223372036854775807 + i END AS n, "
        f"CAST(i AS {{kind}}) AS m FROM range({rows}) t(i) ORDER BY i"
    )
    short, long = (
        worker.ask({"sql": sql.replace("{kind}", kind), "keys": ["k", "s"], "measures": ["n", "m"]})
        for kind in ("BIGINT", "HUGEINT")
    )
    assert short["keys"] == long["keys"]
    assert [list(map(int, column)) for column in short["measures"]] == long["measures"]
    assert long["measures"][0][:4] == [0, 2**63 - 1, 0, 4 - 2**63][: len(long["measures"][0])]
    assert short["keys"][0][:3] == [0, None, 2]
    assert short["keys"][1][:3] == ["é0", "é1", None]
    assert isinstance(short["measures"][0], np.ndarray) == (rows > 1_000)


def test_a_worker_that_takes_too_long_is_killed_and_the_next_question_is_answered(folder: Path, worker: Worker) -> None:
    assert ask(worker, GOOD)
    slow = Worker(str(folder / "c.copy"), Limits(seconds=1))
    try:
        slow.start()
        first = slow.pid
        assert first is not None
        began = time.monotonic()
        refused(
            slow, "SELECT count(*) AS n FROM range(1000000000) a, range(1000000000) b WHERE hash(a.range, b.range) = 1"
        )
        assert time.monotonic() - began < 300  # generous: the query would take years
        with pytest.raises(ProcessLookupError):
            os.kill(first, 0)
        good = slow.ask(
            {"sql": GOOD, "keys": [], "measures": ["n"]}, seconds=120
        )  # not one: on a busy machine it is short
        assert good["measures"] == [[10]]
        assert slow.pid != first
    finally:
        slow.close()


def test_a_worker_that_wants_too_much_memory_fails_in_the_same_words(folder: Path, worker: Worker) -> None:
    assert ask(worker, GOOD)
    small = Worker(str(folder / "c.copy"), Limits(memory=2**27, address_space=2**31, seconds=60))
    try:
        refused(small, "SELECT length(repeat(s, 4000000000)) AS n FROM tacit_copy.t")
        refused(small, "SELECT count(DISTINCT range) AS n FROM range(100000000)")
        assert ask(small, GOOD)["measures"] == [[10]]
    finally:
        small.close()


def test_the_limits_hold_in_the_process_itself(worker: Worker) -> None:
    assert ask(worker, GOOD)
    limits = Path(f"/proc/{worker.pid}/limits").read_text()
    values = {line[:26].strip(): line[26:].split()[:2] for line in limits.splitlines()}
    assert values["Max address space"] == [str(6 * 2**30)] * 2
    assert values["Max file size"] == ["0", "0"]
    assert values["Max core file size"] == ["0", "0"]


def test_a_worker_killed_from_outside_is_replaced(worker: Worker) -> None:
    assert ask(worker, GOOD)
    assert worker.pid is not None
    os.kill(worker.pid, 9)
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)  # until all its threads are dead; it stays listed
    assert ask(worker, GOOD)["measures"] == [[10]]


def test_what_is_foretold_is_read_and_not_run_whatever_it_says(worker: Worker) -> None:
    assert ask(worker, GOOD)
    for foretold in (
        GOOD,
        "not sql",
        "SELECT count(*) AS n FROM nowhere",
        "SELECT error('run') AS n",
        ";",
        "x" * 2**17,
    ):
        worker.foretell({"soon": foretold})
        worker.foretell({"soon": foretold})
        assert ask(worker, GOOD)["measures"] == [[10]]
        assert ask(worker, GOOD)["measures"] == [[10]]
    for sql in ("SELECT 1 AS n; SELECT 2 AS n", "DELETE FROM tacit_copy.t", "SELECT count(*) AS n FROM nowhere"):
        worker.foretell({"soon": sql})
        refused(worker, sql)


def test_foretelling_waits_for_nobody_and_starts_nothing(folder: Path, worker: Worker) -> None:
    asleep = Worker(str(folder / "c.copy"), Limits())
    asleep.foretell({"soon": GOOD})
    assert asleep.pid is None
    assert ask(worker, GOOD)
    with worker._lock:  # somebody asks
        worker.foretell({"soon": GOOD})
    assert worker.pid is not None
    os.kill(worker.pid, 9)
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    worker.foretell({"soon": GOOD})
    assert ask(worker, GOOD)["measures"] == [[10]]


def test_a_missing_copy_fails_in_the_same_words(tmp_path: Path) -> None:
    lost = Worker(str(tmp_path / "absent.copy"), Limits())
    with pytest.raises(EngineError) as refusal:
        lost.start()
    assert str(refusal.value) == FAILED
    lost.close()


def test_messages_are_plain_and_bounded() -> None:
    message = {"sql": "é\n'", "keys": [1, 2**80, None, True], "measures": [[-1]]}
    packed = wire.pack(message)
    header, body = packed[: wire.HEADER.size], packed[wire.HEADER.size :]
    assert wire.length(header) == len(body)
    assert wire.unpack(body) == message
    with pytest.raises(ValueError, match="too long"):
        wire.length(wire.HEADER.pack(2**30 + 1))
    with pytest.raises(ValueError, match=r"JSON|Out of range"):
        wire.pack(float("nan"))


def test_columns_of_words_travel_behind_the_text() -> None:
    columns = [np.array(column, dtype=np.int64) for column in ([1, -(2**63), 2**63 - 1], [], [7])]
    message = {"measures": columns, "keys": [["a"]], "rows": 3}
    packed = wire.pack(message)
    body = packed[wire.HEADER.size :]
    found = wire.unpack(body)
    assert [column.tolist() for column in found["measures"]] == [column.tolist() for column in columns]
    assert all(column.dtype == np.int64 for column in found["measures"])
    assert (found["keys"], found["rows"]) == ([["a"]], 3)
    for wrong in (np.array([1.5]), np.array([[1]]), np.array([True]), {1, 2}):
        with pytest.raises(TypeError):
            wire.pack({"measures": [wrong]})
    packs = wire.HEADER.pack
    for bad in (b"", b"\0" * 7, body[:-1], packs(2) + b"{", packs(1) + b"x", packs(3) + b"{}", packs(2) + b"[]"):
        with pytest.raises(ValueError):  # noqa: PT011  # by JSON, by numpy or by us
            wire.unpack(bad)


@pytest.mark.parametrize(
    "words",
    [
        "[-1,1]",
        "[0,-1]",
        "[0,2]",
        "[1,1]",
        "7",
        '["a",1]',
        "[0]",
        "[0.5,1]",
        "[false,1]",
        "[100000000000000000000000,1]",
    ],
)
def test_words_that_are_not_there_are_refused(words: str) -> None:
    text = f'{{"measures":[{{"words":{words}}}]}}'.encode()
    with pytest.raises(ValueError):  # noqa: PT011  # by JSON, by numpy or by us
        wire.unpack(wire.HEADER.pack(len(text)) + text + bytes(8))
    with pytest.raises(ValueError, match="not a message"):
        wire.unpack(wire.HEADER.pack(15) + b'{"words":[0,1]}' + bytes(8))


def test_an_engine_failure_inside_the_worker_is_one_word(folder: Path, worker: Worker) -> None:
    assert ask(worker, GOOD)
    connection = open_locked(str(folder / "c.copy"), 2**28, 1)
    try:
        sql = "SELECT error('row 7') AS n"
        assert answer(connection, {"sql": sql, "keys": [], "measures": ["n"]}) == {"failed": True}
    finally:
        connection.close()
