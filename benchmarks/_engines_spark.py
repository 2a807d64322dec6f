"""Spark's part of the benchmark of engines, in the environment that has pyspark.

    .venv-spark/bin/python benchmarks/_engines_spark.py FOLDER RUNS

One local session; the pushed-down query and the plain one take turns in it.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

from _peers import tell
from _sql_data import SHAPES
from tacit.engines.spark.engine import LIMITS, Session, SparkEngine
from tacit.plan import make_plan
from tacit.policy.read import parse
from tacit.question import read

KEYS = {"total": [], "one key": ["category"], "WHERE, one key": ["category"], "two keys": ["category", "region"]}


def main(folder: Path, runs: int) -> None:
    source = 'source = "local[2]"\ntable = "purchases.parquet"'
    toml = (folder / "policy.toml").read_text().replace('source = "purchases.parquet"', source)
    policy = parse(toml.replace("purchases.copy", "spark.copy"), directory=str(folder))
    session = Session("local[2]", replace(LIMITS, seconds=600, start_seconds=600))
    started = time.perf_counter()
    engine = SparkEngine.register(policy, session=session)
    tell(registration=time.perf_counter() - started)
    table = {"purchases": ["parquet", str(folder / "purchases.parquet")]}
    session.worker.ask({"task": "describe", "sources": table}, 600)
    for shape, text in SHAPES.items():
        sql = text.format(limit=50)
        query = make_plan(read(sql), policy, epsilon=1).query
        # the worker returns whole numbers only
        plain = sql.replace("sum(amount)", "CAST(sum(amount) AS BIGINT)")
        plain = plain.replace("avg(amount)", "CAST(avg(amount) AS BIGINT)")
        asked = {"task": "run", "sql": plain, "views": {}, "seconds": 600, "keys": KEYS[shape]}
        ours, theirs = [], []
        for _ in range(runs + 1):  # the first one warms up
            started = time.perf_counter()
            session.worker.ask({**asked, "measures": ["n", "total", "mean"]})
            theirs.append(time.perf_counter() - started)
            started = time.perf_counter()
            engine.run(query)
            ours.append(time.perf_counter() - started)
        tell(shape=shape, ours=median(ours[1:]), plain=median(theirs[1:]))
    engine.close()
    session.close()
    tell(done=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
