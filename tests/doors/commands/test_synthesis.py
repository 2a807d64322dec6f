"""`tacit synthesise`: charged once, rows in files with the table's types, every form, a sentence for every mistake."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from tacit import synthesis
from tacit.doors.cli import app
from tacit.doors.commands import synthesis as synthesis_commands
from tests.doors.commands.test_formats import must_be_readable
from tests.doors.commands.test_learning import folder  # noqa: F401  # a fixture
from tests.doors.shell import run
from tests.synthesis.test_linked import made_up, opened

MAKE = ("synthesise", "clinic.toml", "people", "--epsilon", "2", "--delta", "1e-6", "--method", "mst")


def test_help_shows_an_example() -> None:
    shown = " ".join(run("synthesise", "--help").stdout.split()).replace("Usage: tacit synthesise", "")
    assert "tacit synthesise clinic.toml people --epsilon 1 --output people.parquet" in shown


def test_rows_a_model_and_a_card_are_written_and_the_same_again_is_free(folder: Path) -> None:  # noqa: F811
    first = run(*MAKE, "--output", "people.parquet", "--model", "twin.json", "--card", "card.html")
    assert "charged epsilon 2" in first.stdout
    rows = pd.read_parquet(folder / "people.parquet")
    assert rows.columns.tolist() == ["sex", "age", "charge", "smoker"]
    assert [each.kind for each in rows.dtypes][1:3] == ["i", "i"]
    assert set(rows["sex"]) <= {"F", "M"}
    assert "Estimated error of every pair" in (folder / "card.html").read_text()
    again = run(*MAKE, "--output", "twins.csv", "--rows", "77", "--seed", "4")
    assert "nothing charged" in again.stdout
    assert len(pd.read_csv(folder / "twins.csv")) == 77
    run(*MAKE, "--output", "more.csv", "--rows", "77", "--seed", "4")
    assert (folder / "more.csv").read_text() == (folder / "twins.csv").read_text()
    twin = synthesis.load(folder / "twin.json")
    assert twin.ask("SELECT count(*) AS n FROM people")["n"][0] == pytest.approx(twin.total)
    told = json.loads(run(*MAKE, "--output", "twins.csv", "--json").stdout)
    assert told["columns"] == list(twin.columns)
    assert told["repeated"] is True


def test_a_select_takes_some_columns_and_delta_has_a_default(folder: Path) -> None:  # noqa: F811
    run("synthesise", "clinic.toml", "SELECT age, sex FROM people", "--epsilon", "1", "--output", "p.csv")
    assert pd.read_csv(folder / "p.csv").columns.tolist() == ["age", "sex"]


def test_missing_values_and_bought_bins_are_asked_for_by_name(folder: Path) -> None:  # noqa: F811
    run(*MAKE, "--output", "p.parquet", "--nulls", "--bins", "private", "--model", "twin.json", "--rows", "50")
    assert len(pd.read_parquet(folder / "p.parquet")) == 50
    twin = synthesis.load(folder / "twin.json")
    assert twin.marginal("sex")["sex"] == ("F", "M", None)
    assert len(twin.marginal("charge")["charge"]) <= 17


def test_two_tables_are_written_with_one_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(tmp_path, *made_up(2_000)).close()
    monkeypatch.chdir(tmp_path)
    policy = Path("clinic.toml")
    policy.write_text(policy.read_text().replace('ledger = "memory"', 'ledger = "clinic.ledger"'))
    words = ("synthesise", "clinic.toml", "people", "--children", "visits", "--epsilon", "2", "--bins", "8")
    files = ("--output", "p.parquet", "--children-output", "v.csv", "--model", "both.json", "--card", "both.html")
    assert "charged epsilon 2" in run(*words, *files, "--seed", "1").stdout
    people, visits = pd.read_parquet("p.parquet"), pd.read_csv("v.csv")
    assert set(visits["patient"]) <= set(people["who"])
    assert synthesis.load_linked("both.json").tables == ("people", "visits")
    assert "Rows of visits" in Path("both.html").read_text()
    told = json.loads(run(*words, "--output", "again.csv", "--json").stdout)
    assert told["tables"] == ["people", "visits"]
    for wrong, said in (
        (("--children-output", "v.txt"), ".parquet"),
        (("--output", "p.csv", "--method", "independent"), "--method"),
        (("--output", "p.csv", "--rows-per-unit", "2"), "the policy says it"),
        (("--output", "visits.csv"), "does not name"),
    ):
        found = CliRunner().invoke(app, [*words, *wrong])
        assert found.exit_code in (1, 2)
        assert said in " ".join(found.stderr.split())


def test_each_form_can_be_read(folder: Path) -> None:  # noqa: F811
    must_be_readable(folder, (*MAKE, "--output", "twins.csv"))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("synthesise", "clinic.toml", "people", "--output", "people.xlsx"), ".parquet"),
        (("synthesise", "clinic.toml", "people"), "--output people.parquet"),
        (("synthesise", "clinic.toml", "people", "--output", "p.csv", "--bins", "many"), "whole number, or private"),
        (("synthesise", "clinic.toml", "people", "--output", "people.csv"), "does not name"),
        (("synthesise", "clinic.toml", "people", "--model", "clinic.toml"), "does not name"),
        (("synthesise", "clinic.toml", "peple", "--output", "p.csv"), "people"),
        (("synthesise", "gone.toml", "people", "--output", "p.csv"), "gone.toml"),
        (("synthesise", "clinic.toml", "SELECT age FROM visits", "--output", "p.csv"), "visits"),
        (("synthesise", "clinic.toml", "people", "--output", "p.csv", "--rows", "0"), "--rows"),
        (("synthesise", "clinic.toml", "people", "--output", "p.csv", "--bins", "0"), "bins"),
        (("synthesise", "clinic.toml", "people", "--output", "p.csv", "--epsilon", "0"), "epsilon"),
        (("synthesise", "clinic.toml", "people", "--output", "p.csv", "--delta", "2"), "delta"),
    ],
)
def test_a_mistake_is_told_in_a_sentence_and_nothing_is_written(
    folder: Path,  # noqa: F811
    changed: tuple[str, ...],
    said: str,
) -> None:
    done = CliRunner().invoke(app, list(changed))
    assert done.exit_code in (1, 2), done.output
    assert said in done.output
    assert "Traceback" not in done.output
    assert not (folder / "p.csv").exists()


def test_a_bar_is_shown_to_whoever_watches_and_to_nobody_else() -> None:
    from rich.console import Console

    for is_terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=is_terminal)
        with synthesis_commands._progress("Synthesising", console) as progress:
            if progress is not None:
                progress(0.5)
        assert ("Synthesising" in console.file.getvalue()) == is_terminal  # type: ignore[attr-defined]
