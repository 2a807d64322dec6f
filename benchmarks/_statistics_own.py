"""Six data sets that no test uses, made by formulae here: every basic statistic beside OpenDP and diffprivlib.

Skewed incomes, ages, two lumps, many ties, a tiny spread within wide bounds, and values near a bound: 1,000 rows each.
They are as they were first made.
Bar: mean, sum, variance, median, quartiles, histogram and covariance at epsilon 0.1 and 1 are at or below the best of
the two peers (within three sampling errors of both). Root mean square errors; of quantiles mean absolute errors.

Candidates of OpenDP's quantiles. All three know the bounds and nothing else of where values lie. Ours and diffprivlib
need no more; OpenDP is handed a list of candidates, and whoever makes the list decides how near one of them lies to the
answer. On the list from the lower bound in steps of a thousandth, 30,000 is a candidate, and the median of the incomes
is 30,000.0: OpenDP then finds it to the cent, which no public fact about these incomes allows. So that the list tells
nothing but the bounds, its points are shifted together by a part of a step that is drawn anew in every run: errors are
averages over all such lists. What the list from the lower bound gives is told below the table wherever it is better
than ours.

Neighbours. diffprivlib, and OpenDP where it is told the size, take the number of rows for public and one row for
replaced. Ours does so for the sum, whose noise depends on it (`mean(size=...)` times the size); it does not know the
number of rows elsewhere.

    python benchmarks/_statistics_own.py [RUNS] [PYTHON]     PYTHON: an interpreter that has diffprivlib
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from _peers import listen, python_of
from tacit.statistics import covariance, histogram, mean, quantiles, variance

Reals = NDArray[np.float64]
ROWS, BINS, SEED = 1_000, 30, 31
EPSILONS = (0.1, 1.0)
QUARTILES = [0.25, 0.5, 0.75]
SECONDS = 600
CANDIDATES = 1_001
PLAIN = ", candidates from the lower bound"


class Data(NamedTuple):
    """A column with its bounds, and a matrix of three columns within them of which it is the first."""

    values: Reals
    low: float
    high: float
    many: Reals


def data_sets() -> dict[str, Data]:
    """The six, from shares of the way through a population, in an order of their own."""
    share = (np.random.default_rng(SEED).permutation(ROWS) + 0.5) / ROWS
    columns = {
        "incomes": (30_000 * np.exp(0.8 * ndtri(share)), 0.0, 250_000.0),
        "ages": (np.floor(18 + 72 * (1 - np.sqrt(1 - share))), 0.0, 110.0),
        "two lumps": (np.where(share < 0.4, 22.0, 77.0) + 3 * np.sin(1_000 * share), 0.0, 100.0),
        "ties": (np.select([share < 0.6, share < 0.9], [30.0, 40.0], 10 * np.floor(10 * share)), 0.0, 100.0),
        "tiny spread": (612.0 + 0.5 * share, 0.0, 1_000.0),
        "near a bound": (-5.0 + 0.37 * share**3, -5.0, 45.0),
    }
    found = {}
    for name, (values, low, high) in columns.items():
        held = np.clip(values, low, high)
        turned = np.roll(held, 1)
        found[name] = Data(held, low, high, np.stack([held, (held + turned) / 2, turned], axis=1))
    return found


def ours(data: Data, epsilon: float) -> dict[str, Callable[[], Any]]:
    """Our releases."""
    bounds = (data.low, data.high)
    asked: dict[str, Any] = {"bounds": bounds, "epsilon": epsilon}

    def ranked(shares: list[float]) -> list[float]:
        return [float(each) for each in quantiles(data.values, q=shares, interval_share=0, **asked)["value"]]

    return {
        "mean": lambda: mean(data.values, **asked).value,
        "sum": lambda: ROWS * float(mean(data.values, size=ROWS, **asked)["mean"][0]),
        "variance": lambda: variance(data.values, **asked).value,
        "median": lambda: ranked([0.5]),
        "quartiles": lambda: ranked(QUARTILES),
        "histogram": lambda: histogram(data.values, bins=BINS, **asked)["count"],
        "covariance": lambda: covariance(data.many, **asked)["matrix"],
    }


def opendp(data: Data, epsilon: float) -> dict[str, Callable[[], Any]]:
    """OpenDP's: a public size for moments; 1,001 equally spaced candidates for quantiles; noise on counts of bins.

    Candidates are shifted in every run; `PLAIN` marks the same from the lower bound on.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib", "floating-point", "honest-but-curious")
    listed, metric = data.values.tolist(), dp.symmetric_distance()
    space = dp.vector_domain(dp.atom_domain(bounds=(data.low, data.high)), size=ROWS)
    plain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    candidates = [float(each) for each in np.linspace(data.low, data.high, CANDIDATES)]
    shifts = np.random.default_rng(SEED)
    truth = np.histogram(data.values, bins=BINS, range=(data.low, data.high))[0].tolist()

    def moment(transformation: Any) -> Any:
        return dp.binary_search_chain(
            lambda scale: (space, metric) >> transformation >> dp.m.then_laplace(scale), 2, epsilon
        )

    def shifted() -> list[float]:
        step = (data.high - data.low) / (CANDIDATES - 1)
        return [data.low, *(float(each) for each in np.array(candidates[:-1]) + step * shifts.uniform())]

    def scale_of(part: float) -> float:
        found = dp.binary_search_param(lambda scale: ranked(0.5, scale, candidates), d_in=1, d_out=part)
        return float(found)

    def ranked(share: float, scale: float, among: list[float]) -> Any:
        return dp.m.make_private_quantile(plain, metric, dp.max_divergence(), among, share, scale)

    def chosen(shares: list[float], scale: float, among: Callable[[], list[float]]) -> list[float]:
        return [float(ranked(share, scale, among())(listed)) for share in shares]

    total, average, spread = moment(dp.t.then_sum()), moment(dp.t.then_mean()), moment(dp.t.then_variance())
    one, third = scale_of(epsilon), scale_of(epsilon / 3)
    noise = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale=1 / epsilon)
    return {
        "mean": lambda: average(listed),
        "sum": lambda: total(listed),
        "variance": lambda: spread(listed),
        "median": lambda: chosen([0.5], one, shifted),
        "quartiles": lambda: chosen(QUARTILES, third, shifted),
        "median" + PLAIN: lambda: chosen([0.5], one, lambda: candidates),
        "quartiles" + PLAIN: lambda: chosen(QUARTILES, third, lambda: candidates),
        "histogram": lambda: noise(truth),
    }


