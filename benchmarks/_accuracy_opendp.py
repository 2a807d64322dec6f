"""OpenDP's part of the accuracy benchmark: the Polars context API, with the person as the privacy unit.

    python benchmarks/_accuracy_opendp.py FOLDER DRAWS

A context finds its scales anew for every release, which takes seconds; they do not depend on the data. So each question
is planned once, OpenDP says the scales of its noise (`summarize`), and as many numbers are drawn from its own mechanism
of that scale. Means are sum over count, centred by hand (x - 50), which is the best its users can do.
"""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path
from typing import Any

import opendp.prelude as dp
import polars as pl

from _accuracy_questions import PEOPLE, QUESTIONS, REGIONS, ROWS, SEXES, TOP, Question
from _peers import tell

X = pl.col("x")
CENTRED = (X - TOP // 2).alias("centred")
TOTAL = X.dp.sum((0, TOP))


def context(frame: pl.LazyFrame, question: Question) -> dp.Context:
    """A budget for one question."""
    delta = float(question.delta)
    loss = dp.loss_of(epsilon=float(question.epsilon), **({"delta": delta} if delta else {}))
    return dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(contributions=1, identifier="who"),
        privacy_loss=loss,
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=by, max_length=ROWS, max_groups=20) for by in ([], ["sex"], ["region"], ["word"])],
    )


def asked(frame: pl.LazyFrame, question: Question) -> Any:
    """The question as OpenDP understands it, or None."""
    query = context(frame, question).query().truncate_per_group(question.rows_per_unit)
    label = question.label
    if label.startswith("count, "):
        return query.select(dp.len())
    if label.startswith("count of units"):
        # one row of each person is as good a count of people
        return context(frame, question).query().truncate_per_group(1).select(dp.len())
    if label.startswith("sum, "):
        return query.select(TOTAL)
    if label.startswith("mean, "):
        return query.with_columns(CENTRED).select(dp.len(), pl.col("centred").dp.sum((-TOP // 2, TOP // 2)))
    if label == "counts by a known key":
        return query.group_by("region").agg(dp.len()).with_keys(pl.LazyFrame({"region": REGIONS}))
    if label.startswith("count and sum"):
        return query.group_by("sex").agg(dp.len(), TOTAL).with_keys(pl.LazyFrame({"sex": SEXES}))
    if label == "counts by an unknown key":
        return query.group_by("word").agg(dp.len())
    if label == "count with WHERE":
        region = pl.col("region")
        chosen = (X > 30) & (pl.col("sex") == "F") | (region == "east") | (region == "west")
        return query.filter(chosen).select(dp.len())
    return None


def drawn(law: str, scale: float, draws: int) -> list[float]:
    """Numbers of OpenDP's own noise."""
    space = dp.vector_domain(dp.atom_domain(T="i64"))
    if "Laplace" in law:
        return list(dp.m.make_laplace(space, dp.l1_distance(T="i64"), scale)([0] * draws))
    return list(dp.m.make_gaussian(space, dp.l2_distance(T="f64"), scale)([0] * draws))


def main(folder: Path, draws: int) -> None:
    dp.enable_features("contrib", "honest-but-curious")
    warnings.filterwarnings("ignore")
    frame = pl.read_csv(folder / "visits.csv").lazy()
    for question in QUESTIONS:
        try:
            query = asked(frame, question)
            if query is None:
                continue
            noise = [drawn(row["distribution"], row["scale"], draws) for row in query.summarize().iter_rows(named=True)]
        except dp.OpenDPException as refused:
            tell(question=question.label, trouble=str(refused).strip().splitlines()[0][:100])
            continue
        deviations = [math.sqrt(sum(value**2 for value in values) / draws) for values in noise]
        if question.label.startswith("mean"):
            # a first-order quotient, as for ours; x is even around the centre, so the count's noise has no weight
            deviations = [deviations[1] / PEOPLE]
        tell(question=question.label, deviations=deviations, draws=draws)
    tell(done=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
