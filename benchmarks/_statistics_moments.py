"""Moments and inference against peers and theory: the error of mean, variance, covariance and the first component.

Bars: at epsilon 0.1 and 1, over 200 runs on four data sets, ours is at or below the best peer (within three sampling
errors); the mean's noise is within 10 % of its closed form; 95 % intervals for a proportion, a mean and a difference
cover in 94 % to 96.5 % of 2,000 runs.

    python benchmarks/_statistics_moments.py [RUNS] [PYTHON]     PYTHON: an interpreter that has diffprivlib
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from _statistics_peers import ask_peers
from tacit.statistics.inference.compare import compare
from tacit.statistics.inference.mean_interval import mean_interval
from tacit.statistics.inference.proportion import proportion
from tacit.statistics.moments.covariance import covariance
from tacit.statistics.moments.mean import mean
from tacit.statistics.moments.principal import pca
from tacit.statistics.moments.variance import variance

Reals = NDArray[np.float64]
TOP = 100.0
COLUMNS = 4
SEED = 5
LOST = {"Tumult": 1}  # its variance is that of a sample


def data_sets() -> dict[str, tuple[Reals, Reals]]:
    """A column and a matrix of each kind, between 0 and 100."""
    rng = np.random.default_rng(SEED)
    mixing = np.array([[3.0, 1, 0, 0], [0, 1, 0.5, 0], [0, 0, 0.7, 0.3], [0, 0, 0, 0.5]])

    def matrix(draw: Callable[[tuple[int, int]], Reals], rows: int) -> Reals:
        return np.clip(50 + 8 * draw((rows, COLUMNS)) @ mixing, 0, TOP)

    return {
        "smooth": (rng.beta(3, 5, 5_000) * TOP, matrix(rng.standard_normal, 5_000)),
        "lumpy": (
            rng.choice([0.0, 10, 10.5, 60, 100], 2_000, p=[0.1, 0.3, 0.3, 0.25, 0.05]),
            matrix(lambda shape: rng.choice([-1.0, 0, 2], shape), 2_000),
        ),
        "heavy-tailed": (
            np.minimum(rng.pareto(1.5, 3_000) * 5, TOP),
            matrix(lambda shape: rng.standard_t(2, shape), 3_000),
        ),
        "tiny": (rng.beta(2, 2, 40) * TOP, matrix(rng.standard_normal, 40)),
    }


def ours(one: Reals, many: Reals, epsilon: float, runs: int) -> dict[str, list[Any]]:
    """Our releases; nobody knows the number of rows."""
    bounds = (0, TOP)
    return {
        "mean": [mean(one, bounds=bounds, epsilon=epsilon).value for _ in range(runs)],
        "variance": [variance(one, bounds=bounds, epsilon=epsilon).value for _ in range(runs)],
        "covariance": [covariance(many, bounds=bounds, epsilon=epsilon)["matrix"] for _ in range(runs)],
        "pca": [pca(many, bounds=bounds, epsilon=epsilon, components=1)["components"] for _ in range(runs)],
    }


def opendp(one: Reals, many: Reals, epsilon: float, runs: int) -> dict[str, list[Any]]:
    """OpenDP's own transformations where the size is public, and its noise on sums and counts where it is not."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "floating-point", "honest-but-curious")
    size, listed = len(one), one.tolist()
    space = dp.vector_domain(dp.atom_domain(bounds=(0.0, TOP)), size=size)
    metric = dp.symmetric_distance()

    def known(transformation: Any) -> list[float]:
        release = dp.binary_search_chain(
            lambda scale: (space, metric) >> transformation >> dp.m.then_laplace(scale), 2, epsilon
        )
        return [release(listed) for _ in range(runs)]

    def noise(scale: float) -> Reals:
        domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
        return np.array(dp.m.make_laplace(domain, dp.l1_distance(T=float), scale)([0.0] * runs))

    half = TOP / 2
    sums, counts = (one - half).sum() + noise(half / (epsilon / 2)), len(one) + noise(1 / (epsilon / 2))
    unknown = half + np.clip(sums / np.maximum(counts, 1), -half, half)
    return {
        "mean": known(dp.t.then_mean()),
        "mean, size unknown": list(unknown),
        "variance": known(dp.t.then_variance()),
        "pca": opendp_pca(many, epsilon, runs),
    }


def opendp_pca(many: Reals, epsilon: float, runs: int) -> list[Any]:
    """Its PCA, as its scikit-learn interface has it; rows are centred by the middle of the bounds."""
    from opendp.extras.sklearn.decomposition import PCA

    centred = many - TOP / 2
    norm = float(np.sqrt(COLUMNS) * TOP / 2)
    found = []
    for _ in range(min(runs, 60)):
        model = PCA(epsilon=epsilon, row_norm=norm, n_samples=len(many), n_features=COLUMNS, n_components=1)
        found.append(model.fit(centred).components_[:1])
    return found


