"""Neighbours of models on bins and of naive Bayes, many more than the tests have time for.

python -m tests.learning.soak_bins 5000 1        cases, and the seed of the first one
"""

from __future__ import annotations

import sys

import numpy as np

from tests.learning.bins import test_boosting, test_naive_bayes


def main(cases: int, seed: int) -> None:
    """Stops at the first violation; else says how close the bounds were met."""
    closest = test_boosting.check_units(cases, np.random.default_rng(seed))
    for name, share in sorted(closest.items()):
        sys.stdout.write(f"boosting, {name}: at most {share:.4f} of the sensitivity\n")
    sys.stdout.write(f"naive Bayes: at most {test_naive_bayes.check_units(cases, np.random.default_rng(seed)):.4f}\n")
    sys.stdout.write(f"{cases:,} cases each, no violation\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
