"""`tacit risk`: what an owner should know before a raw table is released."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from tacit.doors.commands.formats import AsJson, Columns, Form, Format, chosen, show
from tacit.doors.commands.terminal import aside, out
from tacit.errors import ParameterError

if TYPE_CHECKING:
    from tacit.audit.risk import Risk

_SHOWN = 15


def risk(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The raw table: CSV or Parquet.")],
    columns: Annotated[str, typer.Option(help="What others may know of a person, e.g. zip,birth,sex.")],
    sensitive: Annotated[
        str | None, typer.Option(help="What nobody should learn, e.g. diagnosis: adds l and t.")
    ] = None,
    person: Annotated[str | None, typer.Option(help="What tells people apart; without it a row is a person.")] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a report with charts.")] = None,
    largest_set: Annotated[int, typer.Option(help="Measure sets of up to so many columns.")] = 4,
    form: Form = Format.TABLE,
    as_json: AsJson = False,
) -> None:
    """Who is unique in a raw table? NOT FOR RELEASE.  tacit risk visits.csv --columns zip,birth,sex --sensitive disease

    Every set of columns gets its share of unique people and k, the size of the smallest class; with a sensitive column
    also l and t. With a report:
    tacit risk visits.csv --columns zip,birth,sex --html risk.html
    """
    from tacit.audit.risk import WARNING
    from tacit.audit.risk import risk as measure
    from tacit.audit.risk_report import html_report

    wanted = chosen(form, as_json=as_json)
    names = [name.strip() for name in columns.split(",") if name.strip()]
    found = measure(file, names, sensitive, person=person, largest_set=largest_set)
    if html is not None:
        _write(html, html_report(found))
        aside().print(f"Wrote {html}, readable by you only.")
    if wanted is not Format.TABLE:
        aside().print(WARNING, style="bold white on red")
    show(wanted, table=lambda: _print(found), content=lambda: _content(found), columns=lambda: _columns(found))


def _print(found: Risk) -> None:
    from tacit.audit.risk import WARNING

    console = out()
    console.print(WARNING, style="bold white on red")
    console.print(_sets(found))
    console.print(_harm(found))
    console.print(str(found.whole))
    console.print(WARNING, style="bold white on red")


def _columns(found: Risk) -> Columns:
    yield "columns", "text", [", ".join(each.columns) for each in found.sets]
    yield "unique", "integer", [each.unique for each in found.sets]
    yield "unique_share", "real", [each.unique_share for each in found.sets]
    yield "fewer_than_5", "integer", [each.at_risk for each in found.sets]
    yield "k", "integer", [each.k for each in found.sets]
    if found.sensitive:
        yield "l", "integer", [each.l for each in found.sets]
        yield "t", "real", [each.t for each in found.sets]


def _write(path: Path, text: str) -> None:
    try:
        # readable by the owner alone from the first byte on, and never over an existing file
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ParameterError(f"{path} exists already, and is left as it is. Name another with --html.") from None
    except OSError as error:
        raise ParameterError(f"{path} cannot be written: {error.strerror}.") from None


def _sets(found: Risk) -> Table:
    table = Table(title=f"Unique people in {found.file}", title_justify="left")
    table.add_column("columns")
    names = ["unique", "share", "fewer than 5", "k", *(["l", "t"] if found.sensitive else [])]
    for name in names:
        table.add_column(name, justify="right")
    for each in found.sets[:_SHOWN]:
        cells = [f"{each.unique:,}", f"{each.unique_share:.1%}", f"{each.at_risk:,}", f"{each.k:,}"]
        cells += [f"{each.l}", f"{each.t:.2f}"] if found.sensitive else []
        table.add_row(", ".join(each.columns), *cells)
    if len(found.sets) > _SHOWN:
        table.caption = f"{len(found.sets) - _SHOWN} safer sets are left out."
    return table


def _harm(found: Risk) -> Table:
    table = Table(title="Which columns do the most harm", title_justify="left")
    table.add_column("column")
    for name in ("adds", "unique without it"):
        table.add_column(name, justify="right")
    for each in found.harm:
        table.add_row(each.column, f"{each.share:.1%}", f"{each.without:.1%}")
    return table


def _content(found: Risk) -> dict[str, object]:
    from dataclasses import asdict

    from tacit.audit.risk import WARNING

    # values as text: JSON has no dates, and no numbers that are not finite
    smallest = [{"values": [str(value) for value in each.values], "size": each.size} for each in found.smallest]
    return {"warning": WARNING, **asdict(found), "smallest": smallest}
