"""dpmm's part of the synthesis benchmark, in an environment of its own: its MST and its AIM, as it offers them.

    python benchmarks/_synthesis_dpmm.py FILE FOLDER     (JSON: rows as codes, sizes, [method, epsilon, seed, MB] ...)

Both are private-pgm's mechanisms (its authors' code, adapted by dpmm) with dpmm's rounds and steps; megabytes
bound AIM's model.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM

from _peers import tell

MADE = {"MST": MSTGM, "AIM": AIMGM}


def main(file: Path, folder: Path) -> None:
    asked = json.loads(file.read_text())
    sizes: dict[str, int] = asked["sizes"]
    frame = pd.DataFrame(np.load(asked["rows"]), columns=list(sizes))
    for method, epsilon, seed, megabytes in asked["runs"]:
        began = time.process_time()
        model = MADE[method](
            epsilon=float(epsilon),
            delta=1e-9,
            domain=sizes,
            random_state=np.random.RandomState(seed),
            n_jobs=1,
            **({"max_model_size": megabytes} if method == "AIM" else {}),
        )
        model.fit(frame)
        seconds = time.process_time() - began
        drawn = model.generate(n_records=len(frame))
        target = folder / f"dpmm-{method}-{epsilon}-{seed}.npy"
        np.save(target, drawn[list(sizes)].to_numpy(dtype=np.int64))
        name = "dpmm MST" if method == "MST" else f"dpmm AIM ({megabytes:g} MB)"
        tell(method=name, epsilon=epsilon, seed=seed, seconds=seconds, rows=str(target))
    tell(done=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
