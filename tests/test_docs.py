"""The documentation is true: its examples run, its links lead somewhere, and nothing public is left out.

In a Python block, `expression  # -> value` is checked: a number to the digits that are shown, anything else by its
text. `expression  # e.g. value` is run but not compared, because its answer is random. Blocks of `>>>` lines are
doctests. The blocks of one page share their names and run from top to bottom.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tacit import errors
from tacit.loss import events

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(?P<language>[\w{}+-]*)[^\n]*\n(?P<body>.*?)^```\s*$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"#\s*->\s*(?P<value>.+?)\s*$")
LINK = re.compile(r"\]\((?!https?://|#|mailto:)(?P<target>[^)#\s]+)")


def blocks(page: Path) -> Iterator[tuple[int, str]]:
    """Every Python block of the page, with the number of its first line."""
    text = page.read_text()
    for match in FENCE.finditer(text):
        if match["language"] in ("python", "pycon"):
            yield text[: match.start("body")].count("\n") + 1, match["body"]


def agrees(value: Any, shown: str) -> bool:
    """Whether `shown` is `value`, to the digits that are shown."""
    if isinstance(value, float) and re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", shown):
        mantissa, _, exponent = shown.partition("e")
        unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
        return math.isclose(value, float(shown), rel_tol=0, abs_tol=0.5001 * unit)
    return repr(value) == shown or str(value) == shown


def execute(source: str, names: dict[str, Any], where: str) -> int:
    """Run a block statement by statement; the number of shown values that were compared."""
    if ">>>" in source:
        test = doctest.DocTestParser().get_doctest(source, names, where, where, 0)
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, clear_globs=False)
        names.update(test.globs)
        assert result.failed == 0, where
        return result.attempted
    lines = source.splitlines()
    compared = 0
    for statement in ast.parse(source).body:
        assert statement.end_lineno is not None
        shown = SHOWN.search(lines[statement.end_lineno - 1])
        if shown is None:
            exec(compile(ast.Module([statement], []), where, "exec"), names)
            continue
        assert isinstance(statement, ast.Expr), f"{where}: '# ->' stands behind an expression"
        value = eval(compile(ast.Expression(statement.value), where, "eval"), names)
        assert agrees(value, shown["value"]), f"{where}: {ast.unparse(statement)} is {value!r}, not {shown['value']}"
        compared += 1
    return compared


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_example_runs_and_shows_the_truth(page: Path) -> None:
    if page.name == "learning.md":
        pytest.importorskip("sklearn", reason="an extra, which the tests' lock file holds")
    names: dict[str, Any] = {}
    for line, source in blocks(page):
        execute(source, names, f"{page.name}:{line}")


def test_a_wrong_value_in_an_example_is_noticed() -> None:
    assert execute("x = 2\nx / 3  # -> 0.667", {}, "here") == 1
    assert execute(">>> 1 + 1\n2\n", {}, "here") == 1
    with pytest.raises(AssertionError, match=r"is 0\.666"):
        execute("2 / 3  # -> 0.666", {}, "here")
    with pytest.raises(AssertionError, match="is 'a'"):
        execute("'a'  # -> b", {}, "here")


def test_the_pages_have_examples_with_values_to_compare() -> None:
    assert sum(1 for page in PAGES for _ in blocks(page)) >= 10
    assert sum(len(re.findall(r"# -> ", source)) for page in PAGES for _, source in blocks(page)) >= 15


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    missing = [
        match["target"] for match in LINK.finditer(page.read_text()) if not (page.parent / match["target"]).exists()
    ]
    assert missing == []


def test_every_page_is_in_the_table_of_contents() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    docs = ROOT / "docs"
    pages = {page.relative_to(docs).with_suffix("").as_posix() for page in docs.rglob("*.md")} - {"index"}
    assert pages - set(index.split()) == set()


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


def test_every_command_of_go_is_documented() -> None:
    usage = subprocess.run(
        [sys.executable, "go.py", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    commands = set(re.findall(r"(?m)^  ([a-z]+) ", usage)) - {"python3"}
    assert len(commands) >= 7
    assert commands - documented("architecture.md") == set()
