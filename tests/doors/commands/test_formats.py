"""Every command that shows results shows them in five forms, alike; and what leaves takes its error along."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import typer
from typer.testing import CliRunner

from tacit.doors.cli import app
from tests.doors.shell import run
from tests.doors.test_cli import COUNT, folder, registered

__all__ = ["folder"]

ACTIONS = {
    "demo",
    "init",
    "completion",
    "federate client",
    "federate collect",
    "federate coordinator",
    "federate demo",
    "federate helper",
    "federate key",
    "federate plan",
    "federate report",
    "ledger resume",
    "ledger adopt",
    "mcp",
    "serve",
    "survey demo",
    "survey shuffle",
    "token add",
    "token revoke",
}
"""They do something, or write something that has a form of its own, and show no result."""
FORMS = ["table", "csv", "json", "parquet", "markdown"]
BY_SEX = "SELECT sex, count(*) AS n FROM visits GROUP BY sex"
STATISTICS = '[statistics]\n"By sex" = "SELECT sex, count(*) AS n FROM visits GROUP BY sex"\n'


def commands(command: Any = None, path: str = "") -> Iterator[tuple[str, Any]]:
    found = typer.main.get_command(app) if command is None else command
    for name, inner in getattr(found, "commands", {}).items():
        where = f"{path} {name}".strip()
        if getattr(inner, "commands", None):
            yield from commands(inner, where)
        else:
            yield where, inner


def test_every_command_that_shows_results_has_the_same_forms() -> None:
    without = set()
    for name, command in commands():
        options = {option: each for each in command.params for option in each.opts}
        if "--format" in options:
            assert options["--format"].metavar.split("|") == FORMS, name
        else:
            without.add(name)
    assert without == ACTIONS


def test_a_price_is_said_in_one_way() -> None:
    """Whoever takes a price takes it under the same names, with the same words and the same default."""
    said: dict[str, set[tuple[str | None, bool]]] = {}
    for _, command in commands():
        for each in command.params:
            if each.opts[0] in ("--epsilon", "--delta", "--rho", "--within", "--rows-per-unit", "--analyst"):
                said.setdefault(each.opts[0], set()).add((getattr(each, "help", None), each.required))
    said["--analyst"] -= {each for each in said["--analyst"] if "Only" in str(each[0])}  # whose entries to show
    assert {name: len(each) for name, each in said.items()} == dict.fromkeys(said, 1)


SHOWN = [
    ("check", "visits.toml"),
    ("check", "visits.toml", "--data"),
    ("refresh", "visits.toml"),
    ("estimate", "visits.toml", COUNT),
    ("explain", "visits.toml", COUNT),
    ("ask", "visits.toml", BY_SEX),
    ("publish", "visits.toml", "site.toml", "--to", "site"),
    ("ledger", "show", "visits.toml"),
    ("ledger", "verify", "visits.toml"),
    ("ledger", "export", "visits.toml"),
    ("risk", "visits.csv", "--columns", "sex,age"),
]


def test_the_list_of_what_is_shown_is_whole() -> None:
    # each needs minutes or a policy of its own: see below, test_learning and test_synthesis
    elsewhere = {
        "suggest",
        "audit run",
        "audit check",
        "train",
        "predict",
        "evaluate",
        "synthesise",
        "token list",
        "watch",
    }
    listed = {" ".join(each[: 2 if each[0] == "ledger" else 1]) for each in SHOWN}
    assert {name for name, _ in commands()} == ACTIONS | elsewhere | listed


@pytest.fixture
def asked(folder: Path) -> Path:
    (folder / "site.toml").write_text(STATISTICS)
    run("ask", "visits.toml", COUNT)
    return folder


@pytest.fixture(scope="module")
def asked_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The same for all commands that show: registered and asked once."""
    with pytest.MonkeyPatch.context() as patch:
        place = registered(tmp_path_factory.mktemp("shown"), patch)
        (place / "site.toml").write_text(STATISTICS)
        run("ask", "visits.toml", COUNT)
        yield place


