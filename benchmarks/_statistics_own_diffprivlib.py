"""diffprivlib's part of the six own data sets, in an environment of its own.

python benchmarks/_statistics_own_diffprivlib.py FOLDER RUNS
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from diffprivlib import tools
from diffprivlib.models import PCA

from _peers import tell


def draws(held: Mapping[str, Any], epsilon: float) -> dict[str, Callable[[], Any]]:
    """One release of each."""
    one, many, bins = held["values"], held["many"], int(held["bins"])
    bounds = (float(held["low"]), float(held["high"]))
    norm = float(np.sqrt(many.shape[1]) * (bounds[1] - bounds[0]) / 2)

    def ranked(*shares: float) -> list[float]:
        return [float(tools.quantile(one, q, epsilon=epsilon / len(shares), bounds=bounds)) for q in shares]

    def covariance() -> Any:
        fitted = PCA(n_components=many.shape[1], epsilon=epsilon, bounds=bounds, data_norm=norm).fit(many)
        return fitted.get_covariance().tolist()

    return {
        "mean": lambda: float(tools.mean(one, epsilon=epsilon, bounds=bounds)),
        "sum": lambda: float(tools.sum(one, epsilon=epsilon, bounds=bounds)),
        "variance": lambda: float(tools.var(one, epsilon=epsilon, bounds=bounds)),
        "median": lambda: ranked(0.5),
        "quartiles": lambda: ranked(0.25, 0.5, 0.75),
        "histogram": lambda: tools.histogram(one, epsilon=epsilon, bins=bins, range=bounds)[0].tolist(),
        "covariance": covariance,
    }


def main(folder: Path, runs: int) -> None:
    warnings.filterwarnings("ignore")
    for path in sorted(folder.glob("*.npz")):
        for epsilon in (0.1, 1.0):
            for what, draw in draws(np.load(path), epsilon).items():
                tell(data=path.stem, epsilon=epsilon, what=what, values=[draw() for _ in range(runs)])
    tell(done=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
