"""Opening a policy on Spark: what killed clients leave, copies made anew, what is said at once, and `tacit init`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app
from tacit.engines import leases
from tacit.engines.engine import STALE
from tacit.engines.spark import copy as working_copy
from tacit.engines.spark import engine as spark_engine
from tacit.engines.spark.engine import Session, SparkEngine
from tacit.errors import EngineError
from tacit.loss.budget import Budget
from tacit.policy import Column, ColumnUnit, Policy, Source, Table
from tests.engines.spark.test_engine import asked
from tests.engines.spark_session import MASTER
from tests.engines.spark_tables import command

pytestmark = pytest.mark.spark
COUNT = 'SELECT count(*) AS m0 FROM tacit_copy."t" AS "t"'
CHILD = """
import sys, time
from tacit.engines.spark.engine import SparkEngine
from tests.engines.spark.test_engine_opening import policy_of
engine = SparkEngine.register(policy_of(sys.argv[1], None))
print(engine._copy.path, engine._session.worker._path, engine._session.worker.pid, flush=True)
time.sleep(900)
"""


def policy_of(place: str, copy: Path | None) -> Policy:
    columns = {"v": Column("v", "integer", 0, 9)}
    table = Table("t", Source("spark", MASTER, place), ColumnUnit("who"), 2, columns)
    return Policy("p", {"t": table}, Budget(3, 1e-6), working_copy=None if copy is None else str(copy))


def people(folder: Path, *units: int) -> str:
    pq.write_table(pa.table({"who": pa.array(units), "v": pa.array([1] * len(units))}), folder / "t.parquet")
    return str(folder / "t.parquet")


def gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_killed_client_leaves_no_rows_behind(spark: Session, tmp_path: Path) -> None:
    place = people(tmp_path, 1, 2)
    with SparkEngine.register(policy_of(place, None), session=spark) as ours:
        root = Path(__file__).resolve().parents[3]
        paths = os.pathsep.join([str(root / "src"), str(root)])
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, place], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": paths}
        )
        assert child.stdout is not None
        copy, home, worker = child.stdout.readline().decode().split()
        assert list(Path(copy).glob("0.parquet/*.parquet"))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
        deadline = time.monotonic() + 60
        while not gone(int(worker)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert gone(int(worker)), "Spark goes with the client"
        leases.sweep(working_copy.memory(), working_copy.PREFIX)
        leases.sweep(Path(tempfile.gettempdir()), working_copy.PREFIX)
        assert not Path(copy).exists()
        assert not Path(home).exists()
        assert asked(ours, COUNT) == {(): (2,)}, "what a living client has stays"


def test_a_build_whose_builder_was_killed_goes_at_the_next_opening(spark: Session, tmp_path: Path) -> None:
    policy = policy_of(people(tmp_path, 1, 2), tmp_path / "copy")
    SparkEngine.register(policy, session=spark).close()
    left = leases.make(tmp_path / "copy", "build-")
    (left.path / "units.parquet").mkdir()
    left.close()
    people(tmp_path, 1, 2, 3)
    with SparkEngine.register(policy, session=spark) as engine:
        assert not left.path.exists()
        assert {each.name for each in (tmp_path / "copy").iterdir()} == {"about.json", engine._copy.path.name}


def test_a_copy_made_anew_forgets_who_was_erased_and_those_who_read_the_old_one_are_told(
    spark: Session, tmp_path: Path
) -> None:
    """A view cannot be watched: each opening registers it, and `anew` tells the others."""
    command(spark, "CREATE OR REPLACE TEMPORARY VIEW watched AS SELECT id AS who, 1 AS v FROM range(5)")
    policy = policy_of("watched", tmp_path / "copy")
    one = SparkEngine.register(policy, session=spark)
    command(spark, "CREATE OR REPLACE TEMPORARY VIEW watched AS SELECT id AS who, 1 AS v FROM range(3)")
    two = SparkEngine.register(policy, session=spark)
    assert not one.is_stale()  # another opening takes nothing from it: it still reads what it registered
    assert asked(one, COUNT) == {(): (5,)}
    assert asked(two, COUNT) == {(): (3,)}
    assert one.fingerprint() != two.fingerprint()
    with SparkEngine.register(policy, session=spark, anew=True) as three:
        assert one.is_stale()
        assert two.is_stale()
        assert not three.is_stale()
        with pytest.raises(EngineError, match=STALE.split(".")[0]):
            asked(one, COUNT)
    one.close()
    two.close()
    with SparkEngine.register(policy, session=spark) as four:
        assert {each.name for each in (tmp_path / "copy").glob("build-*")} == {four._copy.path.name}


def test_a_copy_with_a_file_missing_is_made_again_before_anyone_asks(spark: Session, tmp_path: Path) -> None:
    policy = policy_of(people(tmp_path, 1, 2), tmp_path / "copy")
    with SparkEngine.register(policy, session=spark) as engine:
        next(engine._copy.path.glob("0.parquet/*.parquet")).unlink()
    with SparkEngine.register(policy, session=spark) as engine:
        assert asked(engine, COUNT) == {(): (2,)}


def test_a_copy_that_spark_cannot_read_is_said_when_it_is_opened(
    spark: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(*arguments: object, **named: object) -> object:
        copy = built(*arguments, **named)  # type: ignore[arg-type]
        shutil.rmtree(copy.path / "0.parquet")
        return copy

    built = working_copy.build
    monkeypatch.setattr(spark_engine.working_copy, "build", elsewhere)
    with pytest.raises(EngineError, match="cannot read the working copy"):
        SparkEngine.register(policy_of(people(tmp_path, 1), tmp_path / "copy"), session=spark)


def test_init_writes_a_policy_that_check_accepts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: Session
) -> None:
    class Shared:
        """The session of the tests, which the command neither starts nor ends."""

        def __init__(self, *_: object) -> None:
            self.worker = spark.worker

        def close(self) -> None:
            pass

    monkeypatch.setattr(spark_engine, "Session", Shared)
    (tmp_path / "data").mkdir()
    people(tmp_path / "data", 1, 2)
    (tmp_path / "data" / "visits.csv").write_text("who,day\n1,2024-01-01\n")
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(app, ["init", MASTER, "data/t.parquet", "data/visits.csv"])
    assert told.exit_code == 0, told.output
    written = (tmp_path / "t.toml").read_text()
    assert f'source = "{MASTER}"' in written
    assert 'table = "data/visits.csv"' in written
    (tmp_path / "t.toml").write_text(written.replace('unit = "FILL IN"', 'unit = "who"').replace("# v = ", "v = "))
    refused = CliRunner().invoke(app, ["check", "t.toml"])
    assert refused.exit_code != 0  # a bigint in one table and text in the other: whose row is it?
    (tmp_path / "data" / "visits.csv").unlink()
    (tmp_path / "t.toml").unlink()
    assert CliRunner().invoke(app, ["init", MASTER, "data/t.parquet"]).exit_code == 0
    written = (tmp_path / "t.toml").read_text()
    (tmp_path / "t.toml").write_text(written.replace('unit = "FILL IN"', 'unit = "who"').replace("# v = ", "v = "))
    checked = CliRunner().invoke(app, ["check", "t.toml"])
    assert checked.exit_code == 0, checked.output
    assert "is in order" in checked.output
