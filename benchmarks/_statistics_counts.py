"""Counts against peers and theory: histograms, sets of tables, densities, sorted histograms, a monitor.

Bars: at epsilon 0.1 and 1 a histogram's error is at or below the best peer's (within three sampling errors). All 66
two-way tables of 12 columns at epsilon 1: the consistent set has at most 0.6 of the total squared error of the same
budget's tables unprojected, and a million rows take at most 10 s, as arrays and on a curator over DuckDB. The L2 error
of a density tends to the one without privacy.

    python benchmarks/_statistics_counts.py [RUNS] [PYTHON]     PYTHON: an interpreter that has diffprivlib
"""

from __future__ import annotations

import itertools
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import tacit
from _statistics_peers import ask_peers
from tacit.statistics.counts.density import density
from tacit.statistics.counts.histogram import histogram
from tacit.statistics.counts.monitor import Monitor
from tacit.statistics.counts.sorted_histogram import sorted_histogram
from tacit.statistics.counts.table_sets import tables

Reals = NDArray[np.float64]
TOP = 100.0
BINS = 40
SEED = 7
SMALLER = 0.6
SECONDS = 10
SIZES = (2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 8, 10)
PAIRS = list(itertools.combinations(range(len(SIZES)), 2))


# -- histograms ----------------------------------------------------------------------------------------------


def data_sets() -> dict[str, Reals]:
    """A column of each kind, between 0 and 100."""
    rng = np.random.default_rng(SEED)
    return {
        "smooth": rng.beta(3, 5, 5_000) * TOP,
        "lumpy": rng.choice([0.0, 10, 10.5, 60, 100], 2_000, p=[0.1, 0.3, 0.3, 0.25, 0.05]),
        "heavy-tailed": np.minimum(rng.pareto(1.5, 3_000) * 5, TOP),
        "tiny": rng.beta(2, 2, 40) * TOP,
    }


