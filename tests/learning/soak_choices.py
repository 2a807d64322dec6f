"""Neighbour pairs of clusters, choices, scores and gradients, in numbers: never beyond a stated sensitivity.

python -m tests.learning.soak_choices [CASES] [SEED]
"""

from __future__ import annotations

import sys

import numpy as np

from tests.learning.choosing.test_choosing import coverage_pairs, k_median_pairs
from tests.learning.clusters.test_k_means import neighbour_pairs
from tests.learning.linear.test_minimising import gradient_pairs
from tests.learning.test_search import score_pairs


def told(name: str, used: object) -> None:
    """A line of what was found."""
    sys.stdout.write(f"{name}: {used}\n")
    sys.stdout.flush()


def main(cases: int, seed: int) -> None:
    """All of them; the shares are those of the stated sensitivities that were used at most."""
    rng = np.random.default_rng(seed)
    clusters = neighbour_pairs(cases, rng)
    assert all(share <= 1 for share in clusters.values())
    told("clusters", {name: round(share, 4) for name, share in clusters.items()})
    for name, pairs in (("coverage", coverage_pairs), ("k-median", k_median_pairs), ("gradients", gradient_pairs)):
        told(name, round(pairs(cases, rng), 4))
    told("scores", round(score_pairs(cases, rng), 4))


if __name__ == "__main__":
    main(*(int(each) for each in [*sys.argv[1:], *("5000", "1")[len(sys.argv) - 1 :]]))
