"""diffprivlib's part of the moments benchmark, in an environment of its own (it needs scikit-learn below 1.6).

python benchmarks/_statistics_moments_diffprivlib.py FOLDER RUNS
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from diffprivlib import tools
from diffprivlib.models import PCA

from _peers import tell


def main(folder: Path, runs: int) -> None:
    warnings.filterwarnings("ignore")
    for path in sorted(folder.glob("*.npz")):
        held = np.load(path)
        one, many, top = held["values"], held["many"], float(held["top"])
        for epsilon in (0.1, 1.0):
            names = {"data": path.stem, "epsilon": epsilon}
            mean = [tools.mean(one, epsilon=epsilon, bounds=(0, top)) for _ in range(runs)]
            tell(**names, what="mean", values=mean)
            variance = [tools.var(one, epsilon=epsilon, bounds=(0, top)) for _ in range(runs)]
            tell(**names, what="variance", values=variance)
            width = many.shape[1]
            components, covariances = [], []
            for _ in range(runs):
                norm = float(np.sqrt(width) * top / 2)
                fitted = PCA(n_components=width, epsilon=epsilon, bounds=(0, top), data_norm=norm).fit(many)
                components.append(fitted.components_[:1].tolist())
                covariances.append(fitted.get_covariance().tolist())
            tell(**names, what="pca", values=components)
            tell(**names, what="covariance", values=covariances)
    tell(done=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
