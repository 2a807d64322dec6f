"""The data sets of the learning benchmark: how rows are prepared, what is public about them, how they are split.

Fixed in advance, for every model and every peer:

- Split `seed` keeps a fifth of the rows for testing, by a permutation from numpy's frozen generator with that seed.
- Bounds are public facts, never taken from the split at hand. breast_cancer: the table of ranges in scikit-learn's
  documentation of the data set. digits: a pixel is 0 to 16. diabetes: the unscaled columns, within the ranges in
  `DIABETES` (round numbers around what the quantities can be); the target is 25 to 346, as documented.
- Adult: numbers within the ranges in `ADULT_NUMBERS`; listed values as in the repository's own description, "?" being
  the value of a missing cell. The sampling weight (fnlwgt) is left out. For linear models (`banded`) age, hours and
  money are cut into the brackets in `ADULT_BANDS`, because income is no straight line of any of them: scikit-learn
  without privacy has .850 with plain numbers, .857 with brackets. They were chosen as round numbers, once, with that
  figure in sight.
- blobs: 10 centres in 10 dimensions within (-10, 10), deviation 1, 10,000 rows, drawn anew for each seed.

`matrix` is what scikit-learn and peers get: numbers from 0 to 1 between their bounds, and a column of 0 and 1 for each
listed value. This file needs numpy and scikit-learn alone, so that a peer in its own environment reads the same rows.
"""

from __future__ import annotations

import csv
import functools
import gzip
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

HERE = Path(__file__).resolve().parent
TEST_SHARE = 0.2

DIABETES = {
    "age": (18, 80),
    "sex": (1, 2),
    "bmi": (15, 45),
    "bp": (60, 140),
    "s1": (90, 310),
    "s2": (40, 250),
    "s3": (20, 100),
    "s4": (2, 10),
    "s5": (3, 6.5),
    "s6": (50, 130),
}
ADULT_NUMBERS = {
    "age": (17, 90),
    "education_num": (1, 16),
    "capital_gain": (0, 99_999),
    "capital_loss": (0, 4_356),
    "hours_per_week": (1, 99),
}
ADULT_BANDS = {
    "age": (25, 35, 45, 55, 65),
    "hours_per_week": (35, 40, 41, 50),
    "capital_gain": (1, 5_000, 10_000, 20_000),
    "capital_loss": (1, 1_500, 2_000, 2_500),
}
ADULT_VALUES = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked ?",
    "education": "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters "
    "1st-4th 10th Doctorate 5th-6th Preschool",
    "marital_status": "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
    "Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
    "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces ?",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "native_country": "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India "
    "Japan Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland "
    "France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand "
    "Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands ?",
}


@dataclass(frozen=True, slots=True)
class Data:
    """Rows, the target (None where there is none), and what is public about them."""

    name: str
    columns: tuple[str, ...]
    rows: Any  # one column for each name; texts where values are listed
    target: Any
    bounds: dict[str, tuple[float, float]]
    values: dict[str, tuple[str, ...]]
    classes: tuple[Any, ...] = ()
    target_bounds: tuple[float, float] | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """`bounds` and, where there are any, `values`, as a model of ours takes them: by the number of the column."""
        place = {name: number for number, name in enumerate(self.columns)}
        known: dict[str, Any] = {"bounds": {place[name]: own for name, own in self.bounds.items()}}
        if self.values:
            known["values"] = {place[name]: list(own) for name, own in self.values.items()}
        return known

    @property
    def matrix(self) -> Any:
        """Numbers from 0 to 1, listed values as columns of 0 and 1."""
        parts = []
        for place, name in enumerate(self.columns):
            column = self.rows[:, place]
            if name in self.values:
                parts += [(column == value).astype(float) for value in self.values[name]]
            else:
                low, high = self.bounds[name]
                parts.append(np.clip((column.astype(float) - low) / (high - low), 0.0, 1.0))
        return np.stack(parts, axis=1)


@dataclass(frozen=True, slots=True)
class Split:
    """The rows to learn from and those to test with; `seed` names it."""

    seed: int
    train: Data
    test: Data


def split_of(name: str, seed: int) -> Split:
    """One split of a data set. Data that are drawn are drawn anew for each seed, and tested on the same rows."""
    if name == "blobs":
        drawn = _blobs(seed)
        return Split(seed, drawn, drawn)
    whole = SETS[name]()
    order = np.random.RandomState(seed).permutation(len(whole.rows))
    cut = round(TEST_SHARE * len(order))
    return Split(seed, _part(whole, order[cut:]), _part(whole, order[:cut]))


