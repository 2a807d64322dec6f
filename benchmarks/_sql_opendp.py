"""OpenDP's part of the SQL benchmark: the Polars context API with an identifier as the privacy unit.

    python benchmarks/_sql_opendp.py FOLDER RUNS

The rows are in memory as a Polars frame before the clock starts. Each release asks for the count and the sum, and the
mean is their quotient: the least that OpenDP can be asked for. The keys are handed over as a public key set. At most
KEPT_PER_USER rows of a user are kept by `truncate_per_group`, with its default of a random sample.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import opendp.prelude as dp
import polars as pl

from _cost import measured
from _peers import tell
from _sql_data import CATEGORIES, EPSILON, KEPT_PER_USER, MOST, REGIONS, SHAPES

CATEGORY = pl.DataFrame({"category": CATEGORIES}, schema={"category": pl.Int32})
REGION = pl.DataFrame({"region": REGIONS})
KEYS = {"one key": CATEGORY, "WHERE, one key": CATEGORY, "two keys": CATEGORY.join(REGION, how="cross")}


def context(frame: pl.DataFrame, releases: int) -> dp.Context:
    """A fresh budget of EPSILON a release, with what is public about each grouping."""
    groups = {(): 1, ("category",): len(CATEGORIES), ("category", "region"): len(CATEGORIES) * len(REGIONS)}
    return dp.Context.compositor(
        data=frame.lazy(),
        privacy_unit=dp.unit_of(contributions=1, identifier="user_id"),
        privacy_loss=dp.loss_of(epsilon=EPSILON * releases),
        split_evenly_over=releases,
        margins=[
            dp.polars.Margin(by=list(by), max_length=2 * len(frame), max_groups=most) for by, most in groups.items()
        ],
    )


def release(asked: dp.Context, shape: str, limit: int) -> pl.DataFrame:
    """One answer of this shape."""
    query: Any = asked.query().truncate_per_group(KEPT_PER_USER)
    if "WHERE" in shape:
        query = query.filter((pl.col("amount") < limit) & (pl.col("region") != "lakes"))
    measures = [dp.len(signed=True), pl.col("amount").dp.sum((0.0, MOST))]
    if shape in KEYS:
        query = query.group_by(KEYS[shape].columns).agg(*measures).with_keys(KEYS[shape])
    else:
        query = query.select(*measures)
    released: pl.DataFrame = query.release().collect()
    return released


def main(folder: Path, runs: int) -> None:
    dp.enable_features("contrib", "honest-but-curious")
    with measured() as cost:
        frame = pl.read_parquet(folder / "purchases.parquet")
    tell(setup=cost.wall, rows=len(frame))
    asked = context(frame, len(SHAPES) * runs)
    for shape in SHAPES:
        for run in range(runs):
            with measured() as cost:
                release(asked, shape, 100 + run)
            tell(shape=shape, cpu=cost.cpu, wall=cost.wall)
    tell(done=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
