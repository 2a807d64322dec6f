"""The engine from files and frames to exact results: private files, rebuilt copies, refusals."""

from __future__ import annotations

import os
import signal
import stat
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot

from tacit.engines.discover import discover
from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.engines.secret import Secret
from tacit.engines.sources import resolved
from tacit.errors import EngineError, PolicyError
from tacit.loss.budget import Budget
from tacit.policy import ColumnUnit, PathUnit, Policy, Source, Table, anything, between, one_of

ROWS = "u,age,sex\n1,10,F\n1,20,M\n2,30,F\n3,999,M\n,50,F\n4,old,X\n"


@dataclass(frozen=True)
class Query:
    ast: Any
    key_columns: tuple[str, ...]
    measure_columns: tuple[str, ...]
    few: bool = False


def asking(sql: str, keys: tuple[str, ...], measures: tuple[str, ...]) -> Query:
    return Query(sqlglot.parse_one(sql, dialect="duckdb"), keys, measures)


BY_SEX = asking(
    "SELECT sex, count(*) AS n, sum(age) AS s FROM tacit_copy.t WHERE tacit_rank <= 5 GROUP BY sex",
    ("sex",),
    ("n", "s"),
)
COUNT = asking("SELECT count(*) AS n FROM tacit_copy.t", (), ("n",))


def people(source: Source, directory: Path, **rest: Any) -> Policy:
    columns = {
        "age": between(0, 110).column("age", "integer"),
        "sex": one_of("F", "M").column("sex", "text"),
    }
    table = Table("t", source, ColumnUnit("u"), 5, columns)
    return Policy("p", {"t": table}, Budget(3, 1e-6), directory=str(directory), **rest)


def opened(engine: DuckDBEngine, query: Query) -> dict[Any, list[int]]:
    return engine.run(query).open_for(
        lambda keys, columns: {key: [int(column[i]) for column in columns.values()] for i, key in enumerate(keys)}
    )


def as_csv(folder: Path) -> Source:
    (folder / "t.csv").write_text(ROWS)
    return Source("csv", "t.csv")


def as_parquet(folder: Path) -> Source:
    as_csv(folder)
    for part in (1, 2):
        duckdb.execute(
            f"COPY (SELECT u::INTEGER AS u, age, sex FROM read_csv('{folder}/t.csv', all_varchar = true) "
            f"WHERE u::INTEGER % 2 = {part - 1} OR (u IS NULL AND {part} = 1)) TO '{folder}/part{part}.parquet'"
        ).fetchall()  # the connection is everybody's
    return Source("parquet", "part*.parquet")


def as_duckdb(folder: Path) -> Source:
    as_csv(folder)
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE inside AS FROM read_csv('{folder}/t.csv', all_varchar = true)")
    return Source("duckdb", "t.duckdb", "inside")


@pytest.mark.parametrize("source", [as_csv, as_parquet, as_duckdb])
def test_every_kind_of_file_gives_the_same_exact_result(source: Callable[[Path], Source], tmp_path: Path) -> None:
    with DuckDBEngine.register(people(source(tmp_path), tmp_path)) as engine:
        assert opened(engine, BY_SEX) == {("F",): [2, 40], ("M",): [2, 130], (None,): [1, 0]}
        assert opened(engine, COUNT) == {(): [5]}
        assert set(engine.schema()["t"]) == {"u", "age", "sex"}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_in_memory_give_the_same_exact_result(library: str, tmp_path: Path) -> None:
    module = pytest.importorskip(library)
    pytest.importorskip("pyarrow")
    columns: dict[str, list[Any]] = {
        "u": [1, 1, 2, 3, None, 4],
        "age": [10.0, 20.0, 30.0, 999.0, 50.0, None],
        "sex": ["F", "M", "F", "M", "F", None],
    }
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    with DuckDBEngine.register(people(Source("frame", "t"), tmp_path), frames={"t": frame}) as engine:
        assert opened(engine, BY_SEX) == {("F",): [2, 40], ("M",): [2, 130], (None,): [1, 0]}
        assert engine.schema()["t"]["age"] == "real"
        assert not engine.is_stale()


def test_what_is_not_a_frame_is_refused(tmp_path: Path) -> None:
    policy = people(Source("frame", "t"), tmp_path)
    with pytest.raises(PolicyError, match=r"Got a builtins\.list"):
        DuckDBEngine.register(policy, frames={"t": [1]})
    with pytest.raises(PolicyError, match="not handed over"):
        DuckDBEngine.register(policy)


