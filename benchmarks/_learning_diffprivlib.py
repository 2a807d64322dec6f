"""diffprivlib's part of the learning benchmark, in an environment of its own: the cells that a file lists.

python benchmarks/_learning_diffprivlib.py FILE      (JSON: a list of [model, data, epsilon, seed])
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from pathlib import Path

from _learning_data import split_of
from _learning_frame import gathered
from _peers import tell


def main(file: Path) -> None:
    warnings.filterwarnings("ignore")
    peers = {key: score for found in gathered("peers", "PEERS") for key, score in found.items()}
    for model, data, epsilon, seed in json.loads(file.read_text()):
        if (model, data) in peers:
            try:
                score = float(peers[model, data](split_of(data, seed), epsilon))
            except ArithmeticError:
                score = math.nan
            tell(entry=f"{model}/{data}", epsilon=epsilon, seed=seed, score=score if math.isfinite(score) else None)
    tell(done=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