def error(what: str, values: list[Any], one: Reals, many: Reals, lost: int = 0) -> tuple[float, float]:
    """The error of releases and its sampling error: root mean square, or the share of variance that is not captured.

    A variance is the sum of squares over the number of rows minus `lost`.
    """
    centred = many - many.mean(axis=0)
    exact = centred.T @ centred / len(many)
    if what == "pca":
        best = float(np.linalg.eigvalsh(exact)[-1])
        short = [1 - float(np.asarray(each)[0] @ exact @ np.asarray(each)[0]) / best for each in values]
        return float(np.mean(short)), float(np.std(short) / math.sqrt(len(short)))
    if what == "covariance":
        squares = [float(np.square(np.asarray(each) - exact).sum()) for each in values]
    else:
        truth = float(one.mean() if what.startswith("mean") else one.var(ddof=lost))
        squares = [(float(each) - truth) ** 2 for each in values]
    root = math.sqrt(float(np.mean(squares)))
    return root, float(np.std(squares) / math.sqrt(len(squares)) / (2 * max(root, 1e-300)))


def errors(runs: int, python: Path | None) -> list[str]:
    """The table of errors."""
    sets = data_sets()
    saved = {name: {"values": one, "many": many, "top": TOP} for name, (one, many) in sets.items()}
    heard = ask_peers(saved, "_statistics_moments_diffprivlib.py", ("mean", "variance"), runs, python)
    lines = ["| data | epsilon | what | ours | peers | verdict |", "|---|---|---|---|---|---|"]
    for name, (one, many) in sets.items():
        for epsilon in (0.1, 1.0):
            made, other = ours(one, many, epsilon, runs), opendp(one, many, epsilon, runs)
            for what, own in made.items():
                found, doubt = error(what, own, one, many)
                peers = {
                    f"OpenDP ({key})": error(key, held, one, many)
                    for key, held in other.items()
                    if key.startswith(what)
                }
                for peer, values in heard.of(name, what, epsilon).items():
                    peers[peer] = error(what, values, one, many, lost=LOST.get(peer, 0))
                met = all(found - 3 * doubt <= figure + 3 * spread for figure, spread in peers.values())
                shown = "; ".join(f"{peer} {figure:.4g}" for peer, (figure, _) in peers.items())
                lines.append(
                    f"| {name} | {epsilon:g} | {what} | {found:.4g} | {shown} | {'met' if met else 'NOT MET'} |"
                )
                print(lines[-1], flush=True)
    return [*lines, *heard.troubles]


def coverage(runs: int) -> list[str]:
    """The share of 95 % intervals that hold the population's number."""
    rng = np.random.default_rng(SEED)
    lines = ["| rows | epsilon | proportion | mean | difference |", "|---|---|---|---|---|"]
    for rows, epsilon in ((200, 1), (1_000, 0.1), (5_000, 0.1)):
        held = np.zeros(3)
        for _ in range(runs):
            some = (rng.random(rows) < 0.3).astype(int)
            values, group = rng.beta(2, 5, rows), rng.integers(0, 2, rows)
            moved = np.clip(values + 0.1 * group, 0, 1.1)
            pair = {"y": moved, "g": group}
            found = (
                (proportion(some, bounds=(0, 1), epsilon=epsilon), 0.3),
                (mean_interval(values, bounds=(0, 1), epsilon=epsilon), 2 / 7),
                (compare(pair, by="g", bounds={"y": (0, 1.1), "g": (0, 1)}, epsilon=epsilon), -0.1),
            )
            for place, (finding, truth) in enumerate(found):
                ((interval,),) = finding.intervals().values()
                assert interval is not None
                held[place] += interval[0] <= truth <= interval[1]
        lines.append(f"| {rows:,} | {epsilon} | {' | '.join(f'{share:.3f}' for share in held / runs)} |")
        print(lines[-1], flush=True)
    return lines


def main(runs: int = 200, python: Path | None = None) -> str:
    """The errors."""
    return "\n".join(["### Moments", "", *errors(runs, python)])


def covered(runs: int = 2_000) -> str:
    """The intervals."""
    return "\n".join(["### Coverage of 95 % intervals", "", *coverage(runs)])


if __name__ == "__main__":
    chosen = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(main(chosen, Path(sys.argv[2]) if len(sys.argv) > 2 else None), covered(10 * chosen), sep="\n\n")