def test_the_copy_and_the_secret_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        policy = people(as_csv(tmp_path), tmp_path, working_copy="p.copy")
        DuckDBEngine.register(policy).close()
    finally:
        os.umask(old)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.copy", "p.copy.secret", "t.csv"]
    for name in ("p.copy", "p.copy.secret"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    (tmp_path / "p.copy").chmod(0o644)
    with pytest.raises(EngineError, match="owner only"):
        DuckDBEngine.register(policy)


def test_a_copy_in_memory_is_private_and_gone_when_closed(tmp_path: Path) -> None:
    engine = DuckDBEngine.register(people(as_csv(tmp_path), tmp_path))
    path = engine._path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    engine.close()
    assert not path.parent.exists()
    assert [each.name for each in tmp_path.iterdir()] == ["t.csv"]


def test_a_forked_child_has_a_worker_of_its_own_and_leaves_its_parents_alone(tmp_path: Path) -> None:
    with DuckDBEngine.register(people(as_csv(tmp_path), tmp_path)) as engine:
        assert opened(engine, COUNT) == {(): [5]}
        before = engine._worker.pid
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of a fork beside threads
            child = os.fork()
        if child == 0:
            signal.alarm(300)  # whatever happens, the child ends here, and its parent does not wait for ever
            status = 1
            try:
                answered = opened(engine, COUNT) == {(): [5]} and engine._worker.pid != before
                engine._worker.close()
                engine.close()
                status = 0 if answered else 1
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert engine._worker.pid == before
        assert opened(engine, COUNT) == {(): [5]}


def test_the_copy_is_kept_until_the_source_or_the_policy_changes(tmp_path: Path) -> None:
    policy = people(as_csv(tmp_path), tmp_path, working_copy="p.copy")
    built: list[str] = []

    def register(of: Policy) -> DuckDBEngine:
        return DuckDBEngine.register(of, progress=lambda table, step, steps: built.append(table))

    register(policy).close()
    assert built
    built.clear()
    with register(policy) as engine:
        assert not built
        assert opened(engine, COUNT) == {(): [5]}
        with (tmp_path / "t.csv").open("a") as file:
            file.write("9,1,F\n")
        assert engine.is_stale()
        with pytest.raises(EngineError, match="changed since"):
            engine.run(COUNT)
    with register(policy) as engine:
        assert built
        assert opened(engine, COUNT) == {(): [6]}
    built.clear()
    fewer = replace(policy, tables={"t": replace(policy.tables["t"], rows_per_unit=1)})
    with register(fewer) as engine:
        assert built
        assert opened(engine, COUNT) == {(): [5]}


def test_a_copy_that_is_damaged_is_built_again(tmp_path: Path) -> None:
    policy = people(as_csv(tmp_path), tmp_path, working_copy="p.copy")
    DuckDBEngine.register(policy).close()
    (tmp_path / "p.copy").write_bytes(b"not a database")
    with DuckDBEngine.register(policy) as engine:
        assert opened(engine, COUNT) == {(): [5]}


def test_a_source_that_changes_while_it_is_registered_is_not_registered(tmp_path: Path) -> None:
    policy = people(as_csv(tmp_path), tmp_path, working_copy="p.copy")

    def meddle(table: str, step: int, steps: int) -> None:
        (tmp_path / "t.csv").write_text(ROWS + "7,7,F\n" * (step + 1))

    with pytest.raises(EngineError, match="changed while"):
        DuckDBEngine.register(policy, progress=meddle)
    assert not (tmp_path / "p.copy").exists()


def test_sums_beyond_sixty_four_bits_are_exact(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("u,big\n" + "".join(f"{i},{2**62}\n" for i in range(9)))
    columns = {"big": between(0, 2**62).column("big", "integer")}
    table = Table("t", Source("csv", "t.csv"), ColumnUnit("u"), 1, columns)
    policy = Policy("p", {"t": table}, Budget(1), directory=str(tmp_path))
    with DuckDBEngine.register(policy) as engine:
        query = asking("SELECT sum(big) AS s FROM tacit_copy.t", (), ("s",))
        assert opened(engine, query) == {(): [9 * 2**62]}


def test_times_as_text_are_read_in_utc_wherever_the_engine_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    (tmp_path / "t.csv").write_text("u,at\n1,2020-01-02 00:00:00\n2,2020-01-02T00:00:00+02:00\n")
    column = between("2020-01-01", "2020-12-31").column("at", "timestamp")
    table = Table("t", Source("csv", "t.csv"), ColumnUnit("u"), 1, {"at": column})
    policy = Policy("p", {"t": table}, Budget(1), directory=str(tmp_path))
    with DuckDBEngine.register(policy) as engine:
        query = asking('SELECT "at", count(*) AS n FROM tacit_copy.t GROUP BY "at"', ("at",), ("n",))
        midnight = 18263 * 86_400 * 10**6
        assert opened(engine, query) == {(midnight,): [1], (midnight - 7200 * 10**6,): [1]}


def test_paths_and_public_tables_stand_in_one_copy(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("id,patient\nv1,ann\nv2,bob\nv3,ann\n")
    (tmp_path / "found.csv").write_text("visit,code\nv1,A\nv2,B\nv3,A\nv9,B\n")
    (tmp_path / "codes.csv").write_text("code,weight\nA,1\nB,2\n")
    code = anything().column("code", "text")
    policy = Policy(
        "p",
        {
            "visits": Table("visits", Source("csv", "visits.csv"), ColumnUnit("patient"), 2, {}),
            "found": Table("found", Source("csv", "found.csv"), PathUnit("visit", "visits", "id"), 1, {"code": code}),
            "codes": Table(
                "codes",
                Source("csv", "codes.csv"),
                None,
                1,
                {"code": code, "weight": between(0, 9).column("weight", "integer")},
                public=True,
            ),
        },
        Budget(1),
        directory=str(tmp_path),
    )
    with DuckDBEngine.register(policy) as engine:
        query = asking(
            "SELECT code, count(DISTINCT tacit_unit) AS n, sum(weight) AS w FROM tacit_copy.found "
            "JOIN tacit_copy.codes USING (code) GROUP BY code",
            ("code",),
            ("n", "w"),
        )
        assert opened(engine, query) == {("A",): [1, 1], ("B",): [1, 2]}
        shared = asking(
            "SELECT count(*) AS n FROM tacit_copy.found f JOIN tacit_copy.visits v ON f.tacit_unit = v.tacit_unit "
            "AND v.tacit_rank = 1",
            (),
            ("n",),
        )
        assert opened(engine, shared) == {(): [2]}


def test_a_policy_that_does_not_fit_its_source_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("uu,age,sexx\n")
    with pytest.raises(PolicyError, match="Did you mean 'sexx'"):
        DuckDBEngine.register(people(Source("csv", "t.csv"), tmp_path))
    with pytest.raises(EngineError, match=r"cannot be read: absent\.csv"):
        DuckDBEngine.register(people(Source("csv", "absent.csv"), tmp_path))
    with pytest.raises(PolicyError, match="hide the schema"):
        DuckDBEngine.register(people(Source("csv", "t.csv"), tmp_path, working_copy="tacit_copy.db"))


def test_a_secret_in_a_file_is_kept_and_guarded(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    first = Secret.in_file(path)
    assert path.stat().st_size == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Secret.in_file(path).key_for("t") == first.key_for("t")
    path.chmod(0o640)
    with pytest.raises(EngineError, match="owner only"):
        Secret.in_file(path)
    path.chmod(0o600)
    path.write_bytes(b"short")
    with pytest.raises(EngineError, match="32 bytes"):
        Secret.in_file(path)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(EngineError, match="plain file"):
        Secret.in_file(tmp_path / "link")


def test_discovering_names_tables_and_columns_without_types_from_values(tmp_path: Path) -> None:
    as_duckdb(tmp_path)
    sources, schema = discover([resolved("t.csv", str(tmp_path)), resolved("t.duckdb", str(tmp_path))])
    assert {name: source.format for name, source in sources.items()} == {"t": "csv", "inside": "duckdb"}
    assert schema["t"] == {"u": "text", "age": "text", "sex": "text"}


def replaced_bounds(policy: Policy, rows: int) -> Policy:
    return replace(policy, tables={"t": replace(policy.tables["t"], rows_per_unit=rows)})


def test_a_worker_that_starts_again_never_reads_a_copy_made_under_other_bounds(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("u,age,sex\n" + "1,10,F\n" * 40)
    policy = people(Source("csv", "t.csv"), tmp_path, working_copy="p.copy")
    narrow, wide = replaced_bounds(policy, 1), replaced_bounds(policy, 30)
    with DuckDBEngine.register(narrow) as engine:
        assert opened(engine, COUNT) == {(): [1]}
        with DuckDBEngine.register(wide) as other:  # the owner edited the policy, and somebody opened it
            assert opened(other, COUNT) == {(): [30]}
        assert opened(engine, COUNT) == {(): [1]}
        assert engine.is_stale()  # told before a charge
        engine._worker.close()  # as after a question that took too long
        with pytest.raises(EngineError):
            engine.run(COUNT)


def test_a_copy_made_anew_under_the_same_bounds_is_read_by_a_worker_that_starts_again(tmp_path: Path) -> None:
    policy = people(as_csv(tmp_path), tmp_path, working_copy="p.copy")
    with DuckDBEngine.register(policy) as engine:
        assert not engine.is_stale()
        DuckDBEngine.register(policy, anew=True).close()
        engine._worker.close()
        assert opened(engine, COUNT) == {(): [5]}


def test_a_kept_copy_of_another_frame_is_not_read_by_a_worker_that_starts_again(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    policy = people(Source("frame", "t"), tmp_path, working_copy="p.copy")
    one, other = (pa.table({"u": list(range(n)), "age": [10.0] * n, "sex": ["F"] * n}) for n in (3, 7))
    with DuckDBEngine.register(policy, frames={"t": one}) as engine:
        DuckDBEngine.register(policy, frames={"t": other}).close()  # elsewhere, under the same path
        assert opened(engine, COUNT) == {(): [3]}
        assert engine.is_stale()
        engine._worker.close()
        with pytest.raises(EngineError):
            engine.run(COUNT)
