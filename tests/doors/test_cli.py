"""The command line: every command, its exit codes, and what a person sees after a mistake."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist

import pytest
from typer.testing import CliRunner

from tacit import curator
from tacit.doors.cli import app
from tests.doors.shell import run

ROWS = 2_000
POLICY = """\
name = "visits"
working_copy = "visits.copy"
ledger = "visits.ledger"
[budget]
epsilon = 1
[questions]
largest_epsilon = 1
[tables.visits]
source = "visits.csv"
unit = "patient_id"
rows_per_unit = 2
[tables.visits.columns]
sex = { type = "text", one_of = ["F", "M"], nullable = false }
age = { type = "integer", between = [0, 100] }
"""
COUNT = "SELECT count(*) AS n FROM visits"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return registered(tmp_path, monkeypatch)


def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with visits.csv (1,000 people of two visits each; half are F) and its policy."""
    lines = ["patient_id,sex,age"]
    lines += [f"{row // 2},{'FM'[row % 2]},{20 + row % 50}" for row in range(ROWS)]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "visits.toml").write_text(POLICY)
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_help_names_every_command_and_shows_examples() -> None:
    shown = run("--help").stdout
    for command in ("demo", "init", "check", "estimate", "ask", "explain", "suggest", "ledger"):
        assert f"\n  {command} " in shown
        assert f"tacit {command} " in " ".join(run(command, "--help").stdout.split())


def test_the_version_is_printed_alone() -> None:
    import tacit

    assert run("--version").stdout == f"tacit {tacit.__version__}\n"


# -- init and check ----------------------------------------------------------------------------------


def test_a_policy_is_begun_from_a_csv_filled_in_checked_and_asked(folder: Path) -> None:
    (folder / "visits.toml").unlink()
    assert "tacit check visits.toml" in run("init", "visits.csv").stderr
    policy = folder / "visits.toml"
    draft = policy.read_text()
    assert "# age = " in draft
    assert "unit" in run("check", "visits.toml", code=1).stderr  # what only the owner knows is still open
    filled = draft.replace('unit = "FILL IN"', 'unit = "patient_id"').replace("rows_per_unit = 1", "rows_per_unit = 2")
    policy.write_text(filled + 'age = { type = "integer", between = [0, 100] }\n')
    assert "visits.toml is in order" in run("check", "visits.toml").stdout
    answer = json.loads(run("ask", "visits.toml", "SELECT count(age) FROM visits", "--epsilon", "1/2", "--json").stdout)
    assert abs(answer["rows"][0][0] - ROWS) < 200  # Laplace of scale 4: e^-50 is the chance of more


def test_a_begun_policy_holds_no_value_of_any_row(folder: Path) -> None:
    (folder / "visits.csv").write_text("patient_id,sex,age\n4711,zebra,99\n")
    shown = run("init", "visits.csv", "--output", "-").stdout
    assert "patient_id" in shown
    assert not [value for value in ("4711", "zebra") if value in shown]


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"patient_id;age\r\n1;30\r\n2;NA\r\n", ['delimiter = ";"', 'null = ["", "NA"]']),
        (b"patient_id\tage\tpaid\n1\t30\t1.234,50\n", ['delimiter = "\\t"', 'decimal = ","', 'thousands = "."']),
        ("patient_id,age,name\n1,30,Müller\n".encode("latin-1"), ['encoding = "windows-1252"']),
        (b'# made up\npatient_id,age\n1,"3\n0"\n', ['comment = "#"']),
        (b"patient_id|age|said\n1|30|'a|b'\n", ['delimiter = "|"', 'quote = "\'"']),
        (b'patient_id,age,said\n1,30,"a \\"b\\", c"\n', ['escape = "\\\\"']),
        (b'patient_id,age,size\n1,30,5" pipe\n', ['quote = ""']),
    ],
)
def test_a_begun_policy_says_how_the_file_is_written_and_then_holds(folder: Path, data: bytes, keys: list[str]) -> None:
    (folder / "odd.csv").write_bytes(data)
    run("init", "odd.csv")
    draft = (folder / "odd.toml").read_text()
    for key in keys:
        assert f"\n{key} " in draft
    filled = draft.replace('unit = "FILL IN"', 'unit = "patient_id"').replace("# age = ", "age = ")
    (folder / "odd.toml").write_text(filled)
    assert "odd.toml is in order" in run("check", "odd.toml").stdout
    run("ask", "odd.toml", "SELECT count(age) FROM odd", "--epsilon", "0.1", "--json")


