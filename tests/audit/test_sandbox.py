"""A curator's question under test, the audit of a policy in its sandbox, and the signed report."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tacit
from tacit import audit
from tacit.audit import sandbox
from tacit.audit.reports import Report, Tried
from tacit.loss import Budget
from tacit.policy import Column, ColumnUnit, PathUnit, Policy, RowUnit, Source, Table

SURE = 1 - 1e-9
WORLDS = 300


def worlds(extra_units: int, budget: int = 10**6) -> Callable[[], tacit.Curator]:
    """In every world three units, and on one side some more."""
    rows = [(10 * world + unit, world, 50) for world in range(WORLDS) for unit in range(3 + extra_units)]
    frame = pd.DataFrame(rows, columns=["unit", "world", "value"])
    return lambda: tacit.protect(
        frame,
        unit="unit",
        table="t",
        columns={"world": tacit.between(0, WORLDS - 1), "value": tacit.between(0, 100)},
        budget=Budget(budget),
        largest_epsilon=min(budget, 10),
    )


SQL = "SELECT world, count(*) FROM t GROUP BY world"


@pytest.mark.statistical
def test_a_question_keeps_its_word_for_one_unit_and_not_for_three() -> None:
    """At 1 - 1e-9; three units are worth three epsilons, far above the bound that 3,000 samples give."""
    one = audit.verify(audit.question(worlds(0), worlds(1), SQL, 1, by="world"), samples=3_000, confidence=SURE)
    assert one.outcome != "violated"
    assert one.bound.epsilon > 0.5
    three = audit.verify(audit.question(worlds(0), worlds(3), SQL, 1, by="world"), samples=3_000, confidence=SURE)
    assert three.outcome == "violated"


def test_every_ask_is_a_new_draw_and_a_spent_sandbox_is_opened_afresh() -> None:
    opened: list[tacit.Curator] = []

    def make() -> tacit.Curator:
        opened.append(worlds(0, budget=2)())
        return opened[-1]

    claim = audit.question(make, make, "SELECT count(*), sum(value) FROM t", 1)
    releases = claim.mechanism(make, size=5)
    assert len(releases) == 5
    assert len({repr(each) for each in releases}) > 1
    assert len(opened) == 3  # two asks of nearly 1 for each ledger of 2


def test_a_sandbox_whose_budget_covers_no_ask_says_so() -> None:
    with pytest.raises(tacit.TacitError):
        audit.question(worlds(0, 1), worlds(0, 1), SQL, 5, by="world").mechanism(worlds(0, 1), size=3)


def test_worlds_must_be_a_column_of_the_question_and_empty_ones_count() -> None:
    with pytest.raises(tacit.ParameterError, match="world"):
        audit.question(worlds(0), worlds(0), "SELECT count(*) FROM t", 1, by="world").mechanism(worlds(0), size=1)
    claim = audit.question(worlds(0), worlds(0), SQL, 1, by="world", worlds=WORLDS + 5)
    assert claim.mechanism(worlds(0), size=WORLDS + 5).count(()) == 5


def policy(rows_per_unit: int = 2) -> Policy:
    visits = Table(
        "visits",
        Source("csv", "nowhere/visits.csv"),
        ColumnUnit("patient"),
        rows_per_unit,
        {
            "charge": Column("charge", "real", lower=Fraction(0), upper=Fraction(1000)),
            "ward": Column("ward", "text", values=("a", "b"), nullable=False),
        },
    )
    return Policy("clinic", {"visits": visits}, Budget(3, Fraction(1, 10**6)))


@pytest.mark.statistical
def test_a_policy_is_audited_without_its_rows_and_nothing_is_violated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The source does not even exist. At 1 - 1e-9 for the whole report."""
    monkeypatch.setattr(sandbox, "_MOST_WORLDS", 500)
    told: list[tuple[str, int, int]] = []
    report = audit.audit_policy(
        policy(), samples=2_000, confidence=SURE, told=lambda name, done, of: told.append((name, done, of))
    )
    assert report.violated == ()
    assert [each.name for each in report.tried] == [name for name, _, _ in told]
    assert [name.split(",", 1)[1].split(" FROM")[0].strip() for name, _, _ in told] == [
        "count(*)",
        'count(DISTINCT "patient")',
        'sum("charge"), avg("charge")',
        'sum("charge")',
        'median("charge")',
        'max("charge")',
        '"ward", count(*)',
    ]
    assert max(each.found for each in report.tried) > 0.3  # neighbours that differ as much as they may
    assert {each.epsilon for each in report.tried} == {1.0}