def _part(whole: Data, places: Any) -> Data:
    target = None if whole.target is None else whole.target[places]
    facts = (whole.bounds, whole.values, whole.classes, whole.target_bounds)
    return Data(whole.name, whole.columns, whole.rows[places], target, *facts)


@functools.cache
def breast_cancer() -> Data:
    held = datasets.load_breast_cancer()
    told = re.findall(r"^(\w[\w ]*) \((mean|standard error|worst)\):\s+([\d.]+)\s+([\d.]+)$", held.DESCR, re.MULTILINE)
    kinds = {"mean": "mean {}", "standard error": "{} error", "worst": "worst {}"}
    ranges = {kinds[kind].format(what): (float(low), float(high)) for what, kind, low, high in told}
    names = tuple(str(name) for name in held.feature_names)
    return Data("breast_cancer", names, held.data, held.target, {name: ranges[name] for name in names}, {}, (0, 1))


@functools.cache
def digits() -> Data:
    held = datasets.load_digits()
    names = tuple(f"pixel{place}" for place in range(held.data.shape[1]))
    return Data("digits", names, held.data, held.target, dict.fromkeys(names, (0, 16)), {}, tuple(range(10)))


@functools.cache
def diabetes() -> Data:
    held = datasets.load_diabetes(scaled=False)
    names = tuple(str(name) for name in held.feature_names)
    return Data("diabetes", names, held.data, held.target, DIABETES, {}, (), (25, 346))


@functools.cache
def wine() -> Data:
    """Used to choose nothing: a check of settings that were chosen on the others."""
    held = datasets.load_wine()
    told = re.findall(r"^(\w[^:\n]*):\s+([\d.]+)\s+([\d.]+)\s+[\d.]+\s+[\d.]+$", held.DESCR, re.MULTILINE)
    names = tuple(str(name) for name in held.feature_names)
    ranges = [(float(low), float(high)) for _, low, high in told]
    return Data("wine", names, held.data, held.target, dict(zip(names, ranges, strict=True)), {}, (0, 1, 2))


@functools.cache
def adult() -> Data:
    with gzip.open(HERE / "data" / "adult.csv.gz", "rt", newline="") as file:
        header, *lines = csv.reader(file)
    names = tuple(name for name in header if name not in ("fnlwgt", "income_per_year"))
    table = np.array([[cell or "?" for cell in line] for line in lines], dtype=object)
    rows = np.empty((len(table), len(names)), dtype=object)
    for place, name in enumerate(names):
        column = table[:, header.index(name)]
        if name in ADULT_NUMBERS:
            column = column.astype(float)
        rows[:, place] = column
    target = table[:, header.index("income_per_year")].astype(str)
    values = {name: tuple(own.split()) for name, own in ADULT_VALUES.items()}
    return Data("adult", names, rows, target, dict(ADULT_NUMBERS), values, ("<=50K", ">50K"))


def banded(data: Data) -> Data:
    """The same rows with the columns of `ADULT_BANDS`, where they are, as listed brackets: "b0" is below all edges."""
    rows, bounds, values = data.rows.copy(), dict(data.bounds), dict(data.values)
    for place, name in enumerate(data.columns):
        if data.name == "adult" and name in ADULT_BANDS:
            edges = ADULT_BANDS[name]
            labels = np.array([f"b{number}" for number in range(len(edges) + 1)], dtype=object)
            rows[:, place] = labels[np.digitize(rows[:, place].astype(float), edges)]
            values[name] = tuple(labels)
            del bounds[name]
    return Data(data.name, data.columns, rows, data.target, bounds, values, data.classes, data.target_bounds)


def _blobs(seed: int) -> Data:
    drawn = np.random.default_rng(seed)
    centres = drawn.uniform(-8, 8, (10, 10))
    rows = np.clip(centres[drawn.integers(0, 10, 10_000)] + drawn.normal(size=(10_000, 10)), -10, 10)
    names = tuple(f"x{place}" for place in range(10))
    return Data("blobs", names, rows, None, dict.fromkeys(names, (-10, 10)), {})


SETS = {"breast_cancer": breast_cancer, "digits": digits, "diabetes": diabetes, "wine": wine, "adult": adult}
