"""Follow README and the tutorials as a newcomer would: every command, every line of Python, in order, in a fresh copy.

    python3 tests/walk.py [PAGE...]        also as: python3 go.py walk
    python tests/walk.py --write           with the tacit on the path: write what it prints now into the pages

Promise: standard library only. The tree is copied into a new folder without any environment; the home folder is new,
too. Each page starts in a new shell in that copy, the pages share its files, and nothing is installed but by what the
pages say. What a page shows is compared with what happens:

- In a `console` block, a line `$ command` is typed into the shell, and the lines below it are what it prints, on
  standard output or standard error. They are compared word by word, so that the width of columns does not matter. A
  line `...` stands for anything. A command must succeed, unless it ends in `# refused`: then it must fail.
- Behind a command that draws noise stands `# your figures will differ`. There, numbers need not be the same ones. But a
  value followed by `+/-` lies within ten times that of the value that is shown, which an honest value passes but with a
  chance below 1e-9 (Laplace noise: exp(-3 * 10) at 95 %); and what follows `+/-` differs by no more than a factor 2.
- A `python` block is run by the Python of that shell, statement by statement; the blocks of a page share their names.
  `expression  # -> value` is compared: a number to the digits that are shown, anything else by its text. `# e.g. value`
  is not. A block of `>>>` lines is a doctest.
- A `toml`, `python` or `text` block whose first line is `# file: NAME` is saved under that name.
"""

from __future__ import annotations

import ast
import doctest
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
WALKED: Final = (
    "README.md",
    "docs/index.md",
    "docs/install.md",
    "docs/tutorials/owner.md",
    "docs/tutorials/analyst.md",
)
"""In this order: README leaves the folder that the home page opens, the owner's tutorial the one of the analyst's."""

FENCE: Final = re.compile(r"^```(?P<language>[\w{}+-]*)[^\n]*\n(?P<body>.*?)^```\s*$", re.MULTILINE | re.DOTALL)
SHOWN: Final = re.compile(r"#\s*->\s*(?P<value>.+?)\s*$")
SAVED: Final = re.compile(r"# file: (\S+)\n")
NOISY: Final = "# your figures will differ"
REFUSED: Final = "# refused"
NUMBER: Final = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
_TIMES: Final = 10.0
_SET_UP: Final = re.compile(r"(source|python3 go\.py|python3 -m venv|pip install|deactivate)\b")


class Stumble(Exception):
    """What a newcomer would have stumbled over, and where."""


# -- pages ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page."""

    page: str
    line: int
    language: str
    body: str

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """Every fenced block of the page, with the number of its first line."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        yield Block(page.name, text[: match.start("body")].count("\n") + 1, match["language"], match["body"])


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block, and what is shown below it."""
    command: list[str] | None = None
    shown: list[str] = []
    for line in block.body.splitlines():
        if line.startswith("$ "):
            if command is not None:
                yield "\n".join(command), "\n".join(shown)
            command, shown = [line[2:]], []
        elif command is None:
            raise Stumble(f"{block.where}: a console block begins with '$ '. Got {line!r}.")
        elif command[-1].endswith("\\") and line.startswith("> "):
            command.append(line[2:])
        else:
            shown.append(line)
    if command is not None:
        yield "\n".join(command), "\n".join(shown)


# -- Python --------------------------------------------------------------------------------------------------


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


def session() -> None:
    """Run the blocks that arrive on standard input, a line of JSON each; answer each with a line of JSON."""
    sys.path[0] = ""  # as in a session at a prompt; not the folder of this file, whose names are not meant for it
    names: dict[str, Any] = {"__name__": "__main__"}
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what an example prints is not an answer
    for line in sys.stdin:
        source, where = json.loads(line)
        try:
            execute(source, names, where)
            problem = ""
        except Exception as error:  # noqa: BLE001 - whatever an example raises is what is reported
            problem = f"{type(error).__name__}: {error}"
        print(json.dumps(problem), file=answers, flush=True)


# -- what is shown, and what happens -------------------------------------------------------------------------


