"""k, l, t and uniqueness against counting by hand, and the risk of a file against brute force."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.audit import anonymity, html_report, risk
from tacit.errors import ParameterError
from tests.effort import tried

TABLE = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.sampled_from("xyz")), min_size=1, max_size=25)


def by_hand(rows: Sequence[tuple[Any, ...]]) -> dict[str, float]:
    """All figures for rows whose last value is the sensitive one, by dictionaries."""
    classes: dict[Any, list[Any]] = defaultdict(list)
    for *quasi, secret in rows:
        classes[tuple(quasi)].append(secret)
    whole = Counter(row[-1] for row in rows)
    entropies, distances = [], []
    for secrets in classes.values():
        shares = {value: number / len(secrets) for value, number in Counter(secrets).items()}
        entropies.append(-sum(share * math.log(share) for share in shares.values()))
        distances.append(sum(abs(shares.get(v, 0) - n / len(rows)) for v, n in whole.items()) / 2)
    return {
        "classes": len(classes),
        "unique": sum(len(each) == 1 for each in classes.values()),
        "k": min(map(len, classes.values())),
        "at_risk": sum(len(each) for each in classes.values() if len(each) < 5),
        "l": min(len(set(each)) for each in classes.values()),
        "entropy_l": math.exp(min(entropies)),
        "t": max(distances),
    }


@settings(deadline=None, max_examples=tried(60))
@given(TABLE)
def test_every_figure_is_what_counting_by_hand_gives(rows: list[tuple[str, int, str]]) -> None:
    columns = dict(zip(("letter", "number", "secret"), map(list, zip(*rows, strict=True)), strict=True))
    found = anonymity(columns, ["letter", "number"], "secret")
    assert found.rows == len(rows)
    for name, value in by_hand(rows).items():
        assert getattr(found, name) == pytest.approx(value), name


@settings(deadline=None, max_examples=tried(60))
@given(TABLE, st.lists(st.integers(0, 8), min_size=25, max_size=25))
def test_where_people_have_several_rows_people_are_counted(rows: list[tuple[str, int, str]], who: list[int]) -> None:
    columns: dict[str, list[Any]] = {"letter": [row[0] for row in rows], "who": who[: len(rows)]}
    classes: dict[str, set[int]] = defaultdict(set)
    for letter, person in zip(columns["letter"], columns["who"], strict=True):
        classes[letter].add(person)
    found = anonymity(columns, ["letter"], person="who")
    assert found.people == len(set(columns["who"]))
    assert found.k == min(map(len, classes.values()))
    assert found.unique == len(set().union(*(each for each in classes.values() if len(each) == 1)))
    assert found.at_risk == len(set().union(*(each for each in classes.values() if len(each) < 5)))


def test_missing_values_are_equal_to_each_other() -> None:
    assert anonymity({"a": [None, None, 1.0]}, ["a"]).unique == 1
    assert anonymity({"a": np.array([math.nan, math.nan, 1.0])}, ["a"]).unique == 1


def test_a_column_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(ParameterError, match="among zip, sex"):
        anonymity({"zip": [1], "sex": [1]}, ["zap"])
    with pytest.raises(ParameterError, match="at least one column"):
        anonymity({"zip": [1]}, [])


def test_without_a_sensitive_column_there_is_no_l_and_no_t() -> None:
    found = anonymity({"zip": [1, 1, 2]}, ["zip"])
    assert (found.l, found.t) == (None, None)
    assert str(found).endswith("k = 1.")


# -- risk --------------------------------------------------------------------------------------------


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """60 made-up people with a few odd values."""
    rng = np.random.default_rng(5)
    lines = ["zip,age,sex,disease"]
    lines += [
        f"{rng.integers(4)},{rng.integers(20, 30)},{'FM'[rng.integers(2)]},{'abc'[rng.integers(3)]}" for _ in range(58)
    ]
    lines += ["9,,F,<script>alert(1)</script>", '"<b>7</b>",33,M,a']
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def unique_share(rows: list[dict[str, Any]], part: Sequence[str]) -> float:
    counts = Counter(tuple(row[name] for name in part) for row in rows)
    return sum(number == 1 for number in counts.values()) / len(rows)


def test_the_risk_of_every_set_and_the_harm_of_every_column_are_those_of_brute_force(visits: Path) -> None:
    names = ["zip", "age", "sex"]
    found = risk(visits, names, "disease")
    with duckdb.connect() as connection:
        table = connection.read_csv(str(visits))
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.fetchall()]
    assert len(found.sets) == 7
    for each in found.sets:
        assert each.unique_share == pytest.approx(unique_share(rows, each.columns))
        assert each.t == pytest.approx(
            by_hand([(*(row[n] for n in each.columns), row["disease"]) for row in rows])["t"]
        )
    orders = list(itertools.permutations(names))
    for harm in found.harm:
        parts = [order[: order.index(harm.column)] for order in orders]
        gained = [
            unique_share(rows, (*part, harm.column)) - (unique_share(rows, part) if part else 0) for part in parts
        ]
        assert harm.share == pytest.approx(sum(gained) / len(orders))
        assert harm.without == pytest.approx(unique_share(rows, [name for name in names if name != harm.column]))
    assert sum(harm.share for harm in found.harm) == pytest.approx(found.whole.unique_share)
    assert found.sets[0].unique >= found.sets[-1].unique
    assert found.smallest[0].size == found.whole.k == 1
    assert str(found).startswith("NOT FOR RELEASE")


def test_parquet_gives_the_same_as_csv(visits: Path) -> None:
    other = visits.with_suffix(".parquet")
    with duckdb.connect() as connection:
        connection.read_csv(str(visits)).write_parquet(str(other))
    assert risk(other, ["zip", "age"]).sets == risk(visits, ["zip", "age"]).sets


def test_a_person_with_many_rows_is_one_person(tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("who,zip\n1,7\n1,7\n1,8\n2,8\n3,9\n")
    found = risk(file, ["zip"], person="who")
    assert (found.whole.people, found.whole.unique, found.whole.k) == (3, 2, 1)  # 1 in zip 7, 3 in zip 9
    assert [(each.values, each.size) for each in found.smallest] == [((7,), 1), ((9,), 1), ((8,), 2)]
    assert found.harm[0].share == pytest.approx(2 / 3)
    with pytest.raises(ParameterError, match="'person'"):
        risk(file, ["zip"], person="zip")


def test_sets_are_no_larger_than_asked_for(visits: Path) -> None:
    assert {len(each.columns) for each in risk(visits, ["zip", "age", "sex"], largest_set=2).sets} == {1, 2}


def test_with_many_columns_the_harm_still_adds_up(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    names = [f"c{place}" for place in range(10)]
    rows = [",".join(map(str, rng.integers(0, 2, 10))) for _ in range(80)]
    (tmp_path / "many.csv").write_text("\n".join([",".join(names), *rows]))
    found = risk(tmp_path / "many.csv", names, largest_set=1)
    assert sum(harm.share for harm in found.harm) == pytest.approx(found.whole.unique_share)


def test_the_report_warns_twice_draws_charts_and_lets_no_value_become_markup(visits: Path) -> None:
    pages = [html_report(risk(visits, [column], largest_set=1)) for column in ("zip", "disease")]
    page = html_report(risk(visits, ["zip", "age", "disease"]))
    assert page.count("NOT FOR RELEASE.") == 2
    assert "<title>NOT FOR RELEASE" in page
    assert page.count("<figure>") == 2
    assert not [odd for odd in ("<script", "<b>7</b>") for each in (page, *pages) if odd in each]
    assert "&lt;b&gt;7&lt;/b&gt;" in pages[0]
    assert "&lt;script&gt;alert(1)" in pages[1]


@pytest.mark.parametrize(
    ("columns", "sensitive", "said"),
    [
        ([], None, "1 to 12 different columns"),
        (["zip", "zip"], None, "1 to 12 different columns"),
        (["zip"], "zip", "not among the others"),
        (["zipp"], None, "Did you mean 'zip'"),
        (["zip"], "desease", "Did you mean 'disease'"),
    ],
)
def test_wrong_columns_are_refused(visits: Path, columns: list[str], sensitive: str | None, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        risk(visits, columns, sensitive)


def test_a_file_that_is_missing_empty_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="a file that exists"):
        risk(tmp_path / "no.csv", ["zip"])
    (tmp_path / "table.txt").write_text("zip\n1\n")
    with pytest.raises(ParameterError, match=r"a \.csv or \.parquet file"):
        risk(tmp_path / "table.txt", ["zip"])
    (tmp_path / "bad.parquet").write_text("zip")
    with pytest.raises(ParameterError, match="cannot be read"):
        risk(tmp_path / "bad.parquet", ["zip"])
    (tmp_path / "empty.csv").write_text("zip,sex\n")
    with pytest.raises(ParameterError, match="no rows"):
        risk(tmp_path / "empty.csv", ["zip"])