@pytest.mark.parametrize("arguments", SHOWN, ids=lambda each: " ".join(each[:2]))
def test_each_form_can_be_read_by_whoever_asked_for_it(asked_once: Path, arguments: tuple[str, ...]) -> None:
    must_be_readable(asked_once, arguments)


def must_be_readable(asked: Path, arguments: tuple[str, ...]) -> None:
    def out(form: str) -> bytes:
        done = CliRunner().invoke(app, [*arguments, "--format", form], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout_bytes

    assert out("table")
    json.loads(out("json"))
    header, *rows = csv.reader(io.StringIO(out("csv").decode()))
    assert all(len(row) == len(header) for row in rows)
    path = asked / "shown.parquet"
    path.write_bytes(out("parquet"))
    table = duckdb.sql(f"SELECT * FROM '{path}'")
    assert table.columns == header
    assert len(table.fetchall()) == len(rows)
    first, rule, *lines = out("markdown").decode().splitlines()
    assert first == f"| {' | '.join(header)} |"
    assert set(rule) <= set("| -:")
    assert len(lines) == len(rows)


def test_a_noisy_column_takes_its_interval_along(asked: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(run("ask", "visits.toml", BY_SEX, "--format", "csv").stdout)))
    content = json.loads(run("ask", "visits.toml", BY_SEX, "--format", "json").stdout)
    assert list(rows[0]) == ["sex", "n", "n_low", "n_high"]
    for row, record, (low, high) in zip(rows, content["records"], content["intervals_95"][1], strict=True):
        assert (int(row["n_low"]), int(row["n_high"])) == (low, high) == (record["n_low"], record["n_high"])
        assert low < int(row["n"]) < high


def test_two_forms_at_once_are_refused(folder: Path) -> None:
    assert "Choose one of" in run("estimate", "visits.toml", COUNT, "--json", "--format", "csv", code=2).stderr


def test_a_cell_cannot_break_out_of_a_markdown_table() -> None:
    from tacit.answer.exported import Sheet

    text = Sheet.of([("a|b", "text", ["x|y\n| z", None])]).to_markdown()
    assert text == "| a\\|b |\n| --- |\n| x\\|y\\n\\| z |\n|  |\n"


def completed(folder: Path, *words: str) -> set[str]:
    """What bash offers after these words."""
    script = folder / "completion.bash"
    script.write_text(run("completion", "bash").stdout)
    line = (
        f"source {script}; COMP_WORDS=({' '.join(repr(each) for each in words)}); COMP_CWORD={len(words) - 1}; _tacit"
    )
    done = subprocess.run(
        ["bash", "-c", f'{line}; printf "%s\\n" "${{COMPREPLY[@]}}"'], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_the_tab_key_completes_commands_options_and_forms(folder: Path) -> None:
    names = {name.partition(" ")[0] for name, _ in commands()}
    assert completed(folder, "tacit", "") == names | {"--version", "--help"}
    assert completed(folder, "tacit", "ex") == {"explain"}
    assert {"verify", "export", "adopt"} <= completed(folder, "tacit", "ledger", "")
    assert completed(folder, "tacit", "ask", "visits.toml", "--rows") == {"--rows", "--rows-per-unit"}
    assert completed(folder, "tacit", "ask", "--format", "") == set(FORMS)
    assert completed(folder, "tacit", "ledger", "export", "--an") == {"--analyst"}
    assert "visits.toml" in completed(folder, "tacit", "check", "vis")


def test_other_shells_get_a_script_and_unknown_ones_a_sentence() -> None:
    assert "bashcompinit" in run("completion", "zsh").stdout
    fish = run("completion", "fish").stdout
    for name, _ in commands():
        assert all(word in fish for word in name.split())
    assert "bash, zsh, fish" in run("completion", "tcsh", code=2).stderr


def test_importing_the_command_line_stays_light() -> None:
    """Completion, help and the version are for every keystroke: no engine and no science is loaded for them."""
    loaded = "import sys, tacit.doors.cli; print([n for n in ('duckdb', 'scipy', 'sqlglot') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
