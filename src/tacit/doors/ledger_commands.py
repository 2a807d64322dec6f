"""`tacit ledger show | verify | export | resume | adopt`: what was spent, and is that record what it was?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tacit.doors.common import REFUSED, AsJson, PolicyFile, aside, out, print_json, read_policy


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
    as_json: AsJson = False,
) -> None:
    """Who asked what, when, and what it cost.  tacit ledger clinic.toml"""
    from tacit.answer import Standing
    from tacit.curator import open_ledger
    from tacit.doors import tables

    with open_ledger(read_policy(policy)) as opened:
        entries, spent, committed = opened.entries(analyst), opened.spent(), opened.filter()
        failures = opened.failures(analyst)
    if as_json:
        state: dict[str, Any] = {"unit": committed.unit, "spent": spent.to_dict(), "limit": committed.limit.to_dict()}
        state |= {"stopped_by": [entry.sequence for entry in failures]}
        print_json({**state, "entries": [entry.to_dict() for entry in entries]})
        return
    out().print(tables.ledger(entries, committed.limit))
    out().print(str(Standing.of("The dataset", committed, spent)))
    for entry in failures:
        aside().print(
            f"Failed: entry {entry.sequence}, asked by {entry.analyst}, who pays for nothing new until you looked. "
            "Then: tacit ledger resume POLICY.",
            style="red",
        )


@ledger.command("verify")
def verify_ledger(policy: PolicyFile, as_json: AsJson = False) -> None:
    """Is it the history that was sealed?  tacit ledger verify clinic.toml"""
    from tacit.curator import verify_ledger as verify

    report = verify(read_policy(policy))
    if as_json:
        print_json({"sound": report.sound, "entries": report.entries, "findings": report.findings})
    elif report.sound:
        out().print(f"{report.entries} entries, all as they were sealed.")
    else:
        aside().print("\n".join(report.findings), style="red")
    if not report.sound:
        raise typer.Exit(REFUSED)


@ledger.command("export")
def export_ledger(
    policy: PolicyFile,
    form: Annotated[str, typer.Option("--format", help="json (complete: the chain can be checked) or csv.")] = "json",
    analyst: Annotated[str | None, typer.Option(help="Only what this analyst asked.")] = None,
) -> None:
    """Every entry, for other programs.  tacit ledger export clinic.toml --format csv > spent.csv"""
    from tacit.curator import open_ledger

    with open_ledger(read_policy(policy)) as opened:
        typer.echo(opened.export(form, analyst), nl=False)


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
