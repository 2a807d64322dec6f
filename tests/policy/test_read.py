"""Reading policies: exact values in, located refusals out."""

from __future__ import annotations

import datetime
from fractions import Fraction
from pathlib import Path

import pytest

from tacit.errors import PolicyError
from tacit.loss.budget import Budget
from tacit.policy import ColumnUnit, PathUnit, RowUnit, Source
from tacit.policy.check import HOLDS, problems
from tacit.policy.read import parse, read
from tacit.policy.write import write

CLINIC = """
name = "clinic"
source = "clinic.duckdb"
working_copy = "clinic.copy"
ledger = "memory"

[budget]
epsilon = 3.0
delta = 1e-6

[questions]
default_epsilon = 0.1
largest_epsilon = 0.7

[analysts.ana]
epsilon = 0.3

[tables.patients]
unit = "patient_id"
rows_per_unit = 1
[tables.patients.columns]
age = { type = "integer", between = [0, 110] }
sex = { type = "text", one_of = ["F", "M"], nullable = false }
weight = { type = "real", between = [0.1, 300], outside = "drop" }

[tables.visits]
unit = { key = "patient", table = "patients", their_key = "patient_id" }
rows_per_unit = 12
[tables.visits.columns]
on = { type = "date", between = [2020-01-01, 2024-12-31] }

[tables.letters]
source = "letters/*.csv.gz"
unit = "row"

[tables.regions]
table = "main.regions"
public = true
[tables.regions.columns]
name = { type = "text" }
"""


def test_a_policy_is_read_exactly_as_it_is_written() -> None:
    policy = parse(CLINIC, file="clinic.toml", directory="/data")
    assert policy.budget == Budget("3", "1/1000000")
    assert policy.analysts == {"ana": Budget("3/10")}
    assert (policy.default_epsilon, policy.largest_epsilon) == (Fraction(1, 10), Fraction(7, 10))
    assert (policy.working_copy, policy.ledger, policy.directory) == ("clinic.copy", None, "/data")
    patients, visits, letters, regions = policy.tables.values()
    assert patients.source == Source("duckdb", "clinic.duckdb", "patients")
    assert (patients.unit, patients.rows_per_unit) == (ColumnUnit("patient_id"), 1)
    assert patients.columns["weight"].lower == Fraction(1, 10)
    assert patients.columns["weight"].outside == "drop"
    assert patients.columns["sex"].values == ("F", "M")
    assert not patients.columns["sex"].nullable
    assert patients.columns["age"].nullable
    assert visits.unit == PathUnit("patient", "patients", "patient_id")
    assert visits.columns["on"].lower == datetime.date(2020, 1, 1)
    assert (letters.source, letters.unit, letters.rows_per_unit) == (Source("csv", "letters/*.csv.gz"), RowUnit(), 1)
    assert regions.public
    assert regions.unit is None
    assert regions.source.table == "main.regions"


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("rows_per_unit = 12", "row_per_unit = 12", ["tables.visits.row_per_unit", "Did you mean 'rows_per_unit'?"]),
        ("rows_per_unit = 12", "", ["tables.visits.rows_per_unit", "missing"]),
        ("rows_per_unit = 12", "rows_per_unit = 0", ["tables.visits.rows_per_unit", "at least 1", "Got 0"]),
        ("rows_per_unit = 12", "rows_per_unit = 1.5", ["tables.visits.rows_per_unit", "whole number"]),
        ('type = "integer"', 'type = "intger"', ["tables.patients.columns.age.type", "'intger'", "'integer'?"]),
        ("[0, 110]", "[0]", ["tables.patients.columns.age.between", "two bounds", "[0]"]),
        ("[0, 110]", "[110, 0]", ["tables.patients.columns.age", "110 and 0"]),
        ("[0, 110]", "[0, 11.5]", ["tables.patients.columns.age", "whole number"]),
        ('outside = "drop"', 'outside = "dorp"', ["columns.weight.outside", "clamp, drop", "Did you mean 'drop'?"]),
        ("nullable = false", 'nullable = "no"', ["columns.sex.nullable", "true or false", "'no'"]),
        ('["F", "M"]', '"F"', ["columns.sex.one_of", "list", "'F'"]),
        ("epsilon = 3.0", "epsilon = -3.0", ["budget.epsilon", "at least 0", "-3.0"]),
        ("epsilon = 3.0", "epsilon = nan", ["budget.epsilon", "finite"]),
        ("epsilon = 3.0", "", ["budget.epsilon", "missing"]),
        ("delta = 1e-6", "delta = 2", ["budget", "0 to 1"]),
        ("largest_epsilon = 0.7", "largest_epsilon = 7", ["questions.largest_epsilon", "Got 7"]),
        ("[questions]", "[question]", ["question", "Did you mean 'questions'?"]),
        ('unit = "row"', "unit = 3", ["tables.letters.unit", "the name of a column", "Got 3"]),
        ('unit = "row"', 'unit = "FILL IN"', ["tables.letters.unit", "'FILL IN'"]),
        ('unit = "row"', 'unit = { tabel = "x" }', ["tables.letters.unit.tabel", "Did you mean 'table'?"]),
        ('table = "patients"', 'table = "nobody"', ["tables.visits.unit", "'nobody'"]),
        ("letters/*.csv.gz", "letters.xls", ["tables.letters.format", "duckdb, csv, json, parquet"]),
        ('unit = "row"', 'unit = "row"\ntable = "x"', ["tables.letters.table", "DuckDB"]),
        ("[budget]", "[budget", ["not TOML", "line"]),
    ],
)
def test_a_fault_is_refused_with_its_file_its_key_and_what_is_allowed(old: str, new: str, parts: list[str]) -> None:
    assert old in CLINIC
    with pytest.raises(PolicyError) as refusal:
        parse(CLINIC.replace(old, new, 1), file="clinic.toml")
    text = str(refusal.value)
    assert text.startswith("clinic.toml: ")
    assert text.count("clinic.toml") == 1
    for part in parts:
        assert part in text


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"absent\.toml: there is no such file"):
        read(tmp_path / "absent.toml")


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "clinic.toml").write_text(CLINIC)
    assert read(tmp_path / "clinic.toml").directory == str(tmp_path)


