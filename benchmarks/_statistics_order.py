"""Order statistics beside peers, and what a smooth sensitivity costs.

Bars: the smooth sensitivity of the median of a million rows in at most a second (that it equals brute force is held by
tests/statistics/order/test_windows.py); the error of median and quartiles at epsilon 0.1 and 1, over RUNS runs on four
data sets, at or below the best peer. OpenDP scores candidates by rank, and gets 1,001 equally spaced ones; its three
quartiles share epsilon, as diffprivlib's and Tumult's do; these two have environments of their own.

    python benchmarks/_statistics_order.py [RUNS] [PYTHON]     PYTHON: an interpreter that has diffprivlib
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from _statistics_peers import ask_peers
from tacit.statistics.order.ranked import quantiles
from tacit.statistics.order.windows import Rank, Sorted, smooth_sensitivity

EPSILONS = (0.1, 1.0)
ASKED = {"median": [0.5], "quartiles": [0.25, 0.5, 0.75]}
Data = tuple[Any, float]  # rows, and their upper bound; the lower one is 0
UNITS: dict[str, float] = {"lumpy": 1.0, "heavy-tailed": 1.0}
"""Public facts: points in a test are whole, and so is money as far as anybody cares. The others are real numbers."""
MOST_CANDIDATES = 1_001  # OpenDP's list, unless there are fewer units


def datasets() -> dict[str, Data]:
    random = np.random.default_rng(20)
    return {
        "smooth": (np.clip(random.normal(50, 12, 10_000), 0, 100), 100.0),
        "lumpy": (random.integers(0, 21, 10_000) * 5.0, 100.0),
        "heavy-tailed": (np.clip(random.lognormal(8, 1.5, 10_000), 0, 10**6), 10.0**6),
        "tiny n": (random.uniform(20, 60, 60), 100.0),
    }


def main(runs: int = 200, python: Path | None = None) -> str:
    """The section."""
    return "\n".join(["### Order statistics", "", *costs(), "", *errors(runs, python)])


def costs() -> list[str]:
    rows = np.random.default_rng(1).integers(0, 2**32, 10**6)
    start = time.process_time()
    line = Sorted(np.sort(rows), 0, 2**32, Rank(Fraction(1, 2)))
    times = []
    for smoothness in (Fraction(1, 6), Fraction(1, 60), Fraction(1, 10**6)):
        begun = time.process_time()
        smooth_sensitivity(line, smoothness)
        times.append(time.process_time() - begun)
    whole = time.process_time() - start - sum(times) + max(times)
    met = "met" if whole <= 1 else "NOT MET"
    return [
        f"Smooth sensitivity of the median, 1,000,000 rows, sorting included: {whole:.2f} s of CPU, bar 1 s: {met}."
    ]


def errors(runs: int, python: Path | None) -> list[str]:
    lines = [
        f"Mean absolute error over {runs} runs (quartiles: mean of the three). No intervals: interval_share=0, as the "
        "peers give none. Lumpy and heavy-tailed data are known to be whole numbers: ours is told so by resolution=1, "
        "OpenDP by its candidates where these are at most 1,001; the others cannot be told.",
        "",
        "| data | asked | epsilon | ours | OpenDP | diffprivlib | Tumult | verdict |",
        "|---|---|---|---|---|---|---|---|",
    ]
    known = datasets()
    saved = {name: {"values": rows, "top": top} for name, (rows, top) in known.items()}
    heard = ask_peers(saved, "_statistics_order_diffprivlib.py", tuple(ASKED), runs, python)
    beaten = []
    for name, (rows, top) in known.items():
        for what, shares in ASKED.items():
            truth = np.quantile(rows, shares)
            for epsilon in EPSILONS:
                figures = {
                    "ours": spread([ours(rows, top, shares, epsilon, UNITS.get(name)) for _ in range(runs)], truth),
                    "OpenDP": spread(repeated(opendp(top, shares, epsilon, UNITS.get(name)), rows, runs), truth),
                }
                figures |= {peer: spread(found, truth) for peer, found in heard.of(name, what, epsilon).items()}
                mine, noise = figures["ours"]
                best = min((each for peer, each in figures.items() if peer != "ours"), key=lambda each: each[0])
                fine = mine <= best[0] + 3 * (noise**2 + best[1] ** 2) ** 0.5
                if not fine:
                    beaten.append(f"{name}, {what}, {epsilon}")
                shown = [
                    f"{figures[peer][0]:.4g} +/- {figures[peer][1]:.2g}" if peer in figures else "-"
                    for peer in ("ours", "OpenDP", "diffprivlib", "Tumult")
                ]
                lines.append(f"| {name} | {what} | {epsilon} | {' | '.join(shown)} | {'met' if fine else 'NOT MET'} |")
                print(lines[-1], flush=True)
    verdict = f"Bar: at or below the best peer (within three sampling errors): {'met' if not beaten else 'NOT MET'}"
    return [*lines, "", f"{verdict} {'; '.join(beaten)}", *heard.troubles]


def spread(found: list[list[float]], truth: Any) -> tuple[float, float]:
    """The mean absolute error and its sampling error."""
    off = np.abs(np.array(found) - truth).mean(axis=1)
    return float(off.mean()), float(off.std() / max(len(off) - 1, 1) ** 0.5)


def ours(rows: Any, top: float, shares: list[float], epsilon: float, unit: float | None = None) -> list[float]:
    found = quantiles(rows, bounds=(0, top), q=shares, epsilon=str(epsilon), interval_share=0, resolution=unit)
    return list(found["value"])


def repeated(build: Callable[[Any], list[float]], rows: Any, runs: int) -> list[list[float]]:
    private = rows.tolist()
    return [build(private) for _ in range(runs)]


def opendp(top: float, shares: list[float], epsilon: float, unit: float | None) -> Callable[[Any], list[float]]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    count = MOST_CANDIDATES if unit is None else min(int(top / unit) + 1, MOST_CANDIDATES)
    candidates = [float(place) for place in np.linspace(0, top, count)]
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))

    def build(share: float) -> Any:
        def at(scale: float) -> Any:
            return dp.m.make_private_quantile(
                domain, dp.symmetric_distance(), dp.max_divergence(), candidates, share, scale
            )

        return at(dp.binary_search_param(at, d_in=1, d_out=epsilon / len(shares)))

    measurements = [build(share) for share in shares]
    return lambda private: [float(each(private)) for each in measurements]


if __name__ == "__main__":
    given = sys.argv[1:]
    print(main(int(given[0]) if given else 200, Path(given[1]) if len(given) > 1 else None))
