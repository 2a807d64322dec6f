"""The documentation is true: its examples run, its links lead somewhere, and nothing public is left out.

How an example says what it gives (`# ->`, `# e.g.`, `>>>`) is told in `tests/walk.py`. The pages that a newcomer
follows word for word are run there, in a fresh copy with nothing installed (`python3 go.py walk`, a step of `python3
go.py test`); all others here. The blocks of one page share their names and run from top to bottom.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from tacit import errors
from tacit.doors.cli import app
from tacit.loss import events
from tacit.policy.columns import KINDS, OUTSIDE
from tacit.policy.policy import FORMATS
from tacit.policy.read import parse
from tacit.policy.reading import ENCODINGS
from tacit.question.functions import FUNCTIONS
from tests.walk import FENCE, WALKED, Block, Stumble, Walk, blocks, commands, differs, execute

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
WRITTEN = sorted(page for page in DOCS.rglob("*.md") if not {"_build", "reference"} & set(page.parts))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *WRITTEN]
EXAMPLES = [page for page in PAGES if page.relative_to(ROOT).as_posix() not in WALKED]
LINK = re.compile(r"\]\((?!https?://|#|mailto:)(?P<target>[^)#\s]+)")
PICTURE = re.compile(r"```\{image\} (?P<target>\S+)")


def examples(page: Path) -> Iterator[tuple[int, str]]:
    """Every Python block of the page, with the number of its first line."""
    for block in blocks(page):
        if block.language in ("python", "pycon") and not block.body.startswith("# file: "):
            yield block.line, block.body


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.name)
def test_every_example_runs_and_shows_the_truth(page: Path) -> None:
    if page.name == "learning.md":
        pytest.importorskip("sklearn", reason="an extra, which the tests' lock file holds")
    if page.name == "neural.md" and importlib.util.find_spec("torch") is None:
        return  # tests/learning/neural runs it, where torch is
    if page.name == "federated.md":
        pytest.importorskip("Crypto", reason="an extra, which the tests' lock file holds")
    names: dict[str, Any] = {}
    for line, source in examples(page):
        execute(source, names, f"{page.name}:{line}")


def test_a_wrong_value_in_an_example_is_noticed() -> None:
    assert execute("x = 2\nx / 3  # -> 0.667", {}, "here") == 1
    assert execute(">>> 1 + 1\n2\n", {}, "here") == 1
    with pytest.raises(AssertionError, match=r"is 0\.666"):
        execute("2 / 3  # -> 0.666", {}, "here")
    with pytest.raises(AssertionError, match="is 'a'"):
        execute("'a'  # -> b", {}, "here")


def test_the_pages_have_examples_with_values_to_compare() -> None:
    assert sum(1 for page in PAGES for _ in examples(page)) >= 10
    assert sum(len(re.findall(r"# -> ", source)) for page in PAGES for _, source in examples(page)) >= 15


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    text = page.read_text()
    targets = [match["target"] for pattern in (LINK, PICTURE) for match in pattern.finditer(text)]
    # pages in reference/ are written by docs/reference.py; Sphinx checks the links to those
    assert [each for each in targets if "reference/" not in each and not (page.parent / each).exists()] == []


def test_every_page_is_in_the_table_of_contents() -> None:
    index = (DOCS / "index.md").read_text()
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in WRITTEN} - {"index"}
    assert pages - set(index.split()) == set()


def test_the_sidebar_is_grouped_and_no_group_is_without_a_name() -> None:
    groups = [block.body for block in blocks(DOCS / "index.md") if block.language == "{toctree}"]
    assert len(groups) >= 5
    assert all(":caption: " in group for group in groups)


def test_pictures_are_small() -> None:
    pictures = [each for each in (DOCS / "pictures").iterdir() if each.suffix in (".png", ".svg")]
    assert {each.name: each.stat().st_size for each in pictures if each.stat().st_size > 100_000} == {}
    assert {"session.svg", "epsilon.svg"} <= {each.name for each in pictures}


def documented(page: str) -> set[str]:
    """Every word that stands in code on a page of docs/, or on the pages that a pattern means."""
    text = "\n".join(found.read_text() for found in sorted((ROOT / "docs").glob(page)))
    code = [match["body"] for match in FENCE.finditer(text)] + re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    return set(re.findall(r"[A-Za-z_][\w-]*\w|\w", "\n".join(code)))


@pytest.mark.parametrize(
    ("room", "page"),
    [
        ("tacit", "index.md"),
        ("tacit.errors", "errors.md"),
        ("tacit.noise", "noise.md"),
        ("tacit.loss", "loss.md"),
        ("tacit.loss.events", "events.md"),
        ("tacit.mechanisms", "mechanisms.md"),
        ("tacit.ledger", "ledger.md"),
        ("tacit.audit", "audit.md"),
        ("tacit.audit.zoo", "audit.md"),
        ("tacit.audit.attacks", "attacks.md"),
        ("tacit.statistics", "statistics/*.md"),
        ("tacit.learning", "learning.md"),
        ("tacit.learning.neural", "neural.md"),
        ("tacit.local", "local.md"),
        ("tacit.streaming", "streaming.md"),
        ("tacit.federated", "federated.md"),
    ],
)
def test_every_public_name_is_documented(room: str, page: str) -> None:
    assert set(importlib.import_module(room).__all__) - documented(page) == set()


def test_every_refusal_is_documented() -> None:
    def family(root: type[Exception]) -> set[str]:
        return {root.__name__}.union(*(family(child) for child in root.__subclasses__()))

    assert family(errors.TacitError) - documented("errors.md") == set()


def test_every_kind_of_event_is_documented() -> None:
    assert set(events.kinds()) - documented("events.md") == set()


def test_every_function_of_a_question_is_documented() -> None:
    words = {word.lower() for word in documented("questions.md") | documented("asking.md")}
    assert set(FUNCTIONS) - words == set()


# -- the policy file ---------------------------------------------------------------------------------------


def rows_of_tables(page: str) -> set[str]:
    """Every word in code that stands in the first cell of a table's row."""
    cells = re.findall(r"(?m)^\| (`[^|]+`) \|", (DOCS / page).read_text())
    return {word for cell in cells for word in re.findall(r"`(\w+)`", cell)}


