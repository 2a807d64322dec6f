"""One Spark for all tests that need one: local, with two threads, in a process of its own.

Its worker is the real one, which also runs the commands that make the tables of a test (`spark_tables`).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def running() -> Iterator[Session]:
    """A session that is patient: how fast the machine is says nothing about the code."""
    root = str(Path(__file__).resolve().parents[2])
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [before, root]))
    limits = replace(LIMITS, start_seconds=900.0, seconds=600.0, threads=2, memory=2**30)
    session = Session(MASTER, limits, "tests.engines.spark_tables")
    try:
        yield session
    finally:
        session.close()
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
