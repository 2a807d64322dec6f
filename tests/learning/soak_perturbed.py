"""Neighbours of perturbed minima, many more than the tests have time for.

python -m tests.learning.soak_perturbed 5000 1        cases, and the seed of the first one
"""

from __future__ import annotations

import sys

import numpy as np

from tests.learning.linear.test_perturbed import check_units


def main(cases: int, seed: int) -> None:
    """Stops at the first violation; else says how close the bounds were met."""
    for delta in ("1e-5", "0"):
        share = check_units(delta, cases // 2, np.random.default_rng(seed))
        sys.stdout.write(f"delta {delta}: at most {share**0.5:.4f} of the sensitivity\n")
    sys.stdout.write(f"{cases:,} cases, no violation\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