def keys_of_the_reader() -> set[str]:
    """Every key that the reader accepts somewhere, asked of the reader: its refusal of an unknown one lists them."""
    spoilt = (
        ("nonsense = 1\n", ""),
        ("", "[budget]\nnonsense = 1\n"),
        ("", "[questions]\nnonsense = 1\n"),
        ("", "[tables.t]\nnonsense = 1\n"),
        ("", "[tables.t]\nsource = 'a.csv'\nrows_per_unit = 1\nunit = { nonsense = 1 }\n"),
        ("", "[tables.t]\nsource = 'a.csv'\nrows_per_unit = 1\nunit = 'u'\n[tables.t.columns]\nc = { nonsense = 1 }\n"),
    )
    found: set[str] = set()
    for top, below in spoilt:
        budget = "" if "[budget]" in below else "[budget]\nepsilon = 1\n"
        tables = "" if "[tables" in below else "[tables.t]\nsource = 'a.csv'\nunit = 'row'\n"
        with pytest.raises(errors.PolicyError, match="nonsense: there is no such key") as refused:
            parse(top + budget + below + tables)
        listed = re.search(r"Keys: ([\w, ]+)\.", str(refused.value))
        assert listed is not None
        found |= set(listed[1].split(", "))
    return found


def test_every_key_of_a_policy_is_in_the_reference_and_no_other() -> None:
    assert rows_of_tables("policy-file.md") == keys_of_the_reader()
    assert {"epsilon", "rows_per_unit", "their_key", "outside", "largest_epsilon"} <= keys_of_the_reader()


def test_the_policy_that_the_reference_shows_is_one() -> None:
    (shown,) = (block.body for block in blocks(DOCS / "policy-file.md") if block.language == "toml")
    assert set(parse(shown).tables) == {"patients", "visits", "diagnoses", "codes"}


def test_every_type_and_every_format_is_in_the_reference() -> None:
    assert {*KINDS, *OUTSIDE, *ENCODINGS} - documented("policy-file.md") - documented("files.md") == set()
    assert set(FORMATS) - {"frame"} - documented("policy-file.md") == set()


# -- the pages that are written from the programs ----------------------------------------------------------


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_has_every_command_and_every_option(reference: ModuleType) -> None:
    page = reference.commands_page()
    listed = [path for path, _ in reference.walk_commands("tacit", get_command(app))]
    assert {"tacit ask", "tacit ledger verify", "tacit publish"} <= set(listed)
    for path in listed:
        section = page.partition(f"\n## `{path}`\n")[2].partition("\n## ")[0]
        shown = CliRunner().invoke(app, [*path.split()[1:], "--help"], terminal_width=300).output
        options = set(re.findall(r"(?m)^  (--[\w-]+)", shown)) - {"--help"}
        assert options - set(re.findall(r"--[\w-]+", section)) == set(), path


