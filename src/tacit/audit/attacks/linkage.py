"""Linkage: a table without names and a roll with names share birth date, zip code and sex.

The naive release is the hospital's rows with names left out. A person whose (birth date, zip, sex) is alone in both
tables is named, and their diagnosis with them (Sweeney 1997). The private release is the number of patients of every
diagnosis in each target's class, with noise: one unit is in one cell, so a histogram of any size has sensitivity 1.
The attacker names the diagnosis with the highest noisy number, which is the likeliest one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.audit.attacks.attempt import Attempt, Rates, attempted, ceiling, replacing
from tacit.mechanisms import Laplace
from tacit.parameters import Number

Columns: TypeAlias = Mapping[str, NDArray[np.int64]]
_DAYS = 36_525  # birth dates of a hundred years


def population(people: int, rng: np.random.Generator, zips: int = 100) -> dict[str, NDArray[np.int64]]:
    """Made-up people: day of birth, zip code and sex, all independent."""
    return {
        "birth": rng.integers(0, _DAYS, people),
        "zip": rng.integers(0, zips, people),
        "sex": rng.integers(0, 2, people),
    }


def linkage(
    epsilon: Number = 1, *, people: int = 20_000, patients: int = 2_000, diagnoses: int = 20, seed: int = 1
) -> Attempt:
    """Name patients of a table without names by a roll that covers everyone, and read off their diagnosis.

    >>> done = linkage(epsilon=1, people=500, patients=50)
    >>> done.naive, round(done.ceiling, 2)
    (1.0, 0.28)
    """

    def run() -> Rates:
        rng = np.random.default_rng(seed)
        roll = population(people, rng)
        names = rng.choice(people, patients, replace=False)
        hospital = {column: values[names] for column, values in roll.items()}
        diagnosis = rng.integers(0, diagnoses, patients)
        found = link(roll, hospital)
        # a person who is not named uniquely counts as missed
        said = np.full(people, -1)
        said[found[found >= 0]] = diagnosis[found >= 0]
        naive = float(np.mean(said[names] == diagnosis))
        cells = _cells(hospital, diagnosis, diagnoses)
        noisy = Laplace(sensitivity=1, epsilon=epsilon).release(cells)
        private = float(np.mean(np.argmax(noisy, axis=1) == diagnosis))
        words = f"{np.mean(found >= 0):.1%} of the rows without names fit one person of the roll only."
        return Rates(naive, private, 1 / diagnoses, patients, words)

    aim = "tell a known person's diagnosis from birth date, zip code and sex"
    return attempted(
        "linkage", aim, run, epsilon=epsilon, most=lambda budget: ceiling(replacing(budget), candidates=diagnoses)
    )


def link(roll: Columns, table: Columns) -> NDArray[np.int64]:
    """For every row of `table` the one row of `roll` that has the same values, or -1 where none or several have.

    >>> roll = {"birth": np.array([1, 2, 2]), "zip": np.array([7, 7, 7])}
    >>> link(roll, {"birth": np.array([1, 2]), "zip": np.array([7, 7])}).tolist()  # the second row fits two people
    [0, -1]
    """
    names = list(table)
    both = np.concatenate([np.column_stack([side[name] for name in names]) for side in (roll, table)])
    _, codes = np.unique(both, axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    size = len(roll[names[0]])
    mine, theirs = codes[:size], codes[size:]
    counts = np.bincount(mine, minlength=int(codes.max()) + 1)
    owner = np.full(counts.size, -1)
    owner[mine] = np.arange(size)
    return np.where(counts[theirs] == 1, owner[theirs], -1)


def _cells(hospital: Columns, diagnosis: NDArray[np.int64], diagnoses: int) -> NDArray[np.int64]:
    """For every patient, how many of their class have each diagnosis."""
    _, codes = np.unique(np.column_stack(list(hospital.values())), axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    table = np.zeros((int(codes.max()) + 1, diagnoses), dtype=np.int64)
    np.add.at(table, (codes, diagnosis), 1)
    return table[codes]
