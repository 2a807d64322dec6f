"""Tumult Analytics' part of the statistics benchmark, on Spark; it has an environment of its own.

    .venv-tumult/bin/python benchmarks/_statistics_tumult.py FOLDER RUNS QUESTION...

FOLDER holds an .npz file for each data set: its `values`, the upper bound `top` (the lower one is 0), and the number of
`bins` where a histogram is among the questions. Each question is asked as its guide asks it, in pure privacy, where one
row is added or removed; the three quartiles share epsilon.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from tmlt.analytics import AddOneRow, BinningSpec, KeySet, PureDPBudget, QueryBuilder, Session

from _peers import tell
from _sql_tumult import started
from _statistics_peers import MOST_ROWS

EPSILONS = (0.1, 1.0)


@dataclass(frozen=True, slots=True)
class Copies:
    """Data sets with the same bounds, each copied once for every run, in one table with a public key for the run.

    A question costs Spark seconds, so one question gives all runs of all data sets: it is grouped by the run. To
    Tumult, whose unit is one row, a row is in one group only, so every group has the noise of the whole epsilon, drawn
    independently: each group is a run as if it had been asked alone.
    """

    session: Session
    names: tuple[str, ...]  # the data set of each run
    top: float
    bins: int

    def released(self, query: Any, epsilon: float) -> list[Any]:
        """The only column that is no key, by run (and by bin within a run)."""
        found = self.session.evaluate(query, privacy_budget=PureDPBudget(epsilon)).toPandas()
        keys = [name for name in ("run", "bin") if name in found]
        return found.sort_values(keys).drop(columns=keys).iloc[:, 0].tolist()

    @property
    def runs(self) -> dict[str, list[Any]]:
        return {"run": list(range(len(self.names)))}

    @property
    def by_run(self) -> Any:
        return QueryBuilder("rows").groupby(KeySet.from_dict(self.runs))


def median(copies: Copies, epsilon: float) -> list[Any]:
    return _quantiles(copies, [0.5], epsilon)


def quartiles(copies: Copies, epsilon: float) -> list[Any]:
    return _quantiles(copies, [0.25, 0.5, 0.75], epsilon)


def _quantiles(copies: Copies, shares: list[float], epsilon: float) -> list[Any]:
    queries = [copies.by_run.quantile("value", quantile=share, low=0.0, high=copies.top) for share in shares]
    return np.transpose([copies.released(query, epsilon / len(shares)) for query in queries]).tolist()


def mean(copies: Copies, epsilon: float) -> list[Any]:
    found = copies.released(copies.by_run.average("value", low=0.0, high=copies.top), epsilon)
    return np.clip(found, 0, copies.top).tolist()  # it may leave the bounds; whoever gets it knows them


def variance(copies: Copies, epsilon: float) -> list[Any]:
    return copies.released(copies.by_run.variance("value", low=0.0, high=copies.top), epsilon)


def histogram(copies: Copies, epsilon: float) -> list[Any]:
    places = list(range(copies.bins))
    edges = [float(edge) for edge in np.linspace(0, copies.top, copies.bins + 1)]
    # as numpy's: a bin holds its left edge, the last one both
    bins = BinningSpec(edges, names=places, right=False)
    keys = KeySet.from_dict({**copies.runs, "bin": places})
    query = QueryBuilder("rows").bin_column("value", bins, name="bin").groupby(keys).count()
    return np.reshape(copies.released(query, epsilon), (-1, copies.bins)).tolist()


QUESTIONS: dict[str, Callable[[Copies, float], list[Any]]] = {
    "median": median,
    "quartiles": quartiles,
    "mean": mean,
    "variance": variance,
    "histogram": histogram,
}


def copied(spark: SparkSession, sets: dict[str, Any], runs: int) -> Copies:
    """The table of these sets."""
    names: list[str] = []
    parts: list[DataFrame] = []
    for name, held in sets.items():
        values = held["values"].tolist()
        first, each = len(names), min(runs, MOST_ROWS // len(values))
        names += [name] * each
        once = spark.createDataFrame([(float(value),) for value in values], "value double")
        parts.append(once.crossJoin(spark.range(first, first + each).withColumnRenamed("id", "run")))
    session = Session.from_dataframe(
        privacy_budget=PureDPBudget(float("inf")),
        source_id="rows",
        dataframe=reduce(DataFrame.union, parts).cache(),
        protected_change=AddOneRow(),
    )
    (top, bins) = {(float(held["top"]), int(held.get("bins", 0))) for held in sets.values()}.pop()
    return Copies(session, tuple(names), top, bins)


def main(folder: Path, runs: int, questions: list[str]) -> None:
    warnings.filterwarnings("ignore")
    os.environ["PYTHONOPTIMIZE"] = "1"  # for Spark's workers: no check of types for every row, and the same noise
    spark = started(folder)
    sets: dict[float, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.npz")):
        held = dict(np.load(path))
        sets.setdefault(float(held["top"]), {})[path.stem] = held
    for alike in sets.values():
        copies = copied(spark, alike, runs)
        for what in questions:
            for epsilon in EPSILONS:
                found = QUESTIONS[what](copies, epsilon)
                for name in alike:
                    own = [value for value, owner in zip(found, copies.names, strict=True) if owner == name]
                    # a variance is NaN where the noisy count is at most 1; to leave such runs out is in its favour
                    answered = [value for value in own if np.isfinite(value).all()]
                    tell(data=name, what=what, epsilon=epsilon, runs=len(own), values=answered)
        spark.catalog.clearCache()
    spark.stop()
    tell(done=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
