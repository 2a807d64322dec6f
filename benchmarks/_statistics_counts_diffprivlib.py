"""diffprivlib's part of the counts benchmark, in an environment of its own (it needs scikit-learn below 1.6).

python benchmarks/_statistics_counts_diffprivlib.py FOLDER RUNS
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from diffprivlib import tools

from _peers import tell


def main(folder: Path, runs: int) -> None:
    warnings.filterwarnings("ignore")
    for path in sorted(folder.glob("*.npz")):
        held = np.load(path)
        values, bins, top = held["values"], int(held["bins"]), float(held["top"])
        for epsilon in (0.1, 1.0):
            found = [
                tools.histogram(values, epsilon=epsilon, bins=bins, range=(0, top))[0].tolist() for _ in range(runs)
            ]
            tell(data=path.stem, epsilon=epsilon, what="histogram", values=found)
    tell(done=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