def test_units_by_another_table_rows_as_units_and_open_texts_have_a_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "_MOST_WORLDS", 20)

    columns = {
        "World": Column("World", "integer", lower=3, upper=9),
        "open": Column("open", "text"),
        "yes": Column("yes", "boolean", values=(True, False)),
    }
    tables = {
        "stays": Table("stays", Source("csv", "none"), ColumnUnit("who"), 3, {}),
        "codes": Table("codes", Source("csv", "none"), PathUnit("stay", "stays", "stay"), 3, columns),
        "rows": Table("rows", Source("csv", "none"), RowUnit(), 1, columns),
        "wards": Table("wards", Source("csv", "none"), None, 1, {}, public=True),
    }
    claims = list(sandbox._claims(Policy("p", tables, Budget(1)), Fraction(1), tmp_path, ExitStack(), 1_000))
    assert {claim.name.split("FROM ")[1].split(" ")[0] for claim in claims} == {'"stays"', '"codes"', '"rows"'}
    for claim in claims[-9::2]:  # every kind of question once
        assert len(claim.mechanism(claim.neighbour, size=10)) == 10


def test_the_neighbours_differ_in_all_rows_of_one_unit_at_the_end_of_the_bounds(tmp_path: Path) -> None:
    made = sandbox._sandbox(policy(rows_per_unit=3).tables["visits"], tmp_path / "here", ExitStack(), 5_000)
    sides = [path.read_text().splitlines() for path in (made.alone, made.beside)]
    assert sides[0][0] == sides[1][0] == "world,patient,charge,ward"
    more = set(sides[1]) - set(sides[0])
    assert len(sides[1]) - len(sides[0]) == 3 * made.worlds
    assert {line.split(",", 2)[2] for line in more} == {"1000,b"}
    assert len(more) == made.worlds  # one unit in each world, whose rows are alike
    assert set(sides[0]) < set(sides[1])


def test_a_policy_of_public_tables_has_nothing_to_audit() -> None:
    wards = Table("wards", Source("csv", "none"), None, 1, {}, public=True)
    with pytest.raises(tacit.PolicyError, match="nothing to audit"):
        audit.audit_policy(Policy("p", {"wards": wards}, Budget(1)))


# -- reports -------------------------------------------------------------------------------------------

TRIED = Tried("SELECT 1", 1.0, 0.0, "consistent", 0.9, "number 1 >= 2", 100, 50, 20, 0.999, 0.5)
REPORT = Report("clinic", "0.1.0", "2026-01-01T00:00:00+00:00", 200, 0.999, 1.5, (TRIED,))


def test_a_signed_report_is_read_back_and_names_its_key(tmp_path: Path) -> None:
    key = tmp_path / "auditor.pem"
    signed = audit.sign_report(REPORT, key)
    assert key.stat().st_mode & 0o777 == 0o600
    public = json.loads(signed)["public_key"]
    assert audit.check_report(signed) == audit.check_report(signed, public) == REPORT
    assert json.loads(audit.sign_report(REPORT, key))["public_key"] == public  # the same key again
    assert json.loads(audit.sign_report(REPORT))["public_key"] != public
    with pytest.raises(tacit.TacitError, match="is signed with the key"):
        audit.check_report(audit.sign_report(REPORT), public)


def change(signed: str, part: str, old: str, new: str) -> str:
    content: dict[str, Any] = json.loads(signed)
    assert old in content[part]
    content[part] = content[part].replace(old, new)
    return json.dumps(content)


def test_a_report_that_was_changed_after_signing_is_refused() -> None:
    signed = audit.sign_report(REPORT)
    with pytest.raises(tacit.TacitError, match="signature does not hold"):
        audit.check_report(change(signed, "report", '"found": 0.9', '"found": 0.8'))
    other = json.loads(audit.sign_report(REPORT))["public_key"]
    with pytest.raises(tacit.TacitError, match="signature does not hold"):
        audit.check_report(json.dumps({**json.loads(signed), "public_key": other}))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"report": "x", "public_key": "00", "signature": "!"}'])
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(tacit.TacitError, match="no signed audit report"):
        audit.check_report(text)


def test_a_key_file_that_holds_no_such_key_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_text("my diary")
    with pytest.raises(tacit.TacitError, match="no private key"):
        audit.sign_report(REPORT, path)
    assert path.read_text() == "my diary"