def histograms(runs: int, python: Path | None) -> list[str]:
    """Root mean square error of a bin's count."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    sets = data_sets()
    saved = {name: {"values": values, "bins": BINS, "top": TOP} for name, values in sets.items()}
    heard = ask_peers(saved, "_statistics_counts_diffprivlib.py", ("histogram",), runs, python)
    lines = [
        "| data | epsilon | ours | ours, repaired | OpenDP | diffprivlib | Tumult | verdict |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, values in sets.items():
        truth = np.histogram(values, bins=BINS, range=(0, TOP))[0]
        for epsilon in (0.1, 1.0):
            options: dict[str, Any] = {"bounds": (0, TOP), "bins": BINS, "epsilon": epsilon}
            plain = [histogram(values, **options)["noisy"] for _ in range(runs)]
            repaired = [histogram(values, **options)["count"] for _ in range(runs)]
            space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
            noise = dp.m.make_laplace(*space, scale=1 / epsilon)
            peers = {"OpenDP": [noise(truth.tolist()) for _ in range(runs)]}
            peers |= heard.of(name, "histogram", epsilon)
            ours, better = error(plain, truth), error(repaired, truth)
            figures = {peer: error(found, truth) for peer, found in peers.items()}
            least = min(ours, better)
            met = all(least[0] - 3 * least[1] <= figure + 3 * doubt for figure, doubt in figures.values())
            shown = [
                f"{figures[peer][0]:.3f}" if peer in figures else "-" for peer in ("OpenDP", "diffprivlib", "Tumult")
            ]
            lines.append(
                f"| {name} | {epsilon:g} | {ours[0]:.3f} | {better[0]:.3f} | {' | '.join(shown)} | {verdict(met)} |"
            )
            print(lines[-1], flush=True)
    return [*lines, *heard.troubles]


def error(found: list[Any], truth: Any) -> tuple[float, float]:
    """The root mean square error of a count, and its sampling error."""
    squares = [float(np.mean((np.asarray(each, dtype=float) - truth) ** 2)) for each in found]
    root = math.sqrt(float(np.mean(squares)))
    return root, float(np.std(squares) / math.sqrt(len(squares)) / (2 * max(root, 1e-300)))


# -- sets of tables --------------------------------------------------------------------------------------------


def mixture(rows: int, sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """Columns that depend on each other through four kinds of rows."""
    rng = np.random.default_rng(SEED)
    kind = rng.integers(0, 4, rows)
    found = {}
    for place, size in enumerate(sizes):
        shares = rng.dirichlet(np.full(size, 0.5), size=4).cumsum(axis=1)
        found[f"c{place}"] = np.minimum((shares[kind] < rng.random(rows)[:, None]).sum(axis=1), size - 1)
    return found


def sets_of_tables(runs: int) -> list[str]:
    """Total squared error of the set against the same tables, each with its share of the same budget, unprojected."""
    lines = [
        "| column sizes | rows | delta | measured | expected / separate | squared error / separate "
        "| same noise, projected | whole, agree, none below 0 | verdict |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for sizes, rows in (((2,) * 12, 10_000), ((4,) * 12, 10_000), (SIZES, 10_000), (SIZES, 1_000_000)):
        data = mixture(rows, sizes)
        truth = {
            (one, other): _crossed(data[f"c{one}"], data[f"c{other}"], sizes[one], sizes[other]) for one, other in PAIRS
        }
        bounds = {f"c{place}": (0, size - 1) for place, size in enumerate(sizes)}
        for delta in (0, 1e-6):
            asked = {"bounds": bounds, "epsilon": 1, "delta": delta}
            sets = [(f"c{one}", f"c{other}") for one, other in PAIRS]
            few = max(2, runs // 40) if rows < 10**6 else 1
            found = [tables(data, sets, **asked) for _ in range(few)]
            same = [tables(data, sets, **asked, measure="asked") for _ in range(few)]
            before, expected = found[0]["squared_error"]
            off, same_off = (
                float(np.mean([_squared(each, truth) for each in made])) / before for made in (found, same)
            )
            words = found[0].notes[1].partition("measured together (")[2].partition(")")[0]
            name = "x".join(map(str, sorted(set(sizes)))) if len(set(sizes)) > 1 else f"all {sizes[0]}"
            lines.append(
                f"| {name} | {rows:,} | {delta:g} | {words} | {expected / before:.3f} | {off:.3f} | {same_off:.3f} "
                f"| {_sound(found[0])} | {verdict(off <= SMALLER)} |"
            )
            print(lines[-1], flush=True)
    return lines


def _crossed(one: Any, other: Any, width: int, height: int) -> Any:
    return np.bincount(one * height + other, minlength=width * height).reshape(width, height)


def _squared(found: Any, truth: dict[tuple[int, int], Any]) -> float:
    return sum(float(np.sum((found[f"by c{one},c{other}"] - exact) ** 2)) for (one, other), exact in truth.items())


def _sound(found: Any) -> bool:
    made = {pair: found[f"by c{pair[0]},c{pair[1]}"] for pair in PAIRS}
    margins: dict[int, set[tuple[int, ...]]] = {}
    for (one, other), table in made.items():
        margins.setdefault(one, set()).add(tuple(table.sum(axis=1).tolist()))
        margins.setdefault(other, set()).add(tuple(table.sum(axis=0).tolist()))
    whole = all(table.dtype.kind == "i" and table.min() >= 0 for table in made.values())
    return whole and all(len(each) == 1 for each in margins.values())


def speed(rows: int) -> list[str]:
    """The 66 tables of a million rows."""
    data = mixture(rows)
    bounds = {f"c{place}": (0, size - 1) for place, size in enumerate(SIZES)}
    frame = pl.DataFrame({"who": np.arange(rows), **data})
    columns = {name: tacit.between(*ends) for name, ends in bounds.items()}
    curator = tacit.protect(frame, unit="who", columns=columns, budget=tacit.Budget(epsilon=9, delta=1e-5))
    lines = ["| rows | delta | arrays, s | curator (DuckDB), s | verdict |", "|---|---|---|---|---|"]
    for delta in (0, 1e-6):
        start = time.perf_counter()
        tables(data, [(f"c{one}", f"c{other}") for one, other in PAIRS], bounds=bounds, epsilon=1, delta=delta)
        middle = time.perf_counter()
        tables(curator, [(f"data.c{one}", f"data.c{other}") for one, other in PAIRS], epsilon=1, delta=delta)
        taken = middle - start, time.perf_counter() - middle
        lines.append(f"| {rows:,} | {delta:g} | {taken[0]:.1f} | {taken[1]:.1f} | {verdict(max(taken) <= SECONDS)} |")
        print(lines[-1], flush=True)
    curator.close()
    return lines


# -- densities -------------------------------------------------------------------------------------------------


def density_curve(runs: int, epsilon: float = 1.0) -> tuple[list[str], dict[str, Any]]:
    """The L2 error of densities of n rows of a bell, with and without privacy; as a table and as a chart."""
    rng = np.random.default_rng(SEED)
    grid = np.linspace(0, 1, 4001)[:-1] + 1 / 8000
    bell = np.exp(-0.5 * ((grid - 0.5) / 0.15) ** 2)
    bell /= bell.mean()
    lines = ["| rows | bins | private | not private, the same bins | ratio |", "|---|---|---|---|---|"]
    points = []
    for rows in (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000):
        off: list[tuple[float, float]] = []
        for _ in range(max(3, runs // 20)):
            values = rng.normal(0.5, 0.15, 2 * rows)
            values = values[(values > 0) & (values < 1)][:rows]
            made = density(values, bounds=(0, 1), epsilon=epsilon)
            bins = len(made)
            plain = np.histogram(values, bins=bins, range=(0, 1), density=True)[0]
            place = np.minimum((grid * bins).astype(int), bins - 1)
            off.append(
                (
                    math.sqrt(float(np.mean((np.array(made["density"])[place] - bell) ** 2))),
                    math.sqrt(float(np.mean((plain[place] - bell) ** 2))),
                )
            )
        private, without = np.mean(off, axis=0)
        lines.append(f"| {rows:,} | {bins} | {private:.4f} | {without:.4f} | {private / without:.3f} |")
        print(lines[-1], flush=True)
        points += [
            {"rows": rows, "L2 error": float(private), "": f"epsilon {epsilon:g}"},
            {"rows": rows, "L2 error": float(without), "": "not private"},
        ]
    scale = {"type": "quantitative", "scale": {"type": "log"}}
    chart = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": "L2 error of a density over the number of rows",
        "data": {"values": points},
        "mark": "line",
        "encoding": {
            "x": {"field": "rows", **scale},
            "y": {"field": "L2 error", **scale},
            "color": {"field": "", "type": "nominal"},
        },
    }
    return lines, chart


# -- sorted histograms and a monitor --------------------------------------------------------------------------


def popularity(runs: int) -> list[str]:
    """Total squared error of sorted counts before and after pooling."""
    rng = np.random.default_rng(SEED)
    lines = ["| counts | before pooling | after | ratio |", "|---|---|---|---|"]
    for name, counts in (
        ("2,000 equal", np.full(2_000, 20)),
        ("2,000 of a power law", np.sort((200 / rng.random(2_000) ** 0.7).astype(int))[::-1]),
        ("2,000 all different", np.arange(2_000)[::-1]),
    ):
        values = np.repeat(np.arange(2_000), counts)
        before, after = [], []
        for _ in range(max(2, runs // 50)):
            found = sorted_histogram(values, bounds=(0, 1_999), epsilon=0.1)
            before.append(float(np.sum((found["noisy"] - counts) ** 2)))
            after.append(float(np.sum((np.array(found["count"]) - counts) ** 2)))
        lines.append(
            f"| {name} | {np.mean(before):.4g} | {np.mean(after):.4g} | {np.mean(after) / np.mean(before):.3f} |"
        )
        print(lines[-1], flush=True)
    return lines


def watching(questions: int = 2_000) -> list[str]:
    """A monitor's questions, for one charge."""
    rng = np.random.default_rng(SEED)
    frame = pl.DataFrame({"who": np.arange(20_000), "age": rng.integers(0, 100, 20_000)})
    columns = {"age": tacit.between(0, 99)}
    with tacit.protect(frame, unit="who", columns=columns, budget=tacit.Budget(epsilon=1)) as curator:
        watch = Monitor(curator, threshold=10_000, epsilon=1, fires=3)
        start = time.perf_counter()
        fired = [watch.ask(f"SELECT count(*) FROM data WHERE age < {place % 45}") for place in range(questions)]
        taken = time.perf_counter() - start
        said = f"{sum(fired)} yes; {1000 * taken / questions:.1f} ms each; epsilon 1 in all"
        return [f"{questions:,} questions far below the threshold: {said}."]


def verdict(met: bool) -> str:
    return "met" if met else "NOT MET"


def main(runs: int = 200, rows: int = 1_000_000, python: Path | None = None) -> str:
    """All tables."""
    curve, _ = density_curve(runs)
    return "\n".join(
        [
            "### Histograms (root mean square error of a count, 40 bins)",
            "",
            *histograms(runs, python),
            "",
            "### All 66 two-way tables of 12 columns at epsilon 1",
            "",
            *sets_of_tables(runs),
            "",
            *speed(rows),
            "",
            "### Density of a bell at epsilon 1 (L2 error)",
            "",
            *curve,
            "",
            "### Sorted histograms at epsilon 0.1 (total squared error)",
            "",
            *popularity(runs),
            "",
            "### Monitor",
            "",
            *watching(),
        ]
    )


if __name__ == "__main__":
    chosen = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(main(chosen, python=Path(sys.argv[2]) if len(sys.argv) > 2 else None))
