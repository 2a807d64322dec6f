"""private-pgm's own MST and AIM, from a checkout of its repository, in an environment of their own.

    python benchmarks/_synthesis_pgm.py FILE FOLDER
    (JSON: rows as codes, sizes, a checkout, a list of [method, epsilon, seed, MB])

The repository has the mechanisms, which its package on PyPI leaves out; as of August 2025 it fails under JAX 0.10.
Both are its authors' code as it stands: MST and AIM with their settings, AIM with the workload of all pairs; megabytes
bound AIM's model (80 where its authors compare, which takes hours).
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from _peers import tell


def main(file: Path, folder: Path) -> None:
    asked = json.loads(file.read_text())
    sys.path[:0] = [str(Path(asked["checkout"]) / part) for part in ("src", "mechanisms")]
    from mbi import Dataset, Domain

    sizes: dict[str, int] = asked["sizes"]
    frame = pd.DataFrame(np.load(asked["rows"]), columns=list(sizes))
    data = Dataset(frame, Domain.fromdict(sizes))
    for method, epsilon, seed, megabytes in asked["runs"]:
        np.random.seed(seed)  # what its mechanisms draw from
        began = time.process_time()
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            made = made_by(method, data, float(epsilon), megabytes)
        seconds = time.process_time() - began
        target = folder / f"pgm-{method}-{epsilon}-{seed}-{megabytes}.npy"
        np.save(target, made.df[list(sizes)].to_numpy(dtype=np.int64))
        name = "private-pgm MST" if method == "MST" else f"private-pgm AIM ({megabytes:g} MB)"
        tell(method=name, epsilon=epsilon, seed=seed, seconds=seconds, rows=str(target))
    tell(done=True)


def made_by(method: str, data: Any, epsilon: float, megabytes: float) -> Any:
    """Synthetic rows."""
    if method == "MST":
        from mst import MST

        return MST(data, epsilon, 1e-9)
    from aim import AIM

    mechanism = AIM(epsilon, 1e-9, max_model_size=megabytes)
    return mechanism.run(data, [(pair, 1.0) for pair in itertools.combinations(data.domain, 2)])[1]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