def differs(shown: str, printed: str, *, noisy: bool = False) -> str:
    """What is wrong with `shown` where `printed` is what came; nothing if they agree."""
    rest = _words(printed)
    parts = [_words(part) for part in re.split(r"(?m)^\s*\.\.\.\s*$", shown)]
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        places = range(len(rest) - len(part), -1, -1) if last and number else range(len(rest) + 1) if number else (0,)
        place = next((at for at in places if _same(part, rest[at : at + len(part)], noisy)), None)
        if place is None or (last and len(rest) > place + len(part)):
            return _where(part, rest)
        rest = rest[place + len(part) :]
    return ""


def _words(text: str) -> list[str]:
    """The words of a text, without lines that are drawn."""
    return [word for word in text.split() if not re.fullmatch(r"[─━│┃┏┓┗┛┡┩├┤┌┐└┘┬┴┼╇╈═|+\-]+", word)]


def _same(shown: Sequence[str], printed: Sequence[str], noisy: bool) -> bool:
    if len(shown) != len(printed):
        return False
    if not noisy:
        return list(shown) == list(printed)
    return all(NUMBER.sub("#", a) == NUMBER.sub("#", b) for a, b in zip(shown, printed, strict=True)) and _near(
        " ".join(shown), " ".join(printed)
    )


def _near(shown: str, printed: str) -> bool:
    """Whether every value with a +/- is where it should be."""
    pairs = re.compile(rf"(-?{NUMBER.pattern}) ?(?:\+/-|±) ?({NUMBER.pattern})")
    for (a, reach), (b, other) in zip(pairs.findall(shown), pairs.findall(printed), strict=True):
        width, found = _number(reach), _number(other)
        if abs(_number(a) - _number(b)) > _TIMES * width + 1 or not width / 2 <= found <= width * 2:
            return False
    return True


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _where(shown: Sequence[str], printed: Sequence[str]) -> str:
    return f"shown:   {' '.join(shown)}\nprinted: {' '.join(printed)}"


# -- the walk ------------------------------------------------------------------------------------------------


def end(child: subprocess.Popen[str]) -> None:
    """Let a program that reads its commands from us come to its end."""
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.close()
    child.wait(timeout=30)
    child.stdout.close()


class Shell:
    """A shell that stays open, so that `cd` and `source` last; both of its streams are one, as on a terminal."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.child = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, command: str) -> tuple[int, str]:
        """The exit code, and all that was printed."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        mark = f"--- {os.urandom(8).hex()}"
        self.child.stdin.write(f"{command}\nprintf '\\n{mark} %s\\n' $?\n")
        self.child.stdin.flush()
        lines: list[str] = []
        for line in self.child.stdout:
            if line.startswith(mark):
                return int(line.split()[-1]), "".join(lines).rstrip("\n")
            lines.append(line)
        raise Stumble(f"The shell ended at: {command}")

    def close(self) -> None:
        end(self.child)


