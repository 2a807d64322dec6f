"""One Spark for all tests that need one: local, with two threads, in a process of its own.

Its worker is the real one, which also runs the commands that make the tables of a test (`spark_tables`).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from tacit.engines.spark.engine import LIMITS, Session

MASTER = "local[2]"
MISSING = next(
    (
        words
        for words, there in (
            ("pyspark is not installed here: run `python3 go.py spark`", importlib.util.find_spec("pyspark")),
            (
                "Spark needs Java 17 or newer, which is not installed",
                os.environ.get("JAVA_HOME") or shutil.which("java"),
            ),
        )
        if not there
    ),
    None,
)


# Java's second compiler works on for minutes at what a test runs twice; one thread collects garbage as well as many.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"


@contextmanager
def running() -> Iterator[Session]:
    """A session that is patient: how fast the machine is says nothing about the code."""
    root = str(Path(__file__).resolve().parents[2])
    paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), root]))
    limits = replace(LIMITS, start_seconds=900.0, seconds=600.0, threads=2, memory=2**30)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "spark-defaults.conf").write_text(f"spark.driver.defaultJavaOptions {JAVA}\n")
        with _told({"PYTHONPATH": paths, "SPARK_CONF_DIR": folder}):
            session = Session(MASTER, limits, "tests.engines.spark_tables")
            try:
                yield session
            finally:
                session.close()


@contextmanager
def _told(values: Mapping[str, str]) -> Iterator[None]:
    """Variables of the environment, for as long as the session may have to be started again."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            with suppress(KeyError):
                del os.environ[name]
            if value is not None:
                os.environ[name] = value
