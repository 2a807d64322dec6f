"""How a result is shown: as a table for people, or as CSV, JSON, Parquet or Markdown; the same on every command.

Promise: `--format` means the same everywhere. JSON holds all that the command knows; CSV, Parquet and Markdown hold its
table, with `_low` and `_high` columns next to every noisy one. Only the result goes to standard output.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from tacit.doors.commands.terminal import print_json


class Format(StrEnum):
    """The forms a result can have."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    MARKDOWN = "markdown"


Form = Annotated[
    Format, typer.Option("--format", metavar="table|csv|json|parquet|markdown", help="How the result is written.")
]
AsJson = Annotated[bool, typer.Option("--json", help="The same as --format json.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="The same as --format csv.")]
Columns = Iterable[tuple[str, str, Sequence[Any]]]


def chosen(form: Format, *, as_json: bool = False, as_csv: bool = False) -> Format:
    """The one form that was asked for."""
    asked = {
        each for each, said in ((form, form != Format.TABLE), (Format.JSON, as_json), (Format.CSV, as_csv)) if said
    }
    if len(asked) > 1:
        raise typer.BadParameter(f"Choose one of {' and '.join(sorted(f'--format {each}' for each in asked))}.")
    return asked.pop() if asked else Format.TABLE


def show(form: Format, *, table: Callable[[], None], content: Callable[[], object], columns: Any) -> None:
    """The result in the form that was asked for. `columns` gives the sheet, or (name, kind, values) of each column."""
    if form is Format.TABLE:
        table()
    elif form is Format.JSON:
        print_json(content())
    else:
        _write(form, columns())


def _write(form: Format, columns: Any) -> None:
    from tacit.answer.exported import Sheet

    sheet = columns if isinstance(columns, Sheet) else Sheet.of(columns)
    if form is Format.CSV:
        typer.echo(sheet.to_csv(), nl=False)
    elif form is Format.MARKDOWN:
        typer.echo(sheet.to_markdown(), nl=False)
    elif sys.stdout.isatty():
        raise typer.BadParameter("Parquet is no text for a terminal. Send it to a file: --format parquet > n.parquet")
    else:
        stream = typer.get_binary_stream("stdout")
        stream.write(sheet.to_parquet())
        stream.flush()
