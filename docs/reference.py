"""The reference pages, written from the programs themselves: every command with its options, every public name.

Promise: nothing on these pages is typed by hand, so nothing on them is out of date. Commands come from the tree that
the command line itself parses with; names come from `__all__` of each room, with their signatures and docstrings.
Run by `python3 go.py docs` with a Python that has tacit. It writes docs/reference/*.md, which version control does not
keep.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import re
import sys
import textwrap
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "reference"

# Rooms whose names are meant for everyone, in the order of the sidebar; a room that is not built is passed over.
ROOMS = (
    "tacit",
    "tacit.curator",
    "tacit.answer",
    "tacit.policy",
    "tacit.statistics",
    "tacit.learning",
    "tacit.local",
    "tacit.synthesis",
    "tacit.streaming",
    "tacit.federated",
    "tacit.audit",
    "tacit.audit.attacks",
    "tacit.audit.zoo",
    "tacit.mechanisms",
    "tacit.loss",
    "tacit.loss.events",
    "tacit.noise",
    "tacit.ledger",
    "tacit.errors",
)


def main() -> int:
    HERE.mkdir(exist_ok=True)
    pages = {"commands.md": commands_page(), "python.md": index_page()}
    pages |= {f"{file_name(room)}.md": room_page(room) for room in rooms()}
    for old in HERE.glob("*.md"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        (HERE / name).write_text(text, encoding="utf-8")
    print(f"{len(pages)} pages in docs/reference")
    return 0


# -- the command line ------------------------------------------------------------------------------


def commands_page() -> str:
    """Every command, group by group, with its usage, its words, its arguments and its options."""
    from typer.main import get_command

    from tacit.doors.cli import app

    parts = [
        "# The command line",
        "Written from the program itself. `tacit COMMAND --help` says the same in a terminal.",
        "The answer goes to standard output, everything else to standard error. Exit codes: 0 done, 1 refused, "
        "2 wrong usage, 3 the budget does not cover it, 130 interrupted.",
    ]
    for path, command in walk_commands("tacit", get_command(app)):
        parts += list(command_section(path, command))
    return "\n\n".join(parts) + "\n"


def walk_commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Each command that may be typed, with all its words; a group comes before its own commands."""
    yield path, command
    for name, child in sorted(getattr(command, "commands", {}).items()):
        if not child.hidden:
            yield from walk_commands(f"{path} {name}", child)


