"""`tacit ledger show | verify | export | resume | adopt`: what was spent, and whether that record is intact."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from tacit.doors.commands.formats import AsJson, Columns, Form, Format, chosen, show
from tacit.doors.commands.terminal import REFUSED, PolicyFile, aside, out, read_policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacit.answer import Standing
    from tacit.ledger import Entry


class ShowFirst(TyperGroup):
    """`tacit ledger POLICY` stands for `tacit ledger show POLICY`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and not {"--help", *self.commands} & set(args[:1]):
            args = ["show", *args]
        return super().parse_args(ctx, args)


ledger = typer.Typer(cls=ShowFirst, no_args_is_help=True, rich_markup_mode=None)


@ledger.command("show")
def show_ledger(
    policy: PolicyFile,
    analyst: Annotated[str | None, typer.Option(help="Only what this analyst asked.")] = None,
    last: Annotated[int, typer.Option(help="How many of the latest answers the table shows; exports have all.")] = 100,
    form: Form = Format.TABLE,
    as_json: AsJson = False,
) -> None:
    """Who asked what, when, at which price, and how the budget stands.  tacit ledger clinic.toml"""
    from tacit.answer import Standing
    from tacit.answer.standing import charges_of
    from tacit.curator import open_ledger

    wanted = chosen(form, as_json=as_json)
    with open_ledger(read_policy(policy)) as opened:
        everything, spent, committed = opened.entries(), opened.spent(), opened.filter()
        entries = everything if analyst is None else opened.entries(analyst)
        failures = opened.failures(analyst)
    standing = Standing.of("The dataset", committed, spent, charges_of(everything))

    def content() -> dict[str, Any]:
        state: dict[str, Any] = {"unit": committed.unit, "spent": spent.to_dict(), "limit": committed.limit.to_dict()}
        state |= {"answers": standing.answers, "worth_epsilon": float(standing.worth), "more": standing.more}
        state |= {"budget": committed.budget.to_dict(), "sentence": str(standing)}
        state |= {"stopped_by": [entry.sequence for entry in failures]}
        return {**state, "entries": [entry.to_dict() for entry in entries]}

    show(
        wanted,
        table=lambda: _print_ledger(entries, standing, failures, policy, max(last, 0)),
        content=content,
        columns=lambda: _columns(entries),
    )


def _print_ledger(
    entries: Sequence[Entry], standing: Standing, failures: Sequence[Entry], policy: Path, last: int
) -> None:
    from tacit.answer.standing import charges_of
    from tacit.doors import tables

    earlier = len(charges_of(entries)) - last
    if earlier > 0:
        out().print(f"{earlier:,} earlier ones are not shown: tacit ledger {policy} --last {earlier + last}")
    out().print(tables.ledger(entries, last))
    out().print(str(standing))
    numbers = {entry.sequence: number for number, entry in enumerate(charges_of(entries), start=1)}
    for entry in failures:
        aside().print(
            f"Failed: no. {numbers.get(entry.details['charge'], '?')}, asked by {entry.analyst}, who pays for nothing "
            f"new until you looked. Then: tacit ledger resume {policy}",
            style="red",
        )


def _columns(entries: Sequence[Entry]) -> Columns:
    from tacit.answer.standing import charges_of
    from tacit.doors.readable import in_words

    charges = charges_of(entries)
    prices = [each.asked for each in charges]
    yield "number", "integer", range(1, len(charges) + 1)
    yield "when", "text", [each.when for each in charges]
    yield "analyst", "text", [each.analyst for each in charges]
    yield "epsilon", "real", [None if p is None or p.epsilon is None else float(p.epsilon) for p in prices]
    yield "rho", "real", [None if p is None or p.rho is None else float(p.rho) for p in prices]
    yield "delta", "real", [None if p is None else float(p.delta) for p in prices]
    yield "question", "text", [in_words(each.question or "") for each in charges]