class Walk:
    """One page, step by step."""

    def __init__(self, folder: Path, environment: Mapping[str, str], *, installed: bool, writes: bool = False) -> None:
        self.shell = Shell(folder, environment)
        self.environment = environment
        self.installed = installed  # whether tacit is on the path already, so that the steps of the set-up are left out
        self.python: subprocess.Popen[str] | None = None
        self.steps = 0
        self.writes = writes
        self.printed: dict[str, str] = {}  # what is shown, with its command, and what it should be

    def take(self, block: Block) -> None:
        saved = SAVED.match(block.body)
        if saved:
            folder = Path(self.shell.run("pwd")[1])
            (folder / saved[1]).write_text(block.body[saved.end() :], encoding="utf-8")
        elif block.language == "console":
            for command, shown in commands(block):
                self.type(command, shown, block.where)
        elif block.language in ("python", "pycon"):
            self.evaluate(block)

    def type(self, command: str, shown: str, where: str) -> None:
        if self.installed and _SET_UP.match(command):
            return
        code, printed = self.shell.run(command)
        self.steps += 1
        if (code != 0) != command.endswith(REFUSED):
            raise Stumble(f"{where}: $ {command}\nended with code {code}:\n{printed}")
        problem = differs(shown, printed, noisy=NOISY in command) if shown.strip() else ""
        if problem and self.writes and "..." not in shown.splitlines():
            self.printed[f"$ {command}\n{shown}\n"] = f"$ {command}\n{printed}\n"
        elif problem:
            raise Stumble(f"{where}: $ {command}\n{problem}\n\n{printed}")

    def evaluate(self, block: Block) -> None:
        if self.python is None:
            program, folder = self.shell.run("command -v python")[1], self.shell.run("pwd")[1]
            self.python = subprocess.Popen(
                [program, str(Path(__file__).resolve()), "--session"],
                cwd=folder,
                env=dict(self.environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        assert self.python.stdin is not None
        assert self.python.stdout is not None
        self.python.stdin.write(json.dumps([block.body, block.where]) + "\n")
        self.python.stdin.flush()
        problem = json.loads(self.python.stdout.readline() or '"the session ended"')
        self.steps += 1
        if problem:
            raise Stumble(f"{block.where}: {problem}")

    def close(self) -> None:
        self.shell.close()
        if self.python is not None:
            end(self.python)


def walk(
    pages: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    *,
    installed: bool = False,
    writes: bool = False,
) -> int:
    """Follow these pages in this folder; the number of steps taken."""
    total = 0
    for name in pages:
        page = Walk(folder, environment, installed=installed, writes=writes)
        started = time.monotonic()
        try:
            for block in blocks(ROOT / name):
                page.take(block)
        finally:
            page.close()
        if page.printed:
            text = (ROOT / name).read_text(encoding="utf-8")
            for old, new in page.printed.items():
                text = text.replace(old, "\n".join(line.rstrip() for line in new.splitlines()) + "\n")
            (ROOT / name).write_text(text, encoding="utf-8")
        if writes or not installed:
            print(f"{name}: {page.steps} steps ({time.monotonic() - started:.0f} s)", flush=True)  # noqa: T201
        total += page.steps
    return total


def fresh_copy(folder: Path) -> None:
    """The tree as a clone would have it: what version control knows, or without it all but what is made on the way."""
    known = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if known.returncode == 0 and known.stdout:
        for name in filter(None, known.stdout.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        return
    made = shutil.ignore_patterns(".venv*", "__pycache__", ".*_cache", ".hypothesis", "_build", ".git")
    shutil.copytree(ROOT, folder, ignore=made, dirs_exist_ok=True)


def bare(home: Path) -> dict[str, str]:
    """The variables of a new account: this Python is `python3`, and pip may use the files it fetched before."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "LANG", "LC_"))}
    kept |= {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    cache = subprocess.run([sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True)
    if cache.returncode == 0:
        kept["PIP_CACHE_DIR"] = cache.stdout.strip()
    programs = home / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(getattr(sys, "_base_executable", sys.executable))
    return {**kept, "HOME": str(home), "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin", "COLUMNS": "100"}


def with_this_tacit(home: Path) -> dict[str, str]:
    """The variables of an account where the tacit of this very Python is on the path already."""
    programs = home / "bin"
    programs.mkdir(parents=True)
    (programs / "tacit").write_text(f'#!/bin/sh\nexec {sys.executable} -m tacit.doors.cli "$@"\n')
    (programs / "tacit").chmod(0o755)
    (programs / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (programs / "python").chmod(0o755)
    return {**os.environ, "HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin", "COLUMNS": "100"}


def main(arguments: list[str]) -> int:
    if arguments == ["--session"]:
        session()
        return 0
    writes = arguments[:1] == ["--write"]
    pages = (arguments[1:] if writes else arguments) or WALKED
    with tempfile.TemporaryDirectory(prefix="tacit-walk-") as scratch:
        home, copy = Path(scratch) / "home", Path(scratch) / "tacit"
        home.mkdir()
        copy.mkdir()
        try:
            if writes:
                walk(pages, copy, with_this_tacit(home), installed=True, writes=True)
            else:
                fresh_copy(copy)
                walk(pages, copy, bare(home))
        except Stumble as stumble:
            print(stumble, file=sys.stderr)  # noqa: T201
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
