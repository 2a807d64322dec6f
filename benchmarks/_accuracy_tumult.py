"""Tumult Analytics' part of the accuracy benchmark, on Spark; it has an environment of its own.

    .venv-tumult/bin/python benchmarks/_accuracy_tumult.py FOLDER

An evaluation takes seconds, so no noise is drawn: before evaluating, a session can say which noise it would add and of
which parameter, and the deviation follows exactly. What it says of a mean or a variance is about the sums inside; the
quotient's deviation is worked out here to first order, as for ours, with values spread evenly over their bounds.
"""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path
from typing import Any

from tmlt.analytics import AddRowsWithID, KeySet, MaxRowsPerID, PureDPBudget, QueryBuilder, Session

from _accuracy_questions import QUESTIONS, REGIONS, SEXES, TOP, WORDS, Question
from _peers import tell
from _sql_tumult import started


def asked(question: Question) -> list[Any]:
    """The question as Tumult understands it: one query for each aggregate, or none."""
    query: Any = QueryBuilder("visits")
    label = question.label
    if label == "count with WHERE":
        query = query.filter("x > 30 AND sex = 'F' OR region IN ('east', 'west')")
    query = query.enforce(MaxRowsPerID(question.rows_per_unit))
    if label == "counts by a known key":
        return [query.groupby(KeySet.from_dict({"region": list(REGIONS)})).count()]
    if label.startswith("count and sum"):
        grouped = query.groupby(KeySet.from_dict({"sex": list(SEXES)}))
        return [grouped.count(), grouped.sum("x", 0, TOP)]
    if label.startswith("count of units"):
        return [query.count_distinct(["who"])]
    if label == "counts by an unknown key":
        return [query.groupby(KeySet.from_dict({"word": [f"word{number}" for number in range(WORDS)]})).count()]
    if label.startswith("count"):
        return [query.count()] if question.keys == () else []
    if label.startswith("sum"):
        return [query.sum("x", 0, TOP)]
    if label.startswith("mean"):
        return [query.average("x", 0, TOP)]
    if label.startswith("variance"):
        return [query.variance("x", 0, TOP)]
    if label.startswith("standard deviation"):
        return [query.stdev("x", 0, TOP)]
    return []


def deviation(info: dict[str, Any]) -> float:
    """The standard deviation of one noise as Tumult describes it: a scale of Laplace noise, whole or real."""
    law, parameter = info["noise_mechanism"].name, float(info["noise_parameter"])
    if law == "GEOMETRIC":
        a = math.exp(-1 / parameter)
        return math.sqrt(2 * a) / (1 - a)
    if law == "LAPLACE":
        return math.sqrt(2) * parameter
    raise ValueError(f"no formula for {law}")


def outcome(question: Question, noises: list[float]) -> float:
    """The deviation of an aggregate whose inside has this noise, to first order.

    A mean is (sum around the middle)/count. A variance is Q/n + q - (S/n + c)**2 with Q the sum of x**2 - q around the
    middle q of the squares and S that of x - c; of evenly spread x in 0 .. TOP, S/n is 0 and Q/n is mean(x**2) - q.
    """
    rows = question.rows
    if question.label.startswith("mean"):
        return max(noises) / rows  # the count's noise has no weight where the mean is the middle
    if question.label.startswith(("variance", "standard deviation")):
        squares, total, count = sorted(noises, reverse=True)
        lacking = TOP**2 / 2 - (TOP * (2 * TOP + 1)) / 6
        variance = math.hypot(squares, TOP * total, lacking * count) / rows
        root = math.sqrt(TOP * (TOP + 2) / 12)
        return variance if question.label.startswith("variance") else variance / (2 * root)
    (noise,) = noises
    return noise


def main(folder: Path) -> None:
    warnings.filterwarnings("ignore")
    spark = started(folder)
    frame = spark.read.csv(str(folder / "visits.csv"), header=True, inferSchema=True).cache()
    session = Session.from_dataframe(
        privacy_budget=PureDPBudget(float("inf")),
        source_id="visits",
        dataframe=frame,
        protected_change=AddRowsWithID("who"),
    )
    for question in QUESTIONS:
        queries = asked(question)
        if not queries:
            continue
        # unknown keys are a query of their own (get_groups), before the counts
        bought = 2 if "unknown" in question.label else len(queries)
        budget = PureDPBudget(float(question.epsilon) / bought)
        infos = [session._noise_info(query, budget) for query in queries]
        tell(
            question=question.label,
            deviations=[outcome(question, [deviation(each) for each in info]) for info in infos],
            said=[[f"{each['noise_mechanism'].name} {each['noise_parameter']}" for each in info] for info in infos],
        )
    spark.stop()
    tell(done=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