def test_a_file_without_a_header_gets_numbered_columns_and_no_value_of_a_row(folder: Path) -> None:
    (folder / "odd.csv").write_text("4711,zebra\n4712,lion\n")
    shown = run("init", "odd.csv", "--output", "-").stdout
    assert "header = false" in shown
    assert "# c1 = " in shown
    assert not [value for value in ("4711", "zebra", "lion") if value in shown]


def test_a_policy_is_begun_from_the_keys_of_json_lines(folder: Path) -> None:
    (folder / "odd.jsonl").write_text('{"who": "4711", "age": 30}\n{"who": "zebra", "a b": 1}\n')
    run("init", "odd.jsonl")
    draft = (folder / "odd.toml").read_text()
    assert not [value for value in ("4711", "zebra") if value in draft]
    assert '# "a b" = ' in draft
    filled = draft.replace('unit = "FILL IN"', 'unit = "who"').replace("# age = ", "age = ")
    (folder / "odd.toml").write_text(filled)
    run("ask", "odd.toml", "SELECT count(age) FROM odd", "--epsilon", "0.1", "--json")


def test_a_policy_that_exists_is_not_overwritten(folder: Path) -> None:
    assert "exists already" in run("init", "visits.csv", code=2).stderr
    assert (folder / "visits.toml").read_text() == POLICY


def test_paths_in_a_begun_policy_are_relative_to_where_it_lies(folder: Path) -> None:
    (folder / "policies").mkdir()
    run("init", "visits.csv", "--output", "policies/v.toml")
    assert 'source = "../visits.csv"' in (folder / "policies" / "v.toml").read_text()


def test_check_names_every_problem_and_the_nearest_column(folder: Path) -> None:
    (folder / "visits.toml").write_text(POLICY.replace("age =", "agee =").replace("sex =", "gender ="))
    shown = run("check", "visits.toml", code=1).stderr
    assert "Did you mean 'age'?" in shown
    assert "tables.visits.columns.gender" in shown


def test_check_as_json_lists_what_may_be_asked_about(folder: Path) -> None:
    assert json.loads(run("check", "visits.toml", "--json").stdout)["tables"] == {"visits": ["sex", "age"]}


# -- estimate and explain ----------------------------------------------------------------------------


def test_an_estimate_is_the_error_of_the_noise_and_leaves_no_ledger(folder: Path) -> None:
    found = json.loads(run("estimate", "visits.toml", COUNT, "--epsilon", "0.1", "--json").stdout)
    (error,) = found["errors"]
    # Two rows of a person at epsilon 0.1: a Laplace of scale 20, and P(|noise| > 20 ln 20) = 0.05.
    assert error["within_95"] == pytest.approx(59.9, abs=1.1)
    assert found["epsilon"] == "1/10"
    assert sorted(path.name for path in folder.iterdir()) == ["visits.csv", "visits.toml"]


def test_fewer_rows_of_each_person_mean_less_noise(folder: Path) -> None:
    arguments = ("estimate", "visits.toml", COUNT, "--epsilon", "0.1", "--json")
    both = json.loads(run(*arguments).stdout)["errors"][0]["deviation"]
    one = json.loads(run(*arguments, "--rows-per-unit", "1").stdout)["errors"][0]["deviation"]
    assert one == pytest.approx(both / 2, rel=0.01)


def test_an_estimate_finds_the_epsilon_that_an_accuracy_needs(folder: Path) -> None:
    shown = run("estimate", "visits.toml", COUNT, "--within", "60").stdout
    assert "Would cost epsilon 0.1" in shown or "Would cost epsilon 0.099" in shown
    assert "Nothing was charged" in shown


def test_a_rho_is_estimated_as_the_epsilon_it_is_worth(folder: Path) -> None:
    arguments = ("estimate", "visits.toml", COUNT, "--rho", "0.005", "--delta", "1e-6", "--json")
    found = json.loads(run(*arguments).stdout)
    # Two rows of a person at rho 0.005: Gaussian noise of deviation 2 / sqrt(2 * 0.005) = 20.
    assert found["errors"][0]["deviation"] == pytest.approx(20, rel=1e-3)
    # A Gaussian of sensitivity 1 and deviation 10 has, at its epsilon, this delta; the epsilon is rounded up.
    worth, normal = float(Fraction(found["epsilon"])), NormalDist()
    delta = normal.cdf(0.05 - 10 * worth) - math.exp(worth) * normal.cdf(-0.05 - 10 * worth)
    assert 0.99e-6 < delta <= 1e-6
    assert f"Would cost epsilon {worth:.4f}"[:-1] in run(*arguments[:-1]).stdout