@ledger.command("verify")
def verify_ledger(policy: PolicyFile, form: Form = Format.TABLE, as_json: AsJson = False) -> None:
    """Is it the history that was sealed?  tacit ledger verify clinic.toml"""
    from tacit.curator import verify_ledger as verify

    wanted = chosen(form, as_json=as_json)
    report = verify(read_policy(policy))

    def table() -> None:
        if report.sound:
            out().print(f"{report.entries} entries, all as they were sealed.")
        else:
            aside().print("\n".join(report.findings), style="red")

    show(
        wanted,
        table=table,
        content=lambda: {"sound": report.sound, "entries": report.entries, "findings": report.findings},
        columns=lambda: [("finding", "text", list(report.findings))],
    )
    if not report.sound:
        raise typer.Exit(REFUSED)


@ledger.command("export")
def export_ledger(
    policy: PolicyFile,
    form: Form = Format.JSON,
    analyst: Annotated[str | None, typer.Option(help="Only what this analyst asked.")] = None,
) -> None:
    """Every entry, for other programs.  tacit ledger export clinic.toml --format csv > spent.csv

    JSON is complete: the chain of entries can be checked from it. Entries have the ledger's own numbers here.
    """
    from tacit.curator import open_ledger
    from tacit.doors import tables

    with open_ledger(read_policy(policy)) as opened:
        if form in (Format.JSON, Format.CSV):
            typer.echo(opened.export(str(form), analyst), nl=False)
            return
        entries = opened.entries(analyst)
    fields = ("sequence", "kind", "when", "analyst", "key", "question", "event", "cost", "content", "previous", "hash")
    columns = [
        (name, "integer" if name == "sequence" else "text", [_field(each, name) for each in entries]) for name in fields
    ]

    def table() -> None:
        shown = tables.table(*fields[:5], texts=(1, 2, 3, 4))
        for each in entries:
            shown.add_row(*(tables.plain(getattr(each, name) or "") for name in fields[:5]))
        console = out()
        console.print(tables.fit(console, shown))

    show(form, table=table, content=dict, columns=lambda: columns)


def _field(entry: Entry, name: str) -> Any:
    import json

    value = getattr(entry, name)
    return json.dumps(value.to_dict(), sort_keys=True) if name in ("event", "cost") and value is not None else value


@ledger.command("resume")
def resume_ledger(
    policy: PolicyFile,
    analyst: Annotated[str | None, typer.Option(help="Only this analyst; without it, everyone.")] = None,
    entry: Annotated[int | None, typer.Option(help="The last failure that you looked at; none may be newer.")] = None,
) -> None:
    """Your word, as the owner, that you looked at what failed; recorded.  tacit ledger resume clinic.toml"""
    from tacit.curator import resume_ledger as resume

    cut_off, resumed = resume(read_policy(policy), analyst, entry)
    for charge in cut_off:
        aside().print(f"Entry {charge.sequence}, asked by {charge.analyst}, was cut off: it is stored as failed.")
    for each in resumed:
        aside().print(
            f"Recorded as entry {each.sequence}: you looked at what failed for {each.analyst}, "
            f"entry {each.details['failed']}."
        )
    if not resumed:
        aside().print("Nobody is stopped.")


@ledger.command("adopt")
def adopt_ledger(
    policy: PolicyFile,
    moved_from: Annotated[Path | None, typer.Option(help="Where the ledger lay before you moved it.")] = None,
    head_lost: Annotated[
        bool, typer.Option("--head-lost", help="Its head is gone for good, and you vouch that no entry is missing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask me to confirm.")] = False,
) -> None:
    """Your word, as the owner, that this is the ledger; recorded.  tacit ledger adopt clinic.toml --head-lost"""
    from tacit.curator import adopt_ledger as adopt

    if head_lost:
        warning = (
            "Without its head nobody can tell whether the ledger is complete. If it is an older copy, what was spent "
            "since will be spent again, and the people in the data lose the protection they were promised."
        )
    else:
        warning = "If another copy of this ledger is still in use, the budget is spent twice."
    aside().print(warning, style="bold red")
    if not yes and not typer.confirm("Do you vouch for this ledger?", err=True):
        raise typer.Exit(REFUSED)
    with adopt(read_policy(policy), moved_from=moved_from, head_lost=head_lost) as adopted:
        last = adopted.entries()[-1]
    aside().print(f"Recorded as entry {last.sequence} ({last.kind}), for ever: {last.content}")
