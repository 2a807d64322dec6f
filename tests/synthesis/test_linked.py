"""Parents and children: what a unit moves in both tables, one charge, and rows whose join makes sense."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import synthesis
from tacit.curator import Price
from tacit.errors import ParameterError, QuestionError
from tacit.loss import compose, events
from tacit.loss.accountants import zcdp
from tacit.statistics.source import CuratorSource
from tacit.synthesis import scoring
from tacit.synthesis.cells import layout_of
from tacit.synthesis.counting import Tables
from tacit.synthesis.linked.joining import oriented
from tacit.synthesis.linked.linking import _link, _selected
from tacit.synthesis.linked.measuring import plan_linked

POLICY = """
[budget]
epsilon = 40
delta = 1e-3
[questions]
largest_epsilon = 40
[tables.people]
source = "people.csv"
unit = "who"
rows_per_unit = 1
[tables.people.columns]
age = {{ type = "integer", between = [0, 9] }}
sex = {{ type = "text", one_of = ["F", "M"], nullable = false }}
[tables.visits]
source = "visits.csv"
unit = "patient"
rows_per_unit = {most}
[tables.visits.columns]
ward = {{ type = "text", one_of = ["a", "b", "c"] }}
cost = {{ type = "real", between = [0, 100] }}
sex = {{ type = "text", one_of = ["F", "M"] }}
[tables.wards]
source = "wards.csv"
unit = "row"
[tables.wards.columns]
beds = {{ type = "integer", between = [0, 9] }}
"""
MOST = 3


def made_up(count: int, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    people = pd.DataFrame({"who": np.arange(count), "age": rng.integers(0, 10, count)})
    people["sex"] = rng.choice(["F", "M"], count)
    many = np.minimum(rng.poisson(0.3 + people["age"] / 4), MOST)
    visits = pd.DataFrame({"patient": np.repeat(people["who"], many).to_numpy()})
    own = people.set_index("who").loc[visits["patient"]]
    visits["ward"] = np.where(own["sex"] == "F", rng.choice(["a", "b"], len(visits), p=[0.9, 0.1]), "c")
    visits["cost"] = np.where(visits["ward"] == "a", rng.uniform(0, 20, len(visits)), rng.uniform(60, 100, len(visits)))
    visits["sex"] = own["sex"].to_numpy()
    return people, visits


def opened(folder: Path, people: pd.DataFrame, visits: pd.DataFrame, most: int = MOST) -> tacit.Curator:
    folder.mkdir(parents=True, exist_ok=True)
    people.to_csv(folder / "people.csv", index=False)
    visits.to_csv(folder / "visits.csv", index=False)
    (folder / "wards.csv").write_text("beds\n1\n2\n")
    (folder / "clinic.toml").write_text('ledger = "memory"\nworking_copy = "memory"\n' + POLICY.format(most=most))
    return tacit.open(folder / "clinic.toml")


def exact_tables(clinic: tacit.Curator) -> list[list[np.ndarray]]:
    """All tables of one and two columns, of units and of joined rows, as the release would count them."""
    over, under = clinic.policy.tables["people"], clinic.policy.tables["visits"]
    chosen = _selected(over, under, (_link(over), _link(under)), {})
    found = []
    for sql in (chosen.units, chosen.joined):
        source = CuratorSource(clinic.rows(sql))
        layout = layout_of(source, {"cost": 4} if sql == chosen.joined else None, nulls=True)
        price = Price(events.Laplace(1, 1), Fraction(1))
        exact = Tables(source.paid({"study": "test"}, price, None), layout)
        sets = [(place,) for place in range(len(layout.fields))]
        pairs = list(itertools.combinations(range(len(layout.fields)), 2))
        found.append([exact.table(columns) for columns in (*sets, *pairs)])
    return found


def test_a_unit_moves_tables_of_units_by_one_and_of_joined_rows_by_its_children(tmp_path: Path) -> None:
    people, visits = made_up(60)
    crowd = pd.DataFrame({"patient": [7] * 9, "ward": ["c"] * 9, "cost": [50.0] * 9, "sex": ["M"] * 9})
    orphans = pd.DataFrame({"patient": [999] * 2, "ward": ["a"] * 2, "cost": [1.0] * 2, "sex": ["F"] * 2})
    visits = pd.concat([visits, crowd, orphans])  # more rows than allowed, and rows of nobody
    whole = exact_tables(opened(tmp_path / "whole", people, visits))
    childless = int(people.loc[~people["who"].isin(visits["patient"]), "who"].iloc[0])
    largest = [0, 0]
    for number, who in enumerate((7, 3, 12, childless)):
        less = opened(tmp_path / str(number), people[people["who"] != who], visits[visits["patient"] != who])
        fewer = exact_tables(less)
        for place, (most, all_of, some_of) in enumerate(zip((1, MOST), whole, fewer, strict=True)):
            for left, right in zip(all_of, some_of, strict=True):
                moved = left - right
                assert moved.min() >= 0
                assert moved.sum() <= most
                assert np.sqrt((moved**2).sum()) <= most
                change = abs(scoring.distance(left, left * 0 + 5) - scoring.distance(right, right * 0 + 5))
                assert change <= scoring.sensitivity(most)
                largest[place] = max(largest[place], int(moved.sum()))
    assert largest == [1, MOST]  # the bounds are met


def test_the_number_of_children_is_that_of_the_rows_that_are_kept(tmp_path: Path) -> None:
    people, visits = made_up(40)
    clinic = opened(tmp_path, people, pd.concat([visits] * 4), most=2)
    over, under = clinic.policy.tables["people"], clinic.policy.tables["visits"]
    rows = clinic.rows(_selected(over, under, (_link(over), _link(under)), {}).units)
    counted = next(each for each in rows.plan.variables if each.name == "visits_count")
    assert (counted.low, counted.high, rows.plan.rows_per_unit) == (0, 2, 1)


def test_both_tables_are_one_charge_within_the_budget() -> None:
    epsilon, delta = Fraction(1), Fraction(1, 10**6)
    plan = plan_linked(4, 3, 5, epsilon, delta)
    assert compose([plan.units.event, plan.joined.event]).delta(epsilon) <= delta
    assert plan.event == events.Composed((plan.units.event, plan.joined.event))
    rho = zcdp.cost(events.Composed((plan.units.event,)))[0], zcdp.cost(events.Composed((plan.joined.event,)))[0]
    assert rho[1] / sum(rho) == pytest.approx(2 / 3, abs=0.01)
    assert plan.joined.single.event.sensitivity == plan.joined.pair.event.sensitivity == 5
    assert plan.units.single.event.sensitivity == 1
    assert plan.units.choice is not None
    for choice, most in ((plan.units.choice, 1), (plan.joined.choice, 5)):
        # weights are exp(factor * score): a score that moves by GRID r moves the loss within 2 factor GRID r
        moved = 2 * choice.factor * scoring.GRID * most
        assert 0.999 * choice.event.range < moved <= choice.event.range * (1 + Fraction(1, 10**9))
    joined = plan.joined.event
    assert isinstance(joined, events.Composed)
    assert [each.count for each in joined.events if isinstance(each, events.Repeated)] == [3, 3, 3]
    alone = plan_linked(4, 3, 1, epsilon, delta)
    assert plan.joined.pair.scale == pytest.approx(5 * alone.joined.pair.scale, rel=1e-3)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[tacit.Curator, synthesis.Linked]:
    clinic = opened(tmp_path_factory.mktemp("clinic"), *made_up(20_000))
    return clinic, synthesis.linked(clinic, "people", "visits", epsilon=4, delta=1e-6, bins={"cost": 10})


def test_two_frames_have_the_tables_columns_and_every_child_has_a_parent(
    made: tuple[tacit.Curator, synthesis.Linked],
) -> None:
    people, visits = (each.to_pandas() for each in made[1].sample(seed=1))
    assert people.columns.tolist() == ["who", "age", "sex"]
    assert visits.columns.tolist() == ["patient", "ward", "cost", "sex"]
    assert people["who"].is_unique
    assert set(visits["patient"]) <= set(people["who"])
    assert visits.groupby("patient").size().max() <= MOST
    assert [kind.kind for kind in (people["age"].dtype, visits["cost"].dtype)] == ["i", "f"]


def test_the_join_makes_sense(made: tuple[tacit.Curator, synthesis.Linked]) -> None:
    real = made_up(20_000)
    synthetic = tuple(each.to_pandas() for each in made[1].sample(seed=2))
    figures = []
    for people, visits in (real, synthetic):
        many = visits.groupby("patient").size().reindex(people["who"]).fillna(0)
        joined = visits.merge(people, left_on="patient", right_on="who", suffixes=("", "_of_parent"))
        figures.append(
            [
                float(np.corrcoef(people["age"], many)[0, 1]),
                len(visits) / len(people),
                float((joined.loc[joined["sex_of_parent"] == "F", "ward"] == "a").mean()),
                float((joined["sex"] == joined["sex_of_parent"]).mean()),
                float(joined.loc[joined["ward"] == "a", "cost"].mean() / 100),
                float(joined["age"].mean() / 10),
            ]
        )
    assert np.abs(np.subtract(*figures)).max() < 0.04, figures
    assert figures[0][3] == 1


def test_rows_that_are_drawn_agree_with_the_joined_model(made: tuple[tacit.Curator, synthesis.Linked]) -> None:
    twins = made[1]
    people, visits = (each.to_pandas() for each in twins.sample(200_000, seed=3))
    joined = visits.merge(people, left_on="patient", right_on="who", suffixes=("", "_of_parent"))
    for columns, names in ((("people_sex", "ward"), ("sex_of_parent", "ward")), (("age", "sex"), ("age", "sex"))):
        model = twins.children.probabilities(*columns)
        counted = pd.crosstab(*(joined[name] for name in names)).to_numpy() / len(joined)
        assert np.abs(model - counted).max() < 0.005
    assert twins.children.total == pytest.approx(len(joined) * twins.parents.total / 200_000, rel=0.01)


def test_joined_rows_are_asked_with_intervals_where_they_were_measured(
    made: tuple[tacit.Curator, synthesis.Linked],
) -> None:
    twins = made[1]
    _, visits = made_up(20_000)
    found = twins.ask("SELECT ward, count(*) AS n FROM joined GROUP BY ward ORDER BY ward")
    for ward, (low, high) in zip("abc", found.intervals()["n"], strict=True):
        assert low <= (visits["ward"] == ward).sum() <= high
    assert twins.parents.ask("SELECT avg(visits_count) AS n FROM people")["n"][0] == pytest.approx(
        len(visits) / 20_000, abs=0.05
    )
    assert twins.ask("SELECT count(*) AS n FROM joined WHERE visits_count = 0")["n"][0] == 0


def test_the_same_again_is_free_and_other_columns_are_not(made: tuple[tacit.Curator, synthesis.Linked]) -> None:
    clinic, twins = made
    again = synthesis.linked(clinic, "people", "visits", epsilon=4, delta=1e-6, bins={"cost": 10})
    assert again.repeated
    assert not twins.repeated
    assert twins.receipt["rows_per_unit"] == str(MOST)
    assert events.from_json(twins.receipt["event"]) == plan_linked(3, 3, MOST, Fraction(4), Fraction(1, 10**6)).event
    other = synthesis.linked(clinic, "people", "visits", epsilon=1, delta=1e-6, columns={"visits": ["ward"]})
    assert not other.repeated
    assert other.children.columns == (
        "age",
        "people_sex" if "people_sex" in other.children.columns else "sex",
        "visits_count",
        "ward",
    )


def test_both_are_saved_and_read_again(made: tuple[tacit.Curator, synthesis.Linked], tmp_path: Path) -> None:
    twins = made[1]
    twins.save(tmp_path / "twins.json")
    again = synthesis.load_linked(tmp_path / "twins.json")
    assert again.tables == ("people", "visits")
    for left, right in zip(twins.sample(500, seed=4), again.sample(500, seed=4), strict=True):
        pd.testing.assert_frame_equal(left.to_pandas(), right.to_pandas())
    content = json.loads((tmp_path / "twins.json").read_text())
    told = json.loads(content["arrays"]["linked"])
    for changed in ({"parents": [["weight", "weight"]]}, {"links": ["who"]}, {"tables": None}):
        content["arrays"]["linked"] = json.dumps({**told, **changed})
        (tmp_path / "changed.json").write_text(json.dumps(content))
        with pytest.raises(ParameterError, match=r"Linked\.save"):
            synthesis.load_linked(tmp_path / "changed.json")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ParameterError, match=r"Linked\.save"):
        synthesis.load_linked(tmp_path / "other.json")
    twins.parents.save(tmp_path / "parents.json")
    assert "visits_count" in synthesis.load(tmp_path / "parents.json").columns
    page = twins.card()
    assert page.count("What was measured") == 2
    assert "Rows of visits, each with its row of people" in page


def test_missing_values_are_kept_where_asked(tmp_path: Path) -> None:
    people, visits = made_up(3_000)
    visits.loc[visits.index[::3], "cost"] = np.nan
    clinic = opened(tmp_path, people, visits)
    twins = synthesis.linked(clinic, "people", "visits", epsilon=20, delta=1e-4, bins={"cost": 5}, nulls=True)
    drawn = twins.sample(seed=1)[1].to_pandas()
    assert drawn["cost"].isna().mean() == pytest.approx(1 / 3, abs=0.06)


def test_nobody_with_children_and_nobody_at_all_still_give_tables(tmp_path: Path) -> None:
    people, visits = made_up(50)
    for number, (some, own) in enumerate(((people, visits.head(0)), (people.head(0), visits.head(0)))):
        twins = synthesis.linked(
            opened(tmp_path / str(number), some, own), "people", "visits", epsilon=1, delta=1e-6, bins={"cost": 3}
        )
        first, second = twins.sample(20, seed=1)
        assert len(first) == 20
        assert set(second.columns) == {"patient", "ward", "cost", "sex"}


def test_mistakes_are_refused_before_anything_is_charged(tmp_path: Path) -> None:
    clinic = opened(tmp_path, *made_up(30))
    spent = str(clinic.budget())
    for wrong, said in (
        (("people", "visit"), "private tables"),
        (("visits", "people"), "one row of each unit"),
        (("people", "wards"), "is not a column"),
    ):
        with pytest.raises((ParameterError, QuestionError), match=said):
            synthesis.linked(clinic, *wrong, epsilon=1, delta=1e-6)
    with pytest.raises(ParameterError, match="above 0"):
        synthesis.linked(clinic, "people", "visits", epsilon=1, delta=0)
    with pytest.raises(ParameterError, match="public"):
        synthesis.linked(clinic, "people", "visits", epsilon=1, delta=1e-6, bins={"cost": "private"})
    with pytest.raises(ParameterError, match="among"):
        synthesis.linked(clinic, "people", "visits", epsilon=1, delta=1e-6, columns={"visits": ["price"]})
    with pytest.raises(ParameterError, match="curator"):
        synthesis.linked({"a": [1]}, "people", "visits", epsilon=1, delta=1e-6)  # type: ignore[arg-type]
    assert str(clinic.budget()) == spent


def test_edges_are_ordered_from_the_parents_on() -> None:
    assert oriented([(3, 4), (0, 3), (2, 5), (4, 6)], 3) == [(0, 3), (3, 4), (2, 5), (4, 6)]