def test_the_reference_has_every_public_name(reference: ModuleType) -> None:
    assert {"tacit", "tacit.statistics", "tacit.audit", "tacit.mechanisms"} <= set(reference.rooms())
    for room in reference.rooms():
        headings = set(re.findall(r"(?m)^## `(\w+)`$", reference.room_page(room)))
        assert headings == {name for name in importlib.import_module(room).__all__ if not name.startswith("__")}, room


def test_every_room_with_public_names_has_its_reference(reference: ModuleType) -> None:
    folders = {each.name for each in (ROOT / "src" / "tacit").iterdir() if (each / "__init__.py").exists()}
    inner = {"doors", "engines", "plan", "question"}  # nobody imports from these
    assert {f"tacit.{name}" for name in folders - inner} - set(reference.rooms()) == set()


def test_what_markdown_would_take_for_markup_is_escaped(reference: ModuleType) -> None:
    assert reference.escaped("a*b*c, `x*y`, $NAME, <b>") == r"a\*b\*c, `x*y`, \$NAME, \<b\>"
    assert reference.help_text("Ask.  tacit ask a.toml *") == "Ask.\n\n```sh\ntacit ask a.toml *\n```"
    assert reference.prose("One.\n\n    kept * as it is") == "One.\n\n```text\nkept * as it is\n```"


# -- the walk ----------------------------------------------------------------------------------------------


def test_words_are_compared_and_widths_are_not() -> None:
    assert differs("a  1\nb 2", "a 1\n  b   2\n") == ""
    assert "shown" in differs("a 1", "a 2")
    assert "shown" in differs("a", "a b")
    assert "shown" in differs("a b", "a")
    assert differs("first\n...\nlast", "first\n1\n2\nlast") == ""
    assert differs("...\nlast", "1\n2\nlast") == ""
    assert "shown" in differs("first\n...\nlast", "first\n1\nlast\n2")
    assert "shown" in differs("first\n...", "second")


def test_noisy_figures_may_differ_by_noise_and_words_may_not() -> None:
    assert differs("n 1,000 +/- 10", "n 1,042 +/- 10", noisy=True) == ""
    assert "shown" in differs("n 1,000 +/- 10", "n 1,000 +/- 30", noisy=True)
    assert "shown" in differs("n 1,000 +/- 10", "n 1,200 +/- 10", noisy=True)
    assert "shown" in differs("n 1,000 +/- 10", "m 1,000 +/- 10", noisy=True)
    assert differs("entry 2, 2026-01-01", "entry 12, 2027-11-30", noisy=True) == ""


def block(language: str, body: str) -> Block:
    return Block("page.md", 1, language, body)


def test_a_page_is_followed_command_by_command(tmp_path: Path) -> None:
    page = Walk(tmp_path, {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}, installed=False)
    try:
        page.take(
            block("console", "$ mkdir inner\n$ cd inner\n$ printf 'one\\ntwo\\n'\none\ntwo\n$ false   # refused\n")
        )
        page.take(block("toml", "# file: a.toml\nx = 1\n"))
        assert (tmp_path / "inner" / "a.toml").read_text() == "x = 1\n"
        page.take(block("console", "$ cat \\\n> a.toml\nx = 1\n"))
        page.take(block("python", "x = open('a.toml').read()\nx.strip()  # -> x = 1\n"))
        with pytest.raises(Stumble, match="is 'x = 1', not x = 2"):
            page.take(block("python", "x.strip()  # -> x = 2\n"))
        with pytest.raises(Stumble, match=r"shown: +three"):
            page.take(block("console", "$ echo two\nthree\n"))
        with pytest.raises(Stumble, match="ended with code 1"):
            page.take(block("console", "$ false\n"))
        with pytest.raises(Stumble, match="ended with code 0"):
            page.take(block("console", "$ true   # refused\n"))
        with pytest.raises(Stumble, match=r"begins with '\$ '"):
            page.take(block("console", "true\n"))
    finally:
        page.close()


def test_every_page_of_the_walk_has_something_to_follow() -> None:
    for name in WALKED:
        assert any(block.language in ("console", "python") for block in blocks(ROOT / name)), name
    steps = [
        command
        for name in WALKED
        for each in blocks(ROOT / name)
        if each.language == "console"
        for command, _ in commands(each)
    ]
    assert len(steps) >= 20
    assert "python3 go.py demo" in steps


def test_every_command_of_go_is_documented() -> None:
    usage = subprocess.run(
        [sys.executable, "go.py", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    commands = set(re.findall(r"(?m)^  ([a-z]+) ", usage)) - {"python3"}
    assert len(commands) >= 7
    assert commands - documented("architecture.md") == set()