def command_section(path: str, command: Any) -> Iterator[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [
        each for each in command.params if each.param_type_name == "option" and not getattr(each, "hidden", False)
    ]
    yield f"## `{path}`"
    words = [_argument(each) for each in arguments]
    words += ["COMMAND"] if getattr(command, "commands", None) else []
    yield "```text\n" + " ".join([path, *words, *(["[OPTIONS]"] if options else [])]) + "\n```"
    yield help_text(command.help or "")
    rows = [(f"`{_argument(each)}`", getattr(each, "help", "") or "") for each in arguments]
    rows += [(_option(each), _help(each)) for each in options]
    if rows:
        yield table(("argument or option", "meaning"), rows)
    if command.epilog:
        yield escaped(command.epilog)


def help_text(text: str) -> str:
    """The words of `--help`; an example begins with `tacit`, behind two spaces or on a line of its own."""
    parts: list[str] = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        words: list[str] = []
        for line in part.splitlines():
            said, found, example = line.rpartition("  tacit ")
            if line.startswith("tacit "):
                said, found, example = "", line, line.removeprefix("tacit ")
            words += [escaped(said or ("" if found else line))]
            if found:
                parts += ["\n".join(filter(None, words)), f"```sh\ntacit {example}\n```"]
                words = []
        parts.append("\n".join(filter(None, words)))
    return "\n\n".join(filter(None, parts))


def _argument(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return str(name) if argument.required or name.startswith("[") else f"[{name}]"


def _option(option: Any) -> str:
    value = "" if option.is_flag else f" {option.metavar or option.name.upper()}"
    return ", ".join(f"`{each}{value}`" for each in (*option.opts, *option.secondary_opts))


def _help(option: Any) -> str:
    default = option.default
    plain = isinstance(default, (str, int, float)) and not option.is_flag and default != ""
    needed = " **Required.**" if option.required else f" Otherwise `{default}`." if plain else ""
    return (option.help or "") + needed


# -- the names -------------------------------------------------------------------------------------


def rooms() -> list[str]:
    """The rooms above that are there."""
    return [room for room in ROOMS if importlib.util.find_spec(room) is not None]


def file_name(room: str) -> str:
    return "python-" + room.replace(".", "-")


def index_page() -> str:
    """The rooms, each with the first sentence of what it promises."""
    rows = [(f"[`{room}`]({file_name(room)}.md)", first_sentence(inspect.getdoc(_module(room)))) for room in rooms()]
    listed = "\n".join(file_name(room) for room in rooms())
    return (
        "# Python\n\nEvery public name, with its signature and what it says of itself. Written from the source.\n\n"
        f"{table(('room', 'what it is'), rows)}\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    )


def room_page(room: str) -> str:
    """Every name in the room's `__all__`: functions first as they are called, classes with their methods."""
    module = _module(room)
    parts = [f"# `{room}`", prose(inspect.getdoc(module) or "")]
    for name in sorted(public(room), key=str.lower):
        try:
            value = getattr(module, name)
        except ImportError as missing:  # an extra that this Python does not have; go.py's has all
            parts += [f"## `{name}`", escaped(str(missing))]
        else:
            parts += list(name_section(room, name, value))
    return "\n\n".join(part for part in parts if part) + "\n"


def public(room: str) -> list[str]:
    return [name for name in _module(room).__all__ if not name.startswith("__")]


def _module(room: str) -> Any:
    return importlib.import_module(room)


def name_section(room: str, name: str, value: Any) -> Iterator[str]:
    yield f"## `{name}`"
    if inspect.ismodule(value):
        yield (
            f"A room of its own: [`{value.__name__}`]({file_name(value.__name__)}.md)."
            if value.__name__ in rooms()
            else ""
        )
        return
    if not callable(value) or not (inspect.isclass(value) or inspect.isroutine(value)):
        yield f"```text\n{room}.{name}\n```" if inspect.isclass(type(value)) else ""
        return
    yield signature(name, value)
    yield prose(inspect.getdoc(value) or "")
    if inspect.isclass(value):
        members = list(methods(value))
        if members:
            yield "\n\n".join(f"{called}\n: {escaped(said) or '(as its name says)'}" for called, said in members)


def signature(name: str, value: Any) -> str:
    """How it is called, with the options that are common to a family written out."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return ""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    shown = _shown(value, found.parameters.values())
    line = f"{name}({', '.join(shown)})"
    if len(line) > 100:
        line = f"{name}(\n    " + ",\n    ".join(shown) + ",\n)"
    return f"```python\n{line}\n```"


def _shown(function: Any, parameters: Iterable[inspect.Parameter]) -> list[str]:
    """The parameters as one writes them, with the star before those that must be named."""
    shown: list[str] = []
    star = False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not star:
            shown.append("*")
        star = star or each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
        shown += _common(function, each) or [_parameter(each)]
    return shown


def _common(function: Any, parameter: inspect.Parameter) -> list[str]:
    """The options behind `**options: Unpack[Options]`, each as one would write it."""
    found = re.fullmatch(r"(?:typing\.)?Unpack\[(\w+)\]", str(parameter.annotation))
    options = getattr(function, "__globals__", {}).get(found[1]) if found else None
    return [] if options is None else [f"{name}=..." for name in typing.get_type_hints(options)]


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    if parameter.default is parameter.empty:
        return f"{stars}{parameter.name}"
    default = repr(parameter.default)
    return f"{parameter.name}={default if len(default) <= 30 and '<' not in default else '...'}"


def methods(owner: type) -> Iterator[tuple[str, str]]:
    """Public methods and properties that the house wrote, and the fields of a value that have none."""
    own = {}
    for base in reversed(owner.__mro__):
        if base.__module__.startswith("tacit"):
            own |= vars(base)
    fields = {each.name for each in dataclasses.fields(owner)} if dataclasses.is_dataclass(owner) else set()
    for name, member in own.items():
        if name.startswith("_") or name in fields:
            continue
        target = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        if isinstance(target, property):
            yield f"`{name}`", first_paragraph(inspect.getdoc(target))
        elif inspect.isfunction(target):
            yield f"`{name}({_names(target)})`", first_paragraph(inspect.getdoc(target))


def _names(function: Any) -> str:
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name not in ("self", "cls")]
    return ", ".join(_shown(function, parameters))


# -- words -----------------------------------------------------------------------------------------


def first_paragraph(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())


def first_sentence(text: str | None) -> str:
    return re.split(r"(?<=[.:])\s", first_paragraph(text))[0]


def prose(text: str) -> str:
    """A docstring (of `inspect.getdoc`) as Markdown: paragraphs; examples and indented lines stay as they stand."""
    parts = []
    for part in re.split(r"\n\s*\n", text):
        lines = part.splitlines()
        indented = [line for line in lines if line.startswith("    ")]
        if lines and lines[0].startswith(">>> "):
            parts.append("```pycon\n" + part + "\n```")
        elif indented and len(indented) == len(lines):
            parts.append("```text\n" + textwrap.dedent(part) + "\n```")
        elif any(line.startswith(" ") for line in lines) and not lines[0].startswith(("- ", "* ")):
            parts.append("```text\n" + part + "\n```")
        else:
            parts.append("\n".join(escaped(line) for line in lines))
    return "\n\n".join(parts)


def table(head: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    lines = [head, ("---", "---"), *rows]
    return "\n".join(f"| {_cell(first)} | {_cell(second)} |" for first, second in lines)


def _cell(text: str) -> str:
    return escaped(" ".join(text.split())).replace("|", "\\|")


def escaped(line: str) -> str:
    """What Markdown would take for markup stays what it is; words in backticks and links stay as they are written."""
    parts = re.split(r"(`[^`]*`|\*\*Required\.\*\*|\[`[^`]*`\]\([^)]*\))", line)
    return "".join(
        part if place % 2 else re.sub(r"([*_<>$\[\]{}~#\\])", r"\\\1", part) for place, part in enumerate(parts)
    )


if __name__ == "__main__":
    sys.exit(main())
