"""The matrix of sums and products: sensitivities, exact sums, the noise that was charged, and the plain truth."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.learning.columns import Feature, features_of
from tacit.learning.second_moments.gram import Design, design
from tacit.learning.second_moments.sums import exact_sums, matrix_products
from tacit.learning.training import training
from tacit.loss import calibrate, events
from tacit.noise import secure
from tacit.statistics.source import ArraySource, source_of
from tests.statistics.test_source import looked_at

CASES = 5_000


def columns(rng: np.random.Generator) -> tuple[Feature, ...]:
    """One to four columns: numbers of any width, and listed values."""
    found = []
    for place in range(int(rng.integers(1, 5))):
        if rng.random() < 0.4:
            options = tuple(range(int(rng.integers(1, 5))))
            found.append(Feature(f"c{place}", 0, 1, Fraction(1), options))
        else:
            width = int(rng.choice([1, 2, 7, 100, (1 << 17) - 1, (1 << 40) + 3]))
            found.append(Feature(f"c{place}", int(rng.integers(-9, 9)), width, Fraction(1, 8)))
    return tuple(found)


def cells(each: Feature, rows: int, rng: np.random.Generator) -> Any:
    """Codes at the ends, where norms are largest, between them, and beyond: unlisted values, values outside bounds."""
    if each.options is not None:
        return rng.integers(-1, each.size + 1, rows)
    ends = np.array([each.low, each.low + each.width, each.low - 5, each.low + each.width + 9])
    inner = rng.integers(each.low, each.low + each.width, rows, endpoint=True)
    return np.where(rng.random(rows) < 0.7, rng.choice(ends, rows), inner)


def moved_by(made: Design, codes: Any) -> list[int]:
    """What rows add to the released vector, before noise."""
    sums = matrix_products(codes, made.features, ["number"] * len(made.features))
    if not made.products:
        kept = np.eye(len(sums), dtype=bool)
        kept[0] = kept[:, 0] = True
        sums = np.where(kept, sums, 0)
    table = made._moved(sums)
    return [weight * int(table[i, j]) for i, j, weight in made.pairs]


def test_a_units_rows_move_the_vector_by_at_most_the_sensitivity() -> None:
    rng = np.random.default_rng()
    designs = []
    for _ in range(200):
        features, rows = columns(rng), int(rng.integers(1, 4))
        delta, products = Fraction(int(rng.integers(0, 2)), 100), bool(rng.integers(0, 2))
        designs.append((design(features, rows, Fraction(1), delta, products=products), rows))
    kinds = set()
    closest = 0.0
    for made, rows in itertools.islice(itertools.cycle(designs), CASES):
        codes = np.stack([cells(each, rows, rng) for each in made.features], axis=1)
        if rng.random() < 0.5:
            codes[:] = codes[0]  # the same row again moves it farthest
        moved = moved_by(made, codes)
        event = made.noise.price.event
        kinds.add(type(event))
        if isinstance(event, events.DiscreteLaplace):
            assert sum(map(abs, moved)) <= event.sensitivity
            closest = max(closest, sum(map(abs, moved)) / event.sensitivity)
        else:
            assert isinstance(event, events.DiscreteGaussian)
            assert sum(each * each for each in moved) <= event.sensitivity**2
            assert event.dimensions == len(moved)
    assert kinds == {events.DiscreteLaplace, events.DiscreteGaussian}
    assert closest > 0.99  # the bound is reached: no budget is given away


def test_the_noise_is_the_one_that_is_charged() -> None:
    features = (Feature("a", 0, 9, Fraction(1)), Feature("b", 0, 1, Fraction(1), (0, 1, 2)))
    made = design(features, 2, Fraction(1), Fraction(1, 10**5))
    event = made.noise.price.event
    assert isinstance(event, events.DiscreteGaussian)
    # r 29 L**2 (1 + m), written out once more
    assert event.sensitivity == 2 * 29 * made.length**2 * 3
    # The coordinates are too many for the exact curve, so what is wanted is at least the continuous noise.
    assert event.sigma >= calibrate.gaussian_sigma(event.sensitivity, 1, Fraction(1, 10**5)) * Fraction(999, 1000)
    assert calibrate.discrete_gaussian_delta(event.sensitivity, event.sigma, 1, event.dimensions) <= 1e-5
    pure = design(features, 2, Fraction(1, 2), Fraction(0)).noise.price.event
    assert isinstance(pure, events.DiscreteLaplace)
    assert pure.sensitivity == 2 * made.length**2 * 6
    assert pure.scale == 2 * pure.sensitivity


@pytest.mark.statistical
def test_released_entries_scatter_as_their_deviations_say() -> None:
    """300 releases: a ratio of squared deviations is beyond 1.6 or below 0.55 once in 10**7 runs."""
    X = np.array([[0.0, 1.0], [1.0, 3.0], [0.5, 2.0]])
    given = training(tacit.learning.SecondMoments(bounds=(0, 4)), X, None, None)
    made = design(given.columns, 1, Fraction(1), Fraction(1, 10**5))
    truth = np.column_stack([np.ones(3), X / 2 - 1])
    assert isinstance(given.source, ArraySource)
    fresh = ArraySource(given.source.known, given.source.columns, given.source.missing)  # it remembers nothing
    drawn = np.array([looked_at(fresh, lambda o: made.release(o, secure()).matrix) for _ in range(300)])
    deviations = looked_at(fresh, lambda o: made.release(o, secure()).deviations)
    ratios = np.square(drawn - truth.T @ truth).mean(axis=0) / np.square(deviations)
    assert (ratios > 0.55).all()
    assert (ratios < 1.6).all()


def clinic() -> tuple[tacit.Curator, pd.DataFrame]:
    rng = np.random.default_rng()
    frame = pd.DataFrame(
        {
            "who": np.arange(200) % 90,
            "age": rng.integers(0, 110, 200),
            "charge": rng.uniform(0, 100, 200).round(2),
            "sex": rng.choice(["F", "M", "?"], 200),
            "smoker": rng.choice([True, False], 200),
        }
    )
    frame.loc[3, "age"] = 999
    facts = {"age": tacit.between(0, 110), "charge": tacit.between(0.0, 100.0), "sex": tacit.one_of("F", "M")}
    curator = tacit.protect(
        frame, unit="who", rows_per_unit=3, columns=facts | {"smoker": tacit.one_of(True, False)},
        budget=tacit.Budget(epsilon=50, delta=1e-4),
    )  # fmt: skip
    return curator, frame


def test_sums_inside_the_engine_are_those_of_codes_and_those_of_the_rows() -> None:
    curator, frame = clinic()
    source = source_of(curator.rows("SELECT age, charge, sex, smoker FROM data"))
    features = features_of(source.variables)
    names = [each.name for each in features]
    inside, codes = looked_at(
        source,
        lambda o: (exact_sums(o, features, True), matrix_products(o.values(*names), features, o.meanings(*names))),
    )
    # two values of one column never meet, and the engine is not asked
    assert (inside == codes).all()
    kept = frame[frame["sex"].isin(["F", "M"])]
    vectors = [np.ones(len(kept)), kept["age"].clip(0, 110)]
    vectors += [(kept["charge"] / float(features[1].step)).round()]
    vectors += [kept["sex"] == value for value in features[2].labels]
    vectors += [kept["smoker"] == value for value in features[3].labels]
    plain = np.array([[int(each) for each in vector] for vector in vectors], dtype=object)
    assert (inside == plain @ plain.T).all()


def test_wide_codes_are_multiplied_exactly() -> None:
    rng = np.random.default_rng()
    features = (Feature("a", -7, (1 << 43) - 1, Fraction(1)), Feature("b", 0, (1 << 20) + 1, Fraction(1)))
    codes = np.stack([rng.integers(0, (1 << 43) - 8, 500), rng.integers(0, 1 << 20, 500)], axis=1)
    found = matrix_products(codes, features, ["number", "number"])
    plain = np.vstack([np.ones(500, dtype=object), codes[:, 0].astype(object) + 7, codes[:, 1].astype(object)])
    assert (found == plain @ plain.T).all()
