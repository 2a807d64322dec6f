"""`small_database` and `mwem`: laws by enumeration, neighbours of tiny data, the theorems' bounds."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import tacit
from tacit import synthesis
from tacit.errors import ParameterError
from tacit.loss import compose, events
from tacit.noise import secure
from tacit.synthesis import scoring, small
from tacit.synthesis.mwem import _turned_again, plan_mwem, turned_weights
from tacit.synthesis.small import chosen_database, databases_of, losses_of, plan_small
from tacit.synthesis.whole_domain import Questions

TINY = Questions((2, 2), ((0,), (1,), (0, 1)))


def table(rows: tuple[tuple[int, int], ...]) -> np.ndarray:
    found = np.zeros((2, 2), dtype=np.int64)
    for a, b in rows:
        found[a, b] += 1
    return found


def loss_by_hand(database: tuple[int, ...], rows: tuple[tuple[int, int], ...], total: int) -> Fraction:
    """max_k |N f_k(small) - c_k|, straight from the definition, in exact arithmetic."""
    few = [divmod(cell, 2) for cell in database]
    tests = [lambda row, a=a: row[0] == a for a in (0, 1)] + [lambda row, b=b: row[1] == b for b in (0, 1)]
    tests += [lambda row, a=a, b=b: row == (a, b) for a in (0, 1) for b in (0, 1)]
    return max(abs(Fraction(total * sum(map(test, few)), len(few)) - sum(map(test, rows))) for test in tests)


DATA = tuple(itertools.chain(*[itertools.combinations_with_replacement(list(np.ndindex(2, 2)), n) for n in range(4)]))


# -- small databases -------------------------------------------------------------------------------------------


def test_every_small_database_is_listed_once() -> None:
    listed = databases_of(4, 3)
    assert len(listed) == math.comb(6, 3)
    assert len({tuple(each) for each in listed.tolist()}) == len(listed)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_losses_are_those_of_the_definition(size: int) -> None:
    listed = databases_of(4, size)
    for rows in DATA:
        found = losses_of(listed, TINY, table(rows), 5)
        by_hand = [loss_by_hand(tuple(each), rows, 5) * size for each in listed.tolist()]
        assert found.tolist() == by_hand


def test_a_unit_moves_a_loss_no_further_than_stated_and_that_far() -> None:
    for size, unit in ((1, 1), (2, 1), (1, 2)):
        plan = plan_small(Fraction(1), unit, size, 10, bought=False)
        stated = plan.choice.event.range / (2 * plan.choice.factor)
        assert stated == size * unit
        listed = databases_of(4, size)
        furthest = 0
        for rows in DATA:
            for more in itertools.combinations_with_replacement(list(np.ndindex(2, 2)), unit):
                before, after = (losses_of(listed, TINY, table(each), 4) for each in (rows, (*rows, *more)))
                furthest = max(furthest, int(np.abs(before - after).max()))
                rounded = np.abs(before // size - after // size).max()
                assert rounded <= plan.error.event.sensitivity
        assert furthest == stated


def test_neighbours_have_laws_within_epsilon_of_each_other() -> None:
    """Enumerated: the probability of every database under every data of up to three rows and their neighbours."""
    epsilon = Fraction(3, 2)
    plan = plan_small(epsilon, 1, 2, 10, bought=False)
    listed = databases_of(4, 2)
    share = float(plan.choice.event.range)

    def law(rows: tuple[tuple[int, int], ...]) -> np.ndarray:
        weights = np.exp(-float(plan.choice.factor) * losses_of(listed, TINY, table(rows), 3))
        return weights / weights.sum()

    worst = 0.0
    for rows in DATA:
        for more in np.ndindex(2, 2):
            worst = max(worst, float(np.abs(np.log(law(rows) / law((*rows, more)))).max()))
    assert worst <= share + 1e-12
    assert worst > share / 3
    assert share + float(plan.error.event.sensitivity / plan.error.event.scale) == pytest.approx(float(epsilon))


@pytest.mark.statistical
def test_databases_come_out_by_the_enumerated_law() -> None:
    """1,500 draws among 10 databases: chi-square of 9 degrees of freedom above 60 has probability below 2e-9."""
    rows = ((0, 0), (0, 1), (1, 1), (1, 1), (1, 1))
    plan = plan_small(Fraction(2), 1, 2, 10, bought=False)
    drawn = Counter(tuple(chosen_database(plan, TINY, table(rows), 5, secure())[0].tolist()) for _ in range(1500))
    weights = {
        tuple(each): math.exp(-2 * 0.9 * float(loss_by_hand(tuple(each), rows, 5)) / 2)
        for each in databases_of(4, 2).tolist()
    }
    expected = {each: 1500 * own / sum(weights.values()) for each, own in weights.items()}
    assert sum((drawn[each] - own) ** 2 / own for each, own in expected.items()) < 60


@pytest.mark.parametrize("rows", [None, 60])
def test_what_a_small_database_costs_adds_up_to_epsilon(rows: int | None) -> None:
    generator = np.random.default_rng(0)
    data = {"a": generator.integers(0, 2, 60), "b": generator.integers(0, 2, 60)}
    twin = synthesis.small_database(data, epsilon=1, rows=rows, size=3, bounds={"a": (0, 1), "b": (0, 1)})
    event = events.from_json(twin.receipt["event"])
    parts = event.events
    spent = sum(each.range if isinstance(each, events.Exponential) else each.sensitivity / each.scale for each in parts)
    assert spent == 1
    assert len(parts) == (3 if rows is None else 2)
    assert twin.receipt["delta"] == "0"
    assert twin.facts["bound"] > 0
    drawn = twin.sample(30, seed=0)
    assert len({*zip(drawn["a"].tolist(), drawn["b"].tolist(), strict=True)}) <= 3


@pytest.mark.statistical
def test_the_bound_of_a_small_database_holds() -> None:
    """100 runs at 95 %: 20 or more failures of the bound have probability below 1e-7; none is usual."""
    generator = np.random.default_rng(1)
    rows = tuple((int(a), int(a ^ (generator.random() < 0.2))) for a in generator.integers(0, 2, 200))
    exact = TINY.counts(table(rows))
    plan = plan_small(Fraction(1), 1, 8, math.comb(11, 8), bought=True)
    failed, near, within = 0, 0, plan.error.error("0.95")
    bound = small.bound_of(plan, TINY.many, 190, Fraction(1, 20))  # a little less than for the 200 that there are
    for _ in range(100):
        chosen, total, error = chosen_database(plan, TINY, table(rows), None, secure())
        found = TINY.counts(np.bincount(chosen, minlength=4).reshape(2, 2)) / 8 * total
        occurred = np.abs(found - exact).max()
        failed += bool(occurred > bound)
        near += bool(abs(error - occurred) <= within + 1)
    assert failed < 20
    assert near > 80


# -- multiplicative weights ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bought", [True, False])
def test_the_composed_event_of_mwem_is_within_the_budget(bought: bool) -> None:
    plan = plan_mwem(2, 12, Fraction(1), Fraction(1, 10**6), bought=bought)
    assert compose([plan.event]).delta(1) <= Fraction(1, 10**6)
    assert plan.count.event.sensitivity == 2
    assert plan.choice.factor == plan.choice.event.range / (2 * scoring.GRID * 2)
    counted = sum(each.count for each in plan.event.events if isinstance(each, events.Repeated))
    assert counted == 24
    assert len(plan.event.events) == (3 if bought else 2)


def test_a_unit_moves_the_scores_of_mwem_no_further_than_stated() -> None:
    seen: list[np.ndarray] = []
    plan = plan_mwem(1, 1, Fraction(1), Fraction(1, 10**6), bought=False)

    class Watched:
        def choose(self, candidates: list[int], *, scores: np.ndarray, bits: object) -> int:
            seen.append(scores)
            return candidates[0]

        def shortfall(self, *_: object, **__: object) -> float:
            return 0.0

    object.__setattr__(plan, "choice", Watched())
    for rows in DATA:
        for more in np.ndindex(2, 2):
            for each in (rows, (*rows, more)):
                turned_weights(plan, TINY, table(each), 3, secure())
            after, before = seen.pop(), seen.pop()
            assert np.abs(after - before).max() <= scoring.sensitivity(1)


@pytest.mark.statistical
def test_the_bound_of_mwem_holds() -> None:
    """30 runs at 95 %: 12 or more failures have probability below 1e-7; none is usual."""
    generator = np.random.default_rng(1)
    questions = Questions((4, 3), ((0,), (1,), (0, 1)))
    counts = generator.multinomial(3000, generator.dirichlet(np.full(12, 0.4))).reshape(4, 3)
    exact = questions.counts(counts)
    plan = plan_mwem(1, 15, Fraction(1), Fraction(1, 10**6), bought=True)
    flat = np.abs(questions.counts(np.full((4, 3), 250.0)) - exact).max()
    failed, errors = 0, []
    for _ in range(30):
        weights, facts = turned_weights(plan, questions, counts, None, secure())
        occurred = np.abs(questions.counts(weights.reshape(4, 3)) * facts["rows"] - exact).max()
        failed += bool(occurred > facts["bound"])
        errors.append(float(occurred))
    assert failed < 12
    assert np.mean(errors) < 0.6 * flat


def test_past_measurements_are_used_again_only_beyond_the_noise() -> None:
    members = TINY.members()
    tables = np.array([0, 0, 1, 1, 2, 2, 2, 2])
    flat = np.full(4, 0.25)
    kept = _turned_again(flat, [(0, 60.0)], members, tables, 100, trusted=10.5)
    assert np.array_equal(kept, flat)
    turned = _turned_again(flat, [(0, 90.0)], members, tables, 100, trusted=10.5)
    assert 0.5 < turned[:2].sum() < 0.9
    assert turned.sum() == pytest.approx(1)


def test_through_a_curator_they_are_charged_once_and_stored() -> None:
    import pandas as pd

    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"who": range(300), "sex": generator.choice(["f", "m"], 300), "age": generator.integers(0, 4, 300)}
    )
    facts = {"sex": tacit.one_of("f", "m"), "age": tacit.between(0, 3)}
    clinic = tacit.protect(frame, unit="who", columns=facts, budget=tacit.Budget(epsilon=9, delta=1e-4))
    rows = clinic.rows("SELECT sex, age FROM data")
    for make in (
        lambda: synthesis.small_database(rows, epsilon=1, size=3),
        lambda: synthesis.mwem(rows, epsilon=1, delta=1e-6, rounds=5),
    ):
        first, again = make(), make()
        assert not first.repeated
        assert again.repeated
        assert first.facts == again.facts
        assert np.array_equal(first.probabilities("sex", "age"), again.probabilities("sex", "age"))
        assert first.sample(10).to_pandas().columns.tolist() == ["sex", "age"]
        assert first.ask("SELECT count(*) AS n FROM t").intervals() == {}


def test_bad_input_is_refused() -> None:
    data = {"a": np.zeros(9, dtype=np.int64), "b": np.zeros(9, dtype=np.int64)}
    bounds = {"a": (0, 1), "b": (0, 99)}
    for changed in ({"size": 0}, {"size": 60}, {"rows": 0}, {"epsilon": 0}, {"workload": [("c",)]}):
        with pytest.raises(ParameterError):
            synthesis.small_database(data, **{"epsilon": 1, "bounds": bounds, **changed})
    for changed in ({"rounds": 0}, {"rounds": 10**6}, {"rows": -1}, {"delta": 0}, {"epsilon": -1}):
        with pytest.raises(ParameterError):
            synthesis.mwem(data, **{"epsilon": 1, "delta": 1e-6, "bounds": bounds, **changed})
    wide = {f"c{place}": np.zeros(3, dtype=np.int64) for place in range(4)}
    with pytest.raises(ParameterError, match="aim"):
        synthesis.mwem(wide, epsilon=1, delta=1e-6, bounds=dict.fromkeys(wide, (0, 99)))
    assert small.MOST_DATABASES >= 1 << 10
