"""`tacit publish`: one charge, the files, the same again for nothing, and a sentence for every mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import Result

from tests.doors.shell import run as typed

POLICY = """
name = "clinic"
budget = { epsilon = 1.5 }
ledger = "spent.ledger"

[tables.visits]
source = "visits.csv"
unit = "who"
rows_per_unit = 1

[tables.visits.columns]
who = { type = "integer" }
sex = { type = "text", one_of = ["F", "M"] }
age = { type = "integer", between = [0, 110] }
"""
SITE = """
title = "Our clinic"

[statistics]
"Visits by sex" = "SELECT sex, count(*) AS n FROM visits GROUP BY sex"
"Ages" = { study = "quartiles", of = "visits.age" }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = "".join(f"{who},{'FM'[who % 2]},{who % 90}\n" for who in range(400))
    (tmp_path / "visits.csv").write_text(f"who,sex,age\n{rows}")
    (tmp_path / "clinic.toml").write_text(POLICY)
    (tmp_path / "site.toml").write_text(SITE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def run(*arguments: str, code: int = 0) -> Result:
    return typed("publish", *arguments, code=code)


def test_help_shows_an_example() -> None:
    assert "tacit publish clinic.toml site.toml --epsilon 1 --to site" in " ".join(run("--help").stdout.split())


def test_questions_and_studies_become_a_page_for_one_charge(folder: Path) -> None:
    done = run("clinic.toml", "site.toml", "--epsilon", "1", "--to", "site")
    assert done.stdout.split() == ["site/index.html", "site/statistics.json", "site/visits-by-sex.csv", "site/ages.csv"]
    assert "Cost epsilon 1" in done.stderr
    page = (folder / "site" / "index.html").read_text()
    assert "<title>Our clinic</title>" in page
    assert "<figure>" in page
    assert "Nothing else has been released of these data so far; all that may ever be released" in page
    assert "No. 1 in the ledger" in page
    figures = json.loads((folder / "site" / "statistics.json").read_text())
    assert len(figures["statistics"]["Ages"]["columns"]["value"]["values"]) == 3
    again = run("clinic.toml", "site.toml", "--epsilon", "1", "--to", "site", "--json")
    assert json.loads(again.stdout)["repeated"] is True
    assert (folder / "site" / "index.html").read_text() == page
    run("clinic.toml", "site.toml", "--epsilon", "0.9", "--to", "site", code=3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[statistics", "is not TOML"),
        ("x = 1", "a table [statistics]"),
        ("[statistics]\nA = 3", "a question in SQL, or a study with its columns"),
        ("[statistics]\nA = { study = 'medain', of = 'visits.age' }", "one of ab_test,"),
        ("[statistics]\nA = { study = 'estimate', of = 'visits.age' }", "one of ab_test,"),
        ("[statistics]\nA = { study = 'planned', of = 'visits.age' }", "one of ab_test,"),
        ("[statistics]\nA = { study = 'median', of = 'visits.age', k = 1 }", "option of median"),
        ("[statistics]\nA = { study = 'median', of = 'visits.age', epsilon = 1 }", "given to publish"),
    ],
)
def test_a_mistake_in_the_file_is_a_sentence_and_costs_nothing(folder: Path, text: str, words: str) -> None:
    (folder / "site.toml").write_text(text)
    assert words in " ".join(run("clinic.toml", "site.toml", "--epsilon", "1", "--to", "site", code=2).stderr.split())
    assert not (folder / "spent.ledger").exists()


def test_a_file_that_is_not_there_is_a_sentence(folder: Path) -> None:
    assert "cannot be read" in run("clinic.toml", "no.toml", "--epsilon", "1", "--to", "site", code=2).stderr
