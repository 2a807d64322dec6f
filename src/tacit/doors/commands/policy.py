"""`tacit init | check`: a policy to begin with, and the check that one is consistent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.doors.commands.check_data import show_data
from tacit.doors.commands.formats import AsJson, Columns, Form, Format, chosen, show
from tacit.doors.commands.terminal import PolicyFile, aside, out
from tacit.errors import ParameterError

if TYPE_CHECKING:
    from tacit.policy import Policy


def init(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="CSV, JSON lines, Parquet or DuckDB files; 'postgres:$NAME'; 'local[4]' and files.",
        ),
    ],
    output: Annotated[Path | None, typer.Option(help="Where to write it; - prints it.")] = None,
) -> None:
    """Write a policy to fill in, from names and types.  tacit init visits.csv patients.parquet"""
    from tacit.curator import describe_sources, suggested_name

    name = suggested_name(files)
    path = Path(f"{name}.toml") if output is None else output
    if str(path) == "-":
        typer.echo(describe_sources(files, name=name), nl=False)
        return
    text = describe_sources(files, name=name, directory=str(path.parent))
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ParameterError(f"{path} exists already, and is left as it is. Name another with --output.") from None
    except OSError as error:
        raise ParameterError(f"{path} cannot be written: {error.strerror}.") from None
    aside().print(f"Wrote {path}. Lines marked FILL IN need your word; then: tacit check {path}")


def check(
    policy: PolicyFile,
    data: Annotated[bool, typer.Option("--data", help="Also read the rows: what is unreadable, clamped, cut.")] = False,
    form: Form = Format.TABLE,
    as_json: AsJson = False,
) -> None:
    """Does the policy hold together, and fit its tables?  tacit check clinic.toml

    With --data the rows are read as well, and the owner is told what becomes of them. NOT FOR RELEASE:
    tacit check clinic.toml --data
    """
    from tacit.curator import check_policy

    wanted = chosen(form, as_json=as_json)
    if data:
        show_data(policy, wanted)
        return
    checked = check_policy(policy)
    show(
        wanted,
        table=lambda: _print_policy(policy, checked),
        content=lambda: {
            "ok": True,
            "name": checked.name,
            "tables": {key: list(table.columns) for key, table in checked.tables.items()},
            "without_columns": _bare(checked),
        },
        columns=lambda: _columns(checked),
    )


def _bare(checked: Policy) -> list[str]:
    """The tables in which only rows and units can be counted."""
    return [name for name, table in checked.tables.items() if not table.columns]


def _columns(checked: Policy) -> Columns:
    listed = [(name, column) for name, table in checked.tables.items() for column in table.columns.values()]
    yield "table", "text", [name for name, _ in listed]
    yield "column", "text", [column.name for _, column in listed]
    yield "type", "text", [column.kind for _, column in listed]


def _print_policy(path: Path, checked: Policy) -> None:
    from tacit.doors import tables

    console = out()
    console.print(tables.policy(checked))
    console.print(f"Budget: {checked.budget}.")
    if checked.working_copy == "query" and any(t.source.format == "postgres" for t in checked.tables.values()):
        console.print(
            'Without a working copy ("query") every question bounds contributions by itself: several times the work of '
            "the plain query. Name a schema in working_copy to do it once."
        )
    if checked.ledger is None:
        console.print(
            "No ledger is named: what is spent would be forgotten when a command ends, so commands that spend refuse "
            f'this policy. Add at the top: ledger = "{path.stem}.ledger"'
        )
    for name in _bare(checked):
        console.print(
            f"Table {name!r} describes no column, so only its rows and units can be counted. List those that may be "
            f'asked about under [tables.{name}.columns], such as: age = {{ type = "integer", between = [0, 110] }}',
            markup=False,
        )
    console.print(f"{path} is in order{', but says nothing about columns yet' if _bare(checked) else ''}.")