def truths(data: Data) -> dict[str, Any]:
    """What the rows say."""
    centred = data.many - data.many.mean(axis=0)
    return {
        "mean": data.values.mean(),
        "sum": data.values.sum(),
        "variance": data.values.var(),
        "median": np.quantile(data.values, [0.5]),
        "quartiles": np.quantile(data.values, QUARTILES),
        "histogram": np.histogram(data.values, bins=BINS, range=(data.low, data.high))[0],
        "covariance": centred.T @ centred / ROWS,
    }


def error(what: str, found: list[Any], truth: Any) -> tuple[float, float]:
    """The error of releases and its sampling error."""
    off = [np.asarray(each, dtype=float) - truth for each in found]
    if what in ("median", "quartiles"):
        sizes = [float(np.abs(each).mean()) for each in off]
        return float(np.mean(sizes)), float(np.std(sizes) / math.sqrt(len(sizes)))
    squares = [float(np.square(each).mean()) for each in off]
    root = math.sqrt(float(np.mean(squares)))
    return root, float(np.std(squares) / math.sqrt(len(squares)) / (2 * max(root, 1e-300)))


def main(runs: int = 100, python: Path | None = None) -> str:
    """The section."""
    sets = data_sets()
    with tempfile.TemporaryDirectory() as folder:
        for name, data in sets.items():
            np.savez(Path(folder) / f"{name}.npz", **data._asdict(), bins=BINS)
        told = listen(
            "_statistics_own_diffprivlib.py",
            *(folder, runs),
            python=python or python_of("diffprivlib"),
            seconds=SECONDS,
        )
    heard = {(line["data"], line["what"], line["epsilon"]): line["values"] for line in told.lines if "data" in line}
    lines = [
        "### Six data sets of our own",
        "",
        f"{ROWS:,} rows each, {runs} runs; none of them is used by a test. Root mean square error, of quantiles mean",
        "absolute error. All know the bounds; OpenDP's candidates for quantiles, 1,001 in equal steps, are shifted by",
        "a part of a step that is drawn anew in every run, so that the list tells nothing else.",
        "",
        "| data | asked | epsilon | ours | OpenDP | diffprivlib | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    beaten, lucky = [], []
    for name, data in sets.items():
        truth = truths(data)
        for epsilon in EPSILONS:
            theirs = opendp(data, epsilon)
            for what, draw in ours(data, epsilon).items():
                figures = {"ours": error(what, [draw() for _ in range(runs)], truth[what])}
                if what in theirs:
                    figures["OpenDP"] = error(what, [theirs[what]() for _ in range(runs)], truth[what])
                if (name, what, epsilon) in heard:
                    figures["diffprivlib"] = error(what, heard[name, what, epsilon], truth[what])
                mine, doubt = figures["ours"]
                peers = [each for peer, each in figures.items() if peer != "ours"]
                met = all(mine <= figure + 3 * math.hypot(doubt, unsure) for figure, unsure in peers)
                beaten += [] if met else [f"{name}, {what}, {epsilon:g}"]
                if what + PLAIN in theirs:
                    found = [theirs[what + PLAIN]() for _ in range(runs)]
                    off, unsure = error(what, found, truth[what])
                    if mine > off + 3 * math.hypot(doubt, unsure):
                        lucky.append(f"{name}, {what}, epsilon {epsilon:g}: {off:.4g} against {mine:.4g}")
                cells = [
                    f"{figures[peer][0]:.4g} +/- {figures[peer][1]:.2g}" if peer in figures else "-"
                    for peer in ("ours", "OpenDP", "diffprivlib")
                ]
                lines.append(f"| {name} | {what} | {epsilon:g} | {' | '.join(cells)} | {'met' if met else 'NOT MET'} |")
                print(lines[-1], flush=True)
    verdict = "met" if not beaten else f"NOT MET ({'; '.join(beaten)})"
    trouble = [f"diffprivlib: {told.trouble}"] if told.trouble else []
    luck = "; ".join(lucky) if lucky else "none"
    return "\n".join(
        [
            *lines,
            "",
            f"Bar: at or below the best peer, within three sampling errors: {verdict}.",
            "",
            f"Where the list from the lower bound (not shifted) is better than ours, because a candidate lies at the "
            f"answer: {luck}.",
            *trouble,
        ]
    )


if __name__ == "__main__":
    given = sys.argv[1:]
    print(main(int(given[0]) if given else 100, Path(given[1]) if len(given) > 1 else None))
