"""Quantiles: what they cost beside the engine's own exact ones, and how far their ranks are off beside peers.

Cost: see `_quantiles_costs`. The bar is 3 times the exact query.
Error: a million rows, epsilon 1, one row of each unit; the largest error in rank over nine deciles, in rows, and of a
median. OpenDP scores candidates by rank, and candidates must be listed: it gets 1,000 equally spaced ones. Tumult
searches between bounds; it is asked for medians only, once, for each takes it minutes.
"""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from _peers import listen, python_of
from _quantiles_costs import DECILES, costs
from tacit.mechanisms import Quantiles

SIZE, MOST, RUNS = 10**6, 10**6, 3
SECONDS = 900.0
Values = NDArray[np.int64]


def main() -> str:
    """The section."""
    with tempfile.TemporaryDirectory(prefix="tacit-quantiles-") as folder:
        sections = ["## Quantiles", *costs(Path(folder)), *_errors(Path(folder))]
    return "\n\n".join(sections)


def _errors(folder: Path) -> list[str]:
    generator = np.random.default_rng(1)
    data = {
        "smooth": generator.integers(0, MOST, SIZE),
        "heavy": np.minimum(np.exp(generator.normal(8, 1.5, SIZE)), MOST - 1).astype(np.int64),
        "lumpy": generator.integers(0, 50, SIZE) * (MOST // 50),
    }
    theirs, trouble = _tumult(folder, data)
    lines = ["| data | asked | tacit | OpenDP | Tumult |", "|---|---|---|---|---|"]
    for name, unsorted in data.items():
        rows = np.sort(unsorted)
        for asked, shares in (("median", [Fraction(1, 2)]), ("nine deciles", DECILES)):
            ours = max(_off(rows, _tacit(rows, shares), shares) for _ in range(RUNS))
            opendp = max(_off(rows, _opendp(rows, shares), shares) for _ in range(RUNS))
            tumult = "not asked"
            if len(shares) == 1:
                tumult = f"{_off(rows, [theirs[name]], shares):,.0f}" if name in theirs else trouble
            lines.append(f"| {name} | {asked} | {ours:,.0f} | {opendp:,.0f} | {tumult} |")
            print(f"  {lines[-1]}", flush=True)
    note = (
        f"The largest error in rank, in rows of {SIZE:,} (0.1 % is {SIZE // 1000:,}), at epsilon 1; of {RUNS} runs, "
        f"and of one of Tumult."
    )
    return [note, "\n".join(lines)]


def _off(rows: Values, values: list[float], shares: list[Fraction]) -> float:
    errors = []
    for value, share in zip(values, shares, strict=True):
        wanted = float(share) * rows.size
        low, high = np.searchsorted(rows, value, "left"), np.searchsorted(rows, value, "right")
        errors.append(max(float(low) - wanted, wanted - float(high), 0.0))
    return max(errors)


def _tacit(rows: Values, shares: list[Fraction]) -> list[float]:
    values, counts = np.unique(rows, return_counts=True)
    chosen = Quantiles(MOST, shares, 1, 1).choose(values, np.cumsum(counts) - counts, counts, rows.size)
    return [float(value) for value in chosen]


def _opendp(rows: Values, shares: list[Fraction]) -> list[float]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    candidates = [float(place) for place in np.linspace(0, MOST, 1_001)]
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    found, private = [], rows.astype(np.float64).tolist()
    for share in shares:

        def build(scale: float, share: Fraction = share) -> dp.Measurement:
            return dp.m.make_private_quantile(
                domain, dp.symmetric_distance(), dp.max_divergence(), candidates, float(share), scale
            )

        scale = dp.binary_search_param(build, d_in=1, d_out=1 / len(shares))
        found.append(float(build(scale)(private)))
    return found


def _tumult(folder: Path, data: dict[str, Values]) -> tuple[dict[str, float], str]:
    with duckdb.connect() as connection:
        connection.register("drawn", data)
        connection.execute(f"COPY (SELECT * FROM drawn) TO '{folder / 'values.parquet'}' (FORMAT parquet)")
    told = listen("_quantiles_tumult.py", folder, MOST, python=python_of("tumult"), seconds=SECONDS)
    return {line["column"]: line["median"] for line in told.lines if "column" in line}, told.trouble


if __name__ == "__main__":
    print(main())