def test_a_heavier_column_gets_less_noise_and_the_other_more(folder: Path) -> None:
    two = "SELECT count(*) AS n, sum(age) AS s FROM visits"
    arguments = ("estimate", "visits.toml", two, "--epsilon", "0.3", "--json")

    def deviations(*more: str) -> list[float]:
        return [error["deviation"] for error in json.loads(run(*arguments, *more).stdout)["errors"]]

    even, uneven = deviations(), deviations("--weights", "n=2")
    # Laplace noise: half of epsilon each, against two thirds and one third.
    assert [after / before for after, before in zip(uneven, even, strict=True)] == pytest.approx([3 / 4, 3 / 2], 1e-3)
    assert deviations("--weights", "n=4", "--weights", "s=4") == even


def test_explain_and_ask_take_rho_and_weights(folder: Path) -> None:
    two = "SELECT count(*) AS n, sum(age) AS s FROM visits"
    budget = ("--rho", "0.001", "--delta", "1e-7", "--weights", "s=3")
    (folder / "visits.toml").write_text(POLICY.replace("epsilon = 1\n[q", "epsilon = 1\ndelta = 1e-6\n[q"))
    planned = json.loads(run("explain", "visits.toml", two, *budget, "--why", "--json").stdout)
    assert any("n is off by" in line for line in planned["why"])
    answer = json.loads(run("ask", "visits.toml", two, *budget, "--json").stdout)
    assert answer["receipt"]["event"] == json.dumps(planned["event"], sort_keys=True, separators=(",", ":"))
    assert answer["receipt"]["noise"] == "discrete Gaussian"


def test_a_mean_is_estimated_once_the_rows_are_guessed(folder: Path) -> None:
    mean = "SELECT avg(age) AS mean FROM visits"
    guessed = run("estimate", "visits.toml", mean).stdout
    assert "--rows" in guessed
    assert "in a cell of 1,000 rows" in " ".join(guessed.split())
    assert "mean" in run("estimate", "visits.toml", mean, "--rows", "1000").stdout


def test_explain_shows_sentences_and_the_query_and_why(folder: Path) -> None:
    shown = run("explain", "visits.toml", COUNT, "--epsilon", "0.1", "--why").stdout
    assert "1. " in shown
    assert "COUNT(*)" in shown
    assert "n is off by" in shown
    content = json.loads(run("explain", "visits.toml", COUNT, "--json").stdout)
    assert set(content) == {"sentences", "query", "event"}


# -- ask ---------------------------------------------------------------------------------------------


def test_asking_prints_a_table_with_errors_and_asking_again_is_free(folder: Path) -> None:
    sql = "SELECT sex, count(*) AS n FROM visits GROUP BY sex"
    first = run("ask", "visits.toml", sql, "--epsilon", "0.5")
    assert "+/- 12" in first.stdout  # scale 4: 4 ln 20 = 11.98
    assert "epsilon 0.5, no. 1 in the ledger" in first.stdout
    again = run("ask", "visits.toml", sql.lower() + " ", "--epsilon", "0.5")
    assert "nothing was charged" in again.stdout
    assert first.stdout.splitlines()[:3] == again.stdout.splitlines()[:3]
    rows = list(csv.reader(io.StringIO(run("ask", "visits.toml", sql, "--epsilon", "0.5", "--csv").stdout)))
    assert [row[0] for row in rows] == ["sex", "F", "M"]
    content = json.loads(run("ask", "visits.toml", sql, "--epsilon", "0.5", "--json").stdout)
    assert content["repeated"] is True
    assert all(abs(n - ROWS / 2) < 200 for _, n in content["rows"])  # e^-50 is the chance of more
    assert content["intervals_95"][0] is None
    assert all(low < n < high for (_, n), (low, high) in zip(content["rows"], content["intervals_95"][1], strict=True))


def test_two_columns_of_one_name_both_keep_their_errors(folder: Path) -> None:
    sql = "SELECT sex AS x, count(*) AS x FROM visits GROUP BY sex"
    content = json.loads(run("ask", "visits.toml", sql, "--json").stdout)
    assert content["intervals_95"][0] is None
    assert len(content["intervals_95"][1]) == 2


