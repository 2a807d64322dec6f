"""`tacit train | predict | evaluate`: charged once, files, every form, and a sentence for every mistake."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tacit import learning
from tacit.doors.commands import learning as learning_commands
from tests.doors.commands.test_formats import must_be_readable
from tests.doors.shell import run

POLICY = """
name = "clinic"
budget = { epsilon = 20, delta = 1e-5 }
ledger = "spent.ledger"

[questions]
largest_epsilon = 15

[tables.people]
source = "people.csv"
unit = "who"
rows_per_unit = 1

[tables.people.columns]
who = { type = "integer" }
sex = { type = "text", one_of = ["F", "M"] }
age = { type = "integer", between = [0, 110] }
charge = { type = "integer", between = [0, 400] }
smoker = { type = "text", one_of = ["no", "yes"] }
"""
ROWS = "SELECT age, sex, smoker FROM people"
TRAIN = ("train", "clinic.toml", ROWS, "--target", "smoker", "--epsilon", "2", "--delta", "1e-6", "--to", "m.json")
EVALUATE = ("evaluate", "m.json", "clinic.toml", ROWS, "--epsilon", "1", "--by", "sex")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lines = [
        f"{who},{'FM'[who % 2]},{who % 90},{who % 90 * 4},{'yes' if who % 90 < 45 else 'no'}" for who in range(360)
    ]
    (tmp_path / "people.csv").write_text("who,sex,age,charge,smoker\n" + "\n".join(lines) + "\n")
    (tmp_path / "new.csv").write_text("age,sex,colour\n20,F,red\n85,m,blue\n,X,\n")
    (tmp_path / "clinic.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.mark.parametrize("command", ["train", "predict", "evaluate"])
def test_help_shows_an_example(command: str) -> None:
    assert f"tacit {command} " in " ".join(run(command, "--help").stdout.split()).replace(f"Usage: tacit {command}", "")


def test_a_model_is_trained_used_and_scored_and_the_same_again_is_free(folder: Path) -> None:
    told = run(*TRAIN[:-2], "--estimate")
    assert "Would cost epsilon 2" in told.stdout
    assert not (folder / "m.json").exists()
    first = run(*TRAIN, "--card", "m.html")
    assert "coefficients" in first.stdout
    assert "intercept" in first.stdout
    assert "delta" in first.stdout
    assert "<td>intercept</td>" in (folder / "m.html").read_text()
    assert "Wrote m.json" in first.stderr
    assert "LogisticRegression for smoker" in (folder / "m.html").read_text()
    content = (folder / "m.json").read_bytes()
    again = json.loads(run(*TRAIN, "--json").stdout)
    assert again["repeated"]
    assert learning.load("m.json").coef_.tolist() == json_of(content).coef_.tolist()
    said = list(csv.DictReader(io.StringIO(run("predict", "m.json", "new.csv", "--format", "csv").stdout)))
    assert [each["prediction"] for each in said[:2]] == ["yes", "no"]
    assert float(said[0]["probability_of_yes"]) > 0.5
    found = json.loads(run(*EVALUATE, "--to", "scores.json", "--card", "scores.html", "--json").stdout)
    accuracy = found["table"][0]
    assert accuracy["measure"] == "accuracy"
    assert accuracy["score_low"] <= accuracy["score"] <= accuracy["score_high"]
    assert learning.load("scores.json")["accuracy"] == accuracy["score"]
    assert "ROC curve" in (folder / "scores.html").read_text()


def json_of(content: bytes) -> learning.LogisticRegression:
    from tacit.learning.files import from_bytes

    found = from_bytes(content)
    assert isinstance(found, learning.LogisticRegression)
    return found


def test_each_form_can_be_read_by_whoever_asked_for_it(folder: Path) -> None:
    run(*TRAIN)
    must_be_readable(folder, TRAIN)
    must_be_readable(folder, ("predict", "m.json", "new.csv"))
    must_be_readable(folder, EVALUATE)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (TRAIN[:-2], 2, "--to m.json"),
        (("train", "clinic.toml", ROWS, "--epsilon", "1", "--to", "m"), 2, "--target"),
        ((*TRAIN[:-2], "--to", "m.json", "--model", "Logistic"), 2, "one of PCA"),
        ((*TRAIN, "--model", "Ridge", "--option", "beta=2"), 2, "one of alpha"),
        ((*TRAIN, "--option", "epsilon=2"), 2, "NAME=VALUE"),
        ((*TRAIN, "--option", "rounds"), 2, "NAME=VALUE"),
        (
            ("train", "clinic.toml", ROWS, "--target", "weight", "--epsilon", "1", "--delta", "1e-6", "--to", "m"),
            1,
            "not there",
        ),
        (
            ("train", "clinic.toml", ROWS, "--target", "age", "--epsilon", "1", "--delta", "1e-6", "--to", "m"),
            1,
            "listed values",
        ),
        (("train", "clinic.toml", "SELECT x FROM people", "--epsilon", "1", "--to", "m"), 1, "x"),
        (("train", "gone.toml", ROWS, "--epsilon", "1", "--to", "m"), 1, "gone.toml"),
        ((*TRAIN, "--epsilon", "50"), 2, "at most epsilon 15"),
        ((*TRAIN, "--epsilon", "-1"), 2, "epsilon"),
        (("predict", "gone.json", "new.csv"), 1, "cannot be read"),
        (("predict", "new.csv", "new.csv"), 1, "no file of a model"),
        (("evaluate", "gone.json", "clinic.toml", ROWS), 1, "cannot be read"),
    ],
    ids=range(15),
)
def test_a_mistake_gets_a_sentence(folder: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = run(*arguments, code=code)
    import re

    assert re.search(words, done.output)
    assert "Traceback" not in done.output


def test_rows_without_the_columns_of_the_model_and_scores_for_a_model_are_named(folder: Path) -> None:
    run(*TRAIN)
    (folder / "other.csv").write_text("age\n3\n")
    assert "age, sex" in run("predict", "m.json", "other.csv", code=2).output
    (folder / "empty.csv").write_text("age,sex\n")
    assert "no row" in run("predict", "m.json", "empty.csv", code=2).output
    assert "cannot be read" in run("predict", "m.json", "gone.csv", code=2).output
    run(*EVALUATE, "--to", "scores.json")
    assert "no model" in run("predict", "scores.json", "new.csv", code=2).output
    run(
        "train",
        "clinic.toml",
        "SELECT age, charge FROM people",
        "--model",
        "SecondMoments",
        "--epsilon",
        "1",
        "--to",
        "s.json",
    )
    run(*TRAIN, "--epsilon", "15")
    assert "left" in run(*TRAIN, "--epsilon", "14", code=3).output
    assert "predicts nothing" in run("predict", "s.json", "new.csv", code=2).output


def test_an_interrupt_ends_cleanly_and_stays_charged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(learning.LogisticRegression, "fit", pressed)
    done = run(*TRAIN, code=130)
    assert "Interrupted" in done.output
    assert "Traceback" not in done.output
    assert not (folder / "m.json").exists()


def test_a_bar_is_shown_to_whoever_watches_and_to_nobody_else() -> None:
    from rich.console import Console

    for is_terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=is_terminal)
        with learning_commands._working("Training", console):
            pass
        assert ("Training" in console.file.getvalue()) == is_terminal  # type: ignore[attr-defined]


@pytest.mark.parametrize(("place", "words"), [("nowhere/m.json", "there is no folder nowhere"), (".", "is a folder")])
def test_a_place_that_cannot_be_written_is_refused_before_the_charge(folder: Path, place: str, words: str) -> None:
    told = run(*TRAIN[:-1], place, code=2)
    assert words in told.output
    run(*TRAIN)
    paid = (folder / "spent.ledger").stat().st_size
    assert words in run(*EVALUATE, "--card", place, code=2).output
    assert (folder / "spent.ledger").stat().st_size == paid


def test_a_place_that_turns_out_not_to_be_writable_gets_a_sentence(folder: Path) -> None:
    told = run(*TRAIN[:-1], "/proc/m.json", code=2)
    assert "/proc/m.json cannot be written" in told.output


def test_the_centres_of_clusters_are_shown(folder: Path) -> None:
    rows = ("SELECT age, charge FROM people", "--model", "KMeans", "--option", "n_clusters=2", "--epsilon", "1")
    told = run("train", "clinic.toml", *rows, "--to", "k.json")
    assert "centre age" in told.output
    assert "no target" in run("train", "clinic.toml", *rows, "--target", "age", "--to", "k.json", code=2).output
