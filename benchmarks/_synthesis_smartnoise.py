"""smartnoise-synth's part of the synthesis benchmark, in an environment of its own: its MST and its AIM.

    python benchmarks/_synthesis_smartnoise.py FILE FOLDER     (JSON: rows as codes, sizes, [method, epsilon, seed, MB])

All columns are given as categories, which it reads off the rows without paying. megabytes bound AIM's model (80 is its
default, which takes hours).
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from snsynth.aim import AIMSynthesizer
from snsynth.mst import MSTSynthesizer

from _peers import tell


def main(file: Path, folder: Path) -> None:
    asked = json.loads(file.read_text())
    sizes: dict[str, int] = asked["sizes"]
    frame = pd.DataFrame(np.load(asked["rows"]), columns=list(sizes))
    for method, epsilon, seed, megabytes in asked["runs"]:
        np.random.seed(seed)  # what it draws from
        made: Any = MSTSynthesizer(epsilon=float(epsilon), delta=1e-9)
        if method == "AIM":
            made = AIMSynthesizer(epsilon=float(epsilon), delta=1e-9, max_model_size=megabytes)
        began = time.process_time()
        made.fit(frame, categorical_columns=list(sizes))
        seconds = time.process_time() - began
        target = folder / f"smartnoise-{method}-{epsilon}-{seed}.npy"
        np.save(target, made.sample(len(frame))[list(sizes)].to_numpy(dtype=np.int64))
        name = "smartnoise MST" if method == "MST" else f"smartnoise AIM ({megabytes:g} MB)"
        tell(method=name, epsilon=epsilon, seed=seed, seconds=seconds, rows=str(target))
    tell(done=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
