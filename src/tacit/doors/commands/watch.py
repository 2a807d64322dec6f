"""`tacit watch`: a question over a table that grows in time, answered period by period and paid for once."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any

import typer
from rich.text import Text

from tacit.doors.commands.formats import AsCsv, AsJson, Form, Format, chosen, show
from tacit.doors.commands.learning import price_of
from tacit.doors.commands.opening import opened
from tacit.doors.commands.prices import Analyst, Delta, Epsilon
from tacit.doors.commands.terminal import PolicyFile, aside, out

Moment = str | None


def watch(
    policy: PolicyFile,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="Counts, sums or means by keys that the policy lists.")],
    every: Annotated[str, typer.Option(help='How long a period is: "1 day", "2 weeks", "6 hours".')],
    since: Annotated[Moment, typer.Option(help="When the first period begins, e.g. 2026-01-01.")] = None,
    until: Annotated[Moment, typer.Option(help="When the last period ends.")] = None,
    time: Annotated[str | None, typer.Option(help="The column of times, where there are several.")] = None,
    wait: Annotated[str | None, typer.Option(help="How long after its end a period is counted, for late rows.")] = None,
    now: Annotated[Moment, typer.Option(help="Count the periods that are over by then; the clock if left out.")] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    analyst: Analyst = "owner",
    form: Form = Format.TABLE,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Totals of a growing table after every period.  tacit watch c.toml "SELECT ..." --every "1 day" --epsilon 1

    Charged once, for all periods, before a row is read. Each run counts the periods that are over by now, and tells all
    that were counted so far: the same numbers for ever. Run it again tomorrow. Example:

    tacit watch clinic.toml "SELECT ward, count(*) AS n FROM visits GROUP BY ward" --every "1 day" --delta 1e-6
    """
    wanted = chosen(form, as_json=as_json, as_csv=as_csv)
    price = price_of(policy, epsilon)
    beside = aside()
    with opened(policy, analyst, beside) as curator:
        found = curator.watch(sql, price, delta=delta or 0, every=every, since=since, until=until, time=time, wait=wait)
        try:
            periods = found.catch_up(now)
            said = f"{found.counted} of {found.periods} periods counted. {curator.budget()}"
        finally:
            found.close()
    rows = [
        (period, key, total, new, within)
        for period in periods
        for key, total, new, within in zip(period.keys, period.totals, period.new, period.within_95, strict=True)
    ]
    names = periods[0].names if periods else ()
    show(
        wanted,
        table=lambda: _table(rows, names),
        content=lambda: {
            "periods": [
                {
                    "number": each.number,
                    "start": each.start.isoformat(),
                    "end": each.end.isoformat(),
                    "keys": each.keys,
                    "names": each.names,
                    "totals": each.totals,
                    "new": each.new,
                    "within_95": each.within_95,
                }
                for each in periods
            ]
        },
        columns=lambda: _columns(rows, names),
    )
    if wanted is Format.TABLE:
        beside.print(said)


def _columns(rows: list[Any], names: tuple[str, ...]) -> list[tuple[str, str, list[Any]]]:
    """Keys as one text, and for each output its total, the ends of its interval, and what is new."""
    columns: list[tuple[str, str, list[Any]]] = [
        ("start", "text", [period.start.isoformat() for period, *_ in rows]),
        ("key", "text", [" / ".join(map(str, key)) for _, key, *_ in rows]),
    ]
    for place, name in enumerate(names):
        totals, reach = [row[2][place] for row in rows], [row[4][place] for row in rows]
        ends = [
            [None if total is None else total + sign * far for total, far in zip(totals, reach, strict=True)]
            for sign in (-1, 1)
        ]
        columns += [
            (name, "real", totals),
            (f"{name}_low", "real", ends[0]),
            (f"{name}_high", "real", ends[1]),
            (f"{name}_new", "real", [row[3][place] for row in rows]),
        ]
    return columns


def _table(rows: list[Any], names: tuple[str, ...]) -> None:
    if not rows:
        typer.echo("No period is over yet.")
        return
    from tacit.doors.tables import plain, table  # loads the planner

    days = all(period.start.time() == dt.time() for period, *_ in rows)
    headings = [heading for name in names for heading in (name, "+/-", "new")]
    shown = table("from", "group", *headings, texts=(0, 1))
    for period, key, total, new, within in rows:
        cells = [cell for place in range(len(names)) for cell in map(_plain, (total[place], within[place], new[place]))]
        start = period.start.date().isoformat() if days else period.start.isoformat(sep=" ")
        shown.add_row(start, Text(plain(" / ".join(map(str, key)) or "all")), *cells)
    out().print(shown)


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"
