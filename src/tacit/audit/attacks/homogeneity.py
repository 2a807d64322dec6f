"""Homogeneity: a k-anonymous table still reveals what the few rows of a class have in common.

The naive release is a table made k-anonymous: ages by decade, zip codes by area, classes of fewer than k rows left out.
An attacker who knows a neighbour's age, sex and zip code looks up the class and names its most frequent disease. In the
extreme, a woman of 50 to 60 whose class has two rows has one of two diseases, or certainly the one that both rows have.
The private release is the same table of numbers (class by disease), with noise; one unit is in one cell.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.audit.anonymity import Anonymity, anonymity, joined
from tacit.audit.attacks.attempt import Attempt, Rates, attempted, ceiling, replacing
from tacit.mechanisms import Laplace
from tacit.parameters import Number


def two_women() -> tuple[dict[str, list[str]], Anonymity]:
    """The small textbook table: it is 2-anonymous, and the class of the women of 50 to 60 reveals all but one bit.

    >>> table, found = two_women()
    >>> found.k, table["disease"][3:5]  # whoever knows that she is there knows that it is one of these
    (2, ['cancer', 'heart disease'])
    """
    table = {
        "age": ["20-30", "20-30", "20-30", "50-60", "50-60", "50-60", "50-60", "50-60"],
        "sex": ["M", "M", "M", "F", "F", "M", "M", "M"],
        "disease": ["flu", "asthma", "flu", "cancer", "heart disease", "flu", "cancer", "gastritis"],
    }
    return table, anonymity(table, ["age", "sex"], "disease")


def homogeneity(
    epsilon: Number = "1/2", *, people: int = 2_000, k: int = 2, diseases: int = 20, seed: int = 1
) -> Attempt:
    """Tell people's diseases from a k-anonymous table, and from a noisy one.

    >>> done = homogeneity(epsilon="1/2", people=300)
    >>> round(done.ceiling, 2), done.naive > done.ceiling
    (0.13, True)
    """

    def run() -> Rates:
        rng = np.random.default_rng(seed)
        decade, sex, area = (
            rng.integers(0, 10, people),
            rng.integers(0, 2, people),
            rng.integers(0, people // 30, people),
        )
        disease = rng.integers(0, diseases, people)
        classes = joined([decade, sex, area])
        cells = np.zeros((int(classes.max()) + 1, diseases), dtype=np.int64)
        np.add.at(cells, (classes, disease), 1)
        kept = cells.sum(axis=1) >= k
        published = kept[classes]
        naive = _right(cells, classes[published], disease[published])
        noisy = Laplace(sensitivity=1, epsilon=epsilon).release(cells)
        private = _right(noisy, classes[published], disease[published])
        table = {"class": classes[published], "disease": disease[published]}
        words = f"The table is {anonymity(table, ['class'], 'disease').k}-anonymous, and its classes are small."
        return Rates(naive, private, 1 / diseases, int(published.sum()), words)

    return attempted(
        "homogeneity",
        "tell the disease of a person whose age, sex and area are known",
        run,
        epsilon=epsilon,
        most=lambda budget: ceiling(replacing(budget), candidates=diseases),
    )


def _right(cells: NDArray[np.int64], classes: NDArray[np.int64], disease: NDArray[np.int64]) -> float:
    """How often the largest cell of a person's class is the person's own."""
    return float(np.mean(np.argmax(cells, axis=1)[classes] == disease))
