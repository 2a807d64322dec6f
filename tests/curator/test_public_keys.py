"""Keys of a public table are all shown, without a list in the policy and without a delta."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd

import tacit
from tacit.policy import Column, ColumnUnit, Policy, Source, Table


def curator(wards: list[str | None]) -> tacit.Curator:
    visits = pd.DataFrame({"who": range(60), "code": [("a", "b", "x")[n % 3] for n in range(60)]})
    public = pd.DataFrame({"code": ["a", "b", "c", "d"][: len(wards)], "ward": wards})
    text = {name: Column(name, "text") for name in ("code", "ward")}
    policy = Policy(
        name="clinic",
        tables={
            "visits": Table("visits", Source("frame", "visits"), ColumnUnit("who"), 1, {"code": text["code"]}),
            "wards": Table("wards", Source("frame", "wards"), None, 1, text, public=True),
        },
        budget=tacit.Budget(10**6),
        largest_epsilon=Fraction(10**5),
    )
    return tacit.Curator(policy, frames={"visits": visits, "wards": public})


def test_every_public_key_is_shown_also_an_empty_one() -> None:
    sql = "SELECT w.ward, count(*) AS n FROM visits v JOIN wards w ON v.code = w.code GROUP BY w.ward"
    with curator(["eye", "heart", "skin", "eye"]) as clinic:
        answer = clinic.ask(sql, 10**4)
        found = dict(zip(*answer.columns, strict=True))
    assert found == {"eye": 20, "heart": 20, "skin": 0}  # no NULL: the table has none, which is public


def test_null_is_a_group_where_the_public_table_has_one_or_nothing_matches() -> None:
    sql = "SELECT w.ward, count(*) AS n FROM visits v {} JOIN wards w ON v.code = w.code GROUP BY w.ward"
    with curator(["eye", None, "skin"]) as clinic:
        answer = clinic.ask(sql.format(""), 10**4)
        assert dict(zip(*answer.columns, strict=True)) == {"eye": 20, "skin": 0, None: 20}
    with curator(["eye", "heart", "skin"]) as clinic:
        answer = clinic.ask(sql.format("LEFT"), 10**4)
        assert dict(zip(*answer.columns, strict=True)) == {"eye": 20, "heart": 20, "skin": 0, None: 20}


def test_a_public_column_without_values_stays_unknown_and_the_owners_policy_is_untouched() -> None:
    with curator([None]) as clinic:
        assert clinic.policy.tables["wards"].columns["ward"].values is None
        assert clinic.policy.tables["wards"].columns["code"].values == ("a",)
        assert clinic.policy.tables["visits"].columns["code"].values is None