def test_a_budget_that_does_not_cover_the_question_is_exit_code_3(folder: Path) -> None:
    run("ask", "visits.toml", COUNT, "--epsilon", "0.75")
    refused = run("ask", "visits.toml", COUNT, "--epsilon", "0.5", code=3)
    assert "0.25" in refused.stderr
    assert refused.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("ask", "visits.toml", "SELECT * FROM visits"), 1, "Rows themselves never leave"),
        (("ask", "visits.toml", "SELECT avg(agee) FROM visits"), 1, "Did you mean"),
        (("ask", "visits.toml", COUNT, "--epsilon", "lots"), 2, "epsilon"),
        (("ask", "visits.toml", COUNT, "--epsilon", "-1"), 2, "epsilon"),
        (("ask", "visits.toml", COUNT, "--json", "--csv"), 2, "one of --format csv and --format json"),
        (("ask", "visits.toml", COUNT, "--rho", "0.1"), 2, "delta"),
        (("ask", "visits.toml", COUNT, "--rho", "0.1", "--epsilon", "0.1", "--delta", "1e-7"), 2, "epsilon or rho"),
        (("ask", "visits.toml", COUNT, "--rho", "1e999999999", "--delta", "1e-7"), 2, "rho"),
        (("ask", "visits.toml", COUNT, "--weights", "n"), 2, "NAME=WEIGHT"),
        (("ask", "visits.toml", COUNT, "--weights", "n=1", "--weights", "n=2"), 2, "each name once"),
        (("estimate", "visits.toml", COUNT, "--weights", "n=0"), 2, "weights"),
        (("explain", "visits.toml", COUNT, "--weights", "n=1e999999999"), 2, "weights"),
        (("estimate", "visits.toml", COUNT, "--weights", "m=2"), 1, "no output"),
        (("ask", "visits.toml"), 2, "SQL"),
        (("ask", "nothing.toml", COUNT), 1, "no such file"),
        (("estimate", "visits.toml", COUNT, "--within", "0.001"), 1, "more than epsilon"),
        (("check", "visits.csv"), 1, "not TOML"),
        (("init", "visits.docx"), 1, "not known"),
        (("init", "nothing.csv"), 1, "cannot be read"),
        (("ledger", "visits.toml"), 1, "ledger"),
        (("ledger", "export", "visits.toml", "--format", "xml"), 2, "not one of 'table', 'csv'"),
        (("demo", "opera"), 2, "Demos: clinic, mechanisms"),
        (("serve",), 2, "serve"),
    ],
    ids=lambda value: "-".join(value)[:40] if isinstance(value, tuple) else None,
)
def test_a_mistake_gives_a_sentence_and_a_code(folder: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    refused = run(*arguments, code=code)
    assert words in refused.stderr
    assert refused.stdout == ""
    assert not (folder / "visits.ledger").exists()  # nothing was committed to


@pytest.mark.parametrize("bug", [ZeroDivisionError(), RuntimeError("a bug")], ids=["arithmetic", "runtime"])
def test_a_true_bug_is_not_hidden(folder: Path, monkeypatch: pytest.MonkeyPatch, bug: Exception) -> None:
    def broken(path: object) -> None:
        raise bug

    monkeypatch.setattr(curator, "check_policy", broken)
    assert CliRunner().invoke(app, ["check", "visits.toml"]).exception is bug


def test_an_interrupt_gives_one_line_and_code_130(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(path: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(curator, "check_policy", interrupted)
    assert run("check", "visits.toml", code=130).stderr.count("\n") == 1


# -- the ledger --------------------------------------------------------------------------------------


def test_the_ledger_is_shown_verified_and_exported(folder: Path) -> None:
    run("ask", "visits.toml", "SELECT count(*) FROM visits WHERE age > 30", "--epsilon", "0.25", "--analyst", "ana")
    shown = run("ledger", "visits.toml").stdout
    assert "select count(*) from visits where age > 30" in shown
    assert "ana" in shown
    assert "  1  20" in shown  # readers count from one, without holes
    assert "epsilon 0.25 " in shown
    assert "1 answer so far is worth epsilon 0.25, of epsilon 1; about 3 more like the last" in " ".join(shown.split())
    assert "select" not in run("ledger", "visits.toml", "--analyst", "bob").stdout
    state = json.loads(run("ledger", "--json", "visits.toml").stdout)
    assert (state["unit"], state["spent"]["loss"], state["limit"]["loss"]) == ("epsilon", "1/4", "1")
    assert "3 entries" in run("ledger", "verify", "visits.toml").stdout
    assert len(json.loads(run("ledger", "export", "visits.toml").stdout)) == 3
    assert run("ledger", "export", "visits.toml", "--format", "csv").stdout.count("\n") == 4
    short = run("ledger", "visits.toml", "--last", "0").stdout
    assert "1 earlier ones are not shown: tacit ledger visits.toml --last 1" in short
    assert "select" not in short


def test_a_damaged_ledger_is_found_and_not_used(folder: Path) -> None:
    run("ask", "visits.toml", COUNT)
    path = folder / "visits.ledger"
    content = path.read_bytes()
    at = content.index(b"count_rows")
    path.write_bytes(content[:at] + b"COUNT" + content[at + 5 :])
    assert json.loads(run("ledger", "verify", "visits.toml", "--json", code=1).stdout)["sound"] is False
    assert run("ledger", "verify", "visits.toml", code=1).stderr
    run("ask", "visits.toml", COUNT, code=1)


def test_a_name_from_the_data_cannot_steer_the_terminal(folder: Path) -> None:
    (folder / "visits.toml").write_text(POLICY.replace('one_of = ["F", "M"]', 'one_of = ["F", "\\u001b[2J"]'))
    shown = run("ask", "visits.toml", "SELECT sex, count(*) FROM visits GROUP BY sex").stdout
    assert "\x1b" not in shown
    assert "\\x1b[2J" in shown


def test_a_wide_answer_is_not_cut_short(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    counts = ", ".join(f"count(age) * {factor} AS times_{factor}" for factor in range(1, 9))
    shown = run("ask", "visits.toml", f"SELECT {counts} FROM visits", "--epsilon", "1").stdout
    assert shown.splitlines()[1].count("+/-") == 8


# -- as a program ------------------------------------------------------------------------------------


def test_a_real_interrupt_ends_the_program_quietly(folder: Path) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "tacit.doors.cli", "demo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True) as demo:
        assert demo.stdout is not None
        while "made-up clinic" not in (line := demo.stdout.readline()):
            assert line  # it ended without a word
        demo.send_signal(signal.SIGINT)
        _, told = demo.communicate(timeout=300)
    assert demo.returncode == 130
    assert told.startswith("Interrupted.")
    assert "Traceback" not in told


UNITED = "SELECT 'all' AS what, count(*) AS n FROM visits UNION ALL SELECT sex, count(*) FROM visits GROUP BY sex"


def test_answers_put_together_are_asked_estimated_and_explained(folder: Path) -> None:
    answer = json.loads(run("ask", "visits.toml", UNITED, "--epsilon", "1", "--json").stdout)
    assert [row[0] for row in answer["rows"]] == ["all", "F", "M"]
    assert answer["receipt"]["epsilon"] == "1"
    estimate = json.loads(run("estimate", "visits.toml", UNITED, "--epsilon", "1", "--json").stdout)
    assert [each["column"] for each in estimate["errors"]] == ["n of SELECT 1", "n of SELECT 2"]
    explained = json.loads(run("explain", "visits.toml", UNITED, "--epsilon", "1", "--json").stdout)
    assert "SELECT" in explained["query"]
    assert "SELECT 1" in "\n".join(explained["sentences"])


def test_a_histogram_and_a_list_can_be_printed_and_read_by_programs(folder: Path) -> None:
    text = "SELECT sex, histogram(age, [30, 60]) AS h, quantile(age, [0.25, 0.75]) AS q FROM visits GROUP BY sex"
    ask = ("ask", "visits.toml", text, "--epsilon", "1")
    answer = json.loads(run(*ask, "--json").stdout)
    assert [column["kind"] for column in answer["columns"]] == ["text", "map(integer, integer)", "integer[]"]
    for (sex, bins, quantiles), intervals in zip(answer["rows"], answer["intervals_95"][1], strict=True):
        assert sex in ("F", "M")
        assert [label for label, _ in bins] == [label for label, _ in intervals]
        assert all(low <= number <= high for (_, number), (_, (low, high)) in zip(bins, intervals, strict=True))
        assert len(quantiles) == 2
    rows = list(csv.reader(io.StringIO(run(*ask, "--csv").stdout)))
    assert [json.loads(row[1]) for row in rows[1:]] == [row[1] for row in answer["rows"]]
    shown = run(*ask).stdout
    assert "30: " in shown
    assert "+/-" in shown
