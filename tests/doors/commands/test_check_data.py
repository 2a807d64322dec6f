"""`tacit check --data`: what becomes of the rows, counted against a table whose every fault was put there."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tacit.curator import check_data
from tacit.doors.cli import app
from tacit.engines.quality import WARNING, TableQuality
from tacit.errors import TacitError
from tests.engines.spark_session import MISSING
from tests.postgres_server import Server

POLICY = """\
name = "clinic"

[budget]
epsilon = 1

[tables.visits]
source = "visits.csv"
unit = "who"
rows_per_unit = 2

[tables.visits.columns]
age = { type = "integer", between = [0, 110] }
charge = { type = "real", between = [0, 10], outside = "drop" }
sex = { type = "text", one_of = ["F", "M", "X"] }
flag = { type = "boolean", nullable = false }
day = { type = "date" }
"""
ROWS = [
    # who, age, charge, sex, flag, day
    ("1", "30", "1.5", "F", "true", "2024-01-01"),
    ("1", "300", "99", "f", "true", "first of May"),
    ("1", "-1", "nan", "M", "true", "yesterday"),
    ("1", "40", "2", "M", "true", "2024-13-01"),
    ("2", "forty", "3", "M", "false", "?"),
    ("", "50", "4", "M", "true", "never"),
    ("3", "60", "5", "M", "", "n/a"),
    ("4", "", "", "", "true", ""),
]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quality")
    lines = ["who,age,charge,sex,flag,day", *(",".join(row) for row in ROWS)]
    (folder / "visits.csv").write_text("\n".join(lines) + "\n")
    (folder / "clinic.toml").write_text(POLICY)
    return folder / "clinic.toml"


def _is_counted(table: TableQuality) -> None:
    assert (table.rows, table.without_unit, table.incomplete) == (8, 1, 1)
    assert (table.units, table.trimmed, table.trimmed_units) == (3, 2, 1)
    found = {each.name: each for each in table.columns}
    age, charge, sex, day = (found[name] for name in ("age", "charge", "sex", "day"))
    assert (age.present, age.unreadable, age.outside) == (7, 1, 2)
    assert (charge.present, charge.unreadable, charge.outside) == (7, 1, 1)
    assert (sex.present, sex.unlisted, sex.never_met) == (7, 1, ("X",))
    assert (day.present, day.unreadable) == (7, 6)


def test_every_fault_is_counted(policy: Path) -> None:
    (table,) = check_data(policy).tables
    _is_counted(table)


def test_every_fault_is_counted_in_a_table_of_postgresql(postgres: Server, tmp_path: Path) -> None:
    import psycopg

    url = postgres.database("quality")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE visits (who text, age text, charge text, sex text, flag text, day text)")
        with connection.cursor() as cursor:
            marks = ", ".join("NULLIF(%s, '')" for _ in range(6))
            cursor.executemany(f"INSERT INTO visits VALUES ({marks})", ROWS)
    text = POLICY.replace('source = "visits.csv"', f'source = "{url}"\ntable = "public.visits"')
    (tmp_path / "clinic.toml").write_text(text)
    (table,) = check_data(tmp_path / "clinic.toml").tables
    _is_counted(table)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE visits")
    with pytest.raises(TacitError):
        check_data(tmp_path / "clinic.toml")


@pytest.mark.spark
def test_every_fault_is_counted_in_a_source_of_spark(tmp_path: Path) -> None:
    if MISSING is not None:
        pytest.skip(MISSING)
    columns = ("who", "age", "charge", "sex", "flag", "day")
    pq.write_table(
        pa.table({name: [row[at] or None for row in ROWS] for at, name in enumerate(columns)}),
        tmp_path / "visits.parquet",
    )
    text = POLICY.replace('source = "visits.csv"', 'source = "local[1]"\ntable = "visits.parquet"')
    (tmp_path / "clinic.toml").write_text(text)
    (table,) = check_data(tmp_path / "clinic.toml").tables
    _is_counted(table)


def test_it_is_marked_as_not_for_release_at_both_ends(policy: Path) -> None:
    text = str(check_data(policy))
    assert text.startswith(WARNING)
    assert text.endswith(WARNING)
    shown = CliRunner().invoke(app, ["check", str(policy), "--data"])
    assert shown.exit_code == 0
    assert shown.stdout.count("NOT FOR RELEASE") == 2
    assert "no row has 'X' of one_of" in shown.stdout
    assert "2 rows of 1 units are beyond rows_per_unit" in shown.stdout


def test_every_fault_is_told_in_words(policy: Path) -> None:
    (table,) = check_data(policy).tables
    assert list(table.problems()) == [
        "1 of 8 rows have no unit and are left out",
        "1 rows are left out because a column that is not nullable has no value there",
        "2 rows of 1 units are beyond rows_per_unit and are left out",
        "age: 1 of 7 values cannot be read as its type",
        "age: 2 of 7 values lie outside its bounds",
        "charge: 1 of 7 values cannot be read as its type",
        "charge: 1 of 7 values lie outside its bounds",
        "sex: 1 of 7 values are not among those of one_of",
        "sex: no row has 'X' of one_of",
        "day: 6 of 7 values cannot be read as its type",
    ]


def test_the_json_says_the_same(policy: Path) -> None:
    shown = CliRunner().invoke(app, ["check", str(policy), "--data", "--json"])
    found = json.loads(shown.stdout)
    assert found["warning"] == WARNING
    assert found["tables"][0]["trimmed"] == 2
    assert any("rows_per_unit" in problem for problem in found["tables"][0]["problems"])


def test_a_type_that_nothing_can_be_read_as_is_named(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("who,age\n1,young\n2,old\n")
    text = POLICY.split("[tables.visits.columns]")[0] + '[tables.visits.columns]\nage = { type = "integer" }\n'
    (tmp_path / "p.toml").write_text(text)
    assert "age: nothing can be read as its type (2 values); the type may be wrong" in str(
        check_data(tmp_path / "p.toml")
    )


def test_a_table_that_fits_says_so(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("who,age\n1,20\n2,30\n")
    text = POLICY.split("[tables.visits.columns]")[0]
    (tmp_path / "p.toml").write_text(text + '[tables.visits.columns]\nage = { type = "integer", between = [0, 99] }\n')
    assert "Everything fits the policy." in str(check_data(tmp_path / "p.toml"))


def test_without_the_option_no_row_is_read(policy: Path) -> None:
    shown = CliRunner().invoke(app, ["check", str(policy)])
    assert "is in order" in shown.stdout
    assert "NOT FOR RELEASE" not in shown.stdout
