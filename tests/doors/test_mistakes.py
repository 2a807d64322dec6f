"""Mistakes as people make them: each gets a sentence that names the mend, and no trace, no repr, no jargon.

One row each: what was done, which refusal, and the words that tell what to do. `test_no_sentence_...` holds all of them
to the same manners.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import tacit
from tacit import statistics
from tacit.doors.cli import app
from tacit.errors import TacitError
from tacit.policy.read import parse

FRAME = pd.DataFrame({"who": range(40), "age": [20 + n for n in range(40)], "sex": ["F", "M"] * 20, "odd": [1j] * 40})
POLICY = """\
name = "visits"
ledger = "visits.ledger"
working_copy = "visits.copy"
[budget]
epsilon = 1
delta = 1e-6
[questions]
default_epsilon = 0.1
largest_epsilon = 0.5
[tables.visits]
source = "visits.csv"
unit = "who"
rows_per_unit = 1
[tables.visits.columns]
age = { type = "integer", between = [0, 110] }
sex = { type = "text", one_of = ["F", "M"] }
town = { type = "text" }
"""


@pytest.fixture(scope="module")
def clinic() -> Iterator[tacit.Curator]:
    with opened() as curator:
        yield curator


def opened(**facts: Any) -> tacit.Curator:
    given: dict[str, Any] = {
        "unit": "who",
        "columns": {"age": (0, 110), "sex": ["F", "M"]},
        "budget": tacit.Budget(1, 1e-6),
        **facts,
    }
    frame = given.pop("frame", FRAME)
    return tacit.protect(frame, **given)


# -- questions ---------------------------------------------------------------------------------------

QUESTIONS = {
    "SELECT * FROM data": "never leave",
    "SELECT age FROM data": "GROUP BY",
    "SELECT agee, count(*) FROM data GROUP BY agee": "Did you mean 'age'",
    "SELECT avg(income) FROM data": "Columns",
    "SELECT count(*) FROM dat": "data",
    "SELEC count(*) FROM data": "SELECT",
    "": "SELECT",
    "DROP TABLE data": "SELECT",
    "UPDATE data SET age = 1": "SELECT",
    "SELECT count(*) FROM data; SELECT 1": "one",
    "SELECT sex, age, count(*) FROM data GROUP BY sex": "GROUP BY",
    "SELECT avg(sex) FROM data": "number",
    "SELECT count(*) FROM data WHERE age = 'old'": "number",
    "SELECT frobnicate(age) FROM data": "frobnicate",
    "SELECT who FROM data": "who",
    "SELECT string_agg(sex, ',') FROM data": "not on the list",
    "SELECT count(*) FROM data WHERE random() < 0.5": "random",
}


@pytest.mark.parametrize("sql", QUESTIONS)
def test_a_question_that_cannot_be_answered_says_why(clinic: tacit.Curator, sql: str) -> None:
    with pytest.raises(TacitError, match=f"(?i){re.escape(QUESTIONS[sql])}") as refused:
        clinic.estimate(sql, 0.1)
    well_said(str(refused.value))


def asked(clinic: tacit.Curator, **options: Any) -> Any:
    return clinic.ask("SELECT count(*) AS n FROM data", 0.1, **options)


# -- Python ------------------------------------------------------------------------------------------

CALLS: dict[str, tuple[Callable[[tacit.Curator], Any], type[Exception], str]] = {
    "epsilon as words": (lambda c: c.ask("SELECT count(*) FROM data", "lots"), TacitError, "number above 0"),
    "epsilon zero": (lambda c: c.ask("SELECT count(*) FROM data", 0), TacitError, "above 0"),
    "epsilon below zero": (lambda c: c.ask("SELECT count(*) FROM data", -1), TacitError, "above 0"),
    "epsilon beyond the budget": (lambda c: c.ask("SELECT count(*) FROM data", 5), TacitError, "at most epsilon 1"),
    "delta of one": (lambda c: c.ask("SELECT count(*) FROM data", 0.1, delta=1), TacitError, "below 1"),
    "rho without delta": (lambda c: c.ask("SELECT count(*) FROM data", rho=0.01), TacitError, "delta"),
    "rho too dear": (lambda c: c.ask("SELECT count(*) FROM data", rho=1, delta=1e-7), TacitError, "worth epsilon"),
    "both prices": (lambda c: c.ask("SELECT count(*) FROM data", 1, rho=1, delta=1e-7), TacitError, "one of the two"),
    "within and epsilon": (lambda c: c.ask("SELECT count(*) FROM data", 1, within=5), TacitError, "left out"),
    "no such table": (lambda c: c.table("visits").count().ask(0.1), TacitError, "data"),
    "no such column of an answer": (
        lambda c: asked(c)["m"],
        TacitError,
        "one of n",
    ),
    "a level of 95": (
        lambda c: asked(c).intervals(95),
        TacitError,
        "between 0 and 1",
    ),
    "no such analyst's budget": (lambda c: c.budget("bob"), TacitError, "budget of their own"),
    "a study without bounds": (lambda _: statistics.median([1, 2, 3], epsilon=1), TacitError, "bounds"),
    "a study of no column": (
        lambda c: statistics.median(c, "data.ageing", epsilon=0.1),
        TacitError,
        "Did you mean 'age'|Columns",
    ),
    "a study of text": (lambda c: statistics.mean(c, "data.sex", epsilon=0.1), TacitError, "number"),
    "an estimate of arrays": (lambda _: statistics.estimate(statistics.mean, [1], epsilon=1), TacitError, "curator"),  # type: ignore[arg-type]
    "weights of nothing": (
        lambda c: asked(c, weights={"m": 2}),
        TacitError,
        "no output",
    ),
    "rows per unit of zero": (
        lambda c: c.ask("SELECT count(*) FROM data", 0.1, rows_per_unit=0),
        TacitError,
        "at least 1",
    ),
    "publish nothing": (lambda c: c.publish({}, 0.1), TacitError, "questions and planned studies"),
    "suggest for a column of text": (lambda c: c.suggest("data.sex", 0.1), TacitError, "integer and real"),
    "unit that is not there": (lambda _: opened(unit="patient"), TacitError, "Columns|columns"),
    "a column that is not there": (lambda _: opened(columns={"agee": (0, 1)}), TacitError, "Did you mean 'age'"),
    "bounds the wrong way round": (lambda _: opened(columns={"age": (110, 0)}), TacitError, "lower bound"),
    "bounds of text": (lambda _: opened(columns={"sex": (0, 1)}), TacitError, "another type"),
    "values of another type": (lambda _: opened(columns={"sex": [0, 1]}), TacitError, "in quotes|another type"),
    "a column that cannot be read": (lambda _: opened(columns={"odd": (0, 1)}), TacitError, "plain one"),
    "facts as a number": (lambda _: opened(columns={"age": 110}), TacitError, "between"),
    "columns as a list": (lambda _: opened(columns=["age"]), TacitError, "mapping"),
    "a budget of words": (lambda _: opened(budget="much"), TacitError, "number"),
    "a list instead of a frame": (lambda _: opened(frame=[1, 2]), TacitError, "DataFrame"),
    "a default above the largest": (lambda _: opened(default_epsilon=2), TacitError, "largest_epsilon"),
    "a budget that goes below zero": (lambda _: tacit.Budget(1) - tacit.Budget(2), TacitError, "at most epsilon 1"),
    "pandas habit on a table": (lambda c: c.table("data").groupby("sex"), AttributeError, "group_by"),  # type: ignore[attr-defined]
    "pandas habit on an answer": (
        lambda c: asked(c).head(),
        AttributeError,
        "to_pandas",
    ),  # type: ignore[attr-defined]
    "pandas habit on a curator": (lambda c: c.groupby("sex"), AttributeError, "table"),  # type: ignore[attr-defined]
    "pandas habit on rows": (lambda c: c.rows("SELECT age FROM data").mean(), AttributeError, "statistics"),  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("mistake", CALLS)
def test_a_wrong_call_says_what_to_write(clinic: tacit.Curator, mistake: str) -> None:
    call, kind, words = CALLS[mistake]
    with pytest.raises(kind, match=words) as refused:
        call(clinic)
    well_said(str(refused.value))


# -- policy files ------------------------------------------------------------------------------------

POLICIES = {
    'values = ["F"]': ('one_of = ["F", "M"]', 'values = ["F"]', "Did you mean 'one_of'"),
    "range": ("between = [0, 110]", "range = [0, 110]", "Did you mean 'between'"),
    "bounds in words": ("between = [0, 110]", 'between = "0-110"', "auto"),
    "one bound": ("between = [0, 110]", "between = [110]", "two"),
    "unknown type": ('type = "integer"', 'type = "int"', "integer"),
    "no unit": ('unit = "who"\n', "", "unit"),
    "unit left open": ('unit = "who"', 'unit = "FILL IN"', "FILL IN"),
    "rows per unit of none": ("rows_per_unit = 1", "rows_per_unit = 0", "at least 1|above 0"),
    "budget missing": ("[budget]\nepsilon = 1\ndelta = 1e-6\n", "", "budget"),
    "delta of one": ("delta = 1e-6", "delta = 2", "0 to 1|delta"),
    "epsilon in words": ("epsilon = 1\n", 'epsilon = "one"\n', "number"),
    "source missing": ('source = "visits.csv"\n', "", "source"),
    "misspelt key": ("rows_per_unit", "row_per_unit", "Did you mean 'rows_per_unit'"),
    "misspelt section": ("[questions]", "[question]", "Did you mean 'questions'"),
    "not TOML": ("[budget]", "[budget", "not TOML"),
    "default above largest": ("default_epsilon = 0.1", "default_epsilon = 0.9", "largest_epsilon"),
}


@pytest.mark.parametrize("mistake", POLICIES)
def test_a_wrong_policy_names_the_key_and_the_mend(mistake: str) -> None:
    old, new, words = POLICIES[mistake]
    assert old in POLICY
    with pytest.raises(TacitError, match=words) as refused:
        parse(POLICY.replace(old, new, 1))
    well_said(str(refused.value))


# -- the command line --------------------------------------------------------------------------------

COMMANDS = {
    ("ask", "visit.toml", "SELECT count(*) FROM visits"): "tacit init",
    ("ask", "visits.toml", "SELECT count(*) FROM visit"): "visits",
    ("ask", "visits.toml", "SELECT town, count(*) FROM visits GROUP BY town"): "say 1e-08",
    ("ask", "visits.toml", "SELECT count(*) FROM visits", "--epsilon", "0,5"): "number above 0",
    ("ask", "visits.toml", "SELECT count(*) FROM visits", "--epsilon", "0.9"): "at most epsilon 0.5",
    ("ask", "visits.toml", "SELECT count(*) FROM visits", "--rho", "1", "--delta", "1e-7"): "worth epsilon",
    ("ask", "visits.toml", "SELECT count(*) FROM visits", "--format", "xlsx"): "'csv'",
    ("ask", "visits.toml"): "SQL",
    ("ask", "SELECT count(*) FROM visits"): "SQL",
    ("asks", "visits.toml"): "Did you mean|No such command",
    ("check", "visits.csv"): "not TOML",
    ("check", "gone.toml"): "tacit init",
    ("init", "gone.csv"): "cannot be read",
    ("init", "visits.xlsx"): "not known",
    ("init", "visits.csv"): "--output",
    ("ledger", "visits.toml"): "no ledger",
    ("publish", "visits.toml", "gone.toml", "--to", "site"): r"\[statistics\]",
    ("publish", "visits.toml", "visits.toml", "--to", "site"): r"\[statistics\]",
    ("suggest", "visits.toml", "visits.sex"): "integer and real",
    ("risk", "visits.csv", "--columns", "zip"): "zip",
    ("audit", "check", "gone.json"): "cannot be read",
    ("demo", "hospital"): "clinic",
}


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda each: " ".join(each)[:60])
def test_a_wrong_command_says_what_to_type(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text("who,age,sex,town\n1,30,F,Ulm\n")
    Path("visits.xlsx").write_bytes(b"PK\x03\x04")
    Path("visits.toml").write_text(POLICY)
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code in (1, 2, 3)
    assert isinstance(done.exception, SystemExit)
    said = " ".join(done.stderr.split())
    assert re.search(COMMANDS[arguments], said), said
    well_said(said)


# -- manners -----------------------------------------------------------------------------------------


def well_said(sentence: str) -> None:
    """What every refusal holds to."""
    for jargon in (
        "Traceback",
        "Fraction(",
        "Decimal(",
        "np.float64(",
        "object at 0x",
        "NoneType",
        "UNREADABLE",
        "-0 is",
    ):
        assert jargon not in sentence
    assert sentence.strip()
    assert len(sentence) < 1200


def test_there_are_sixty_of_them() -> None:
    assert len(QUESTIONS) + len(CALLS) + len(POLICIES) + len(COMMANDS) >= 60


def test_a_moved_folder_is_told_the_safe_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    (before / "visits.csv").write_text("who,age,sex,town\n1,30,F,Ulm\n")
    (before / "visits.toml").write_text(POLICY)
    ask = ["ask", "visits.toml", "SELECT count(*) FROM visits"]
    monkeypatch.chdir(before)
    assert CliRunner().invoke(app, ask).exit_code == 0
    monkeypatch.chdir(tmp_path)
    before.rename(after)
    monkeypatch.chdir(after)
    refused = CliRunner().invoke(app, ask)
    said = " ".join(refused.stderr.split())
    command = re.search(r"tacit (ledger adopt) POLICY (--moved-from) (\S+visits\.ledger)\.", said)
    assert command is not None, said
    assert ".head" in said
    adopted = CliRunner().invoke(app, ["ledger", "adopt", "visits.toml", command[2], command[3], "--yes"])
    assert adopted.exit_code == 0, adopted.output
    assert CliRunner().invoke(app, ask).exit_code == 0
