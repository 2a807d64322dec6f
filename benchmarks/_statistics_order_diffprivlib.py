"""diffprivlib's part of the order statistics' benchmark, in an environment of its own.

python benchmarks/_statistics_order_diffprivlib.py FOLDER RUNS
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
        values, bounds = held["values"], (0.0, float(held["top"]))
        for what, shares in (("median", [0.5]), ("quartiles", [0.25, 0.5, 0.75])):
            for epsilon in (0.1, 1.0):
                found = [
                    [
                        float(tools.quantile(values, share, epsilon=epsilon / len(shares), bounds=bounds))
                        for share in shares
                    ]
                    for _ in range(runs)
                ]
                tell(data=path.stem, what=what, epsilon=epsilon, values=found)
    tell(done=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