def test_a_written_policy_is_refused_until_the_unit_is_filled_in_and_then_reads() -> None:
    sources = {"visits": Source("parquet", 'a "b".parquet'), "odd name": Source("duckdb", "x.duckdb", "odd name")}
    text = write(
        "clinic",
        sources,
        {"visits": {"age": "integer", "ok": "boolean", "blob": None, "a b": "text"}, "odd name": {"on": "date"}},
    )
    with pytest.raises(PolicyError, match="FILL IN"):
        parse(text)
    policy = parse(text.replace('"FILL IN"', '"u"'))
    assert {name: table.source for name, table in policy.tables.items()} == sources
    assert list(policy.tables["visits"].columns) == ["ok"]
    opened = parse(text.replace('"FILL IN"', '"u"').replace("# age =", "age =").replace("# on =", "on ="))
    assert opened.tables["visits"].columns["age"].kind == "integer"
    assert opened.tables["odd name"].columns["on"].kind == "date"


def test_every_column_of_the_schema_is_named_in_a_written_policy() -> None:
    text = write("x", {"t": Source("csv", "t.csv")}, {"t": {"first": "text", "second": "text"}})
    assert "first" in text
    assert "second" in text


def test_a_policy_that_does_not_fit_the_schema_is_told_everything_at_once() -> None:
    policy = parse(CLINIC)
    fitting: dict[str, dict[str, object]] = {
        "patients": {"Patient_ID": "integer", "age": "integer", "sex": "text", "weight": "real"},
        "visits": {"patient": "integer", "on": "date"},
        "letters": {"body": "text"},
        "regions": {"name": "text"},
    }
    assert list(problems(policy, fitting)) == []  # type: ignore[arg-type]
    bad = {**fitting, "patients": {"patientid": "integer", "age": "date", "sx": "text", "weight": None}}
    found = "\n".join(problems(policy, bad))  # type: ignore[arg-type]
    assert "tables.patients.unit: column 'patient_id' is not in table 'patients'" in found
    assert "Did you mean 'patientid'?" in found
    assert "tables.patients.columns.age.type: 'integer' cannot be read from a date column" in found
    assert "tables.patients.columns.sex: column 'sex' is not in table 'patients'" in found
    assert "Did you mean 'sx'?" in found
    assert "tables.patients.columns.weight: the source's type cannot be used" in found
    assert "tables.visits.unit: column 'patient_id'" in found


def test_every_kind_can_be_read_from_itself_and_from_text() -> None:
    assert all({kind, "text"} <= sources for kind, sources in HOLDS.items())
