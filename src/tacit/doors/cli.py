"""The command line: `tacit demo | init | check | estimate | ask | explain | ledger`.

Promise: what was asked for goes to standard output (a table, or JSON or CSV to be read by a program), everything else
to standard error. A mistake gives a sentence and no stack trace; a true bug shows its trace, without local variables,
because those may hold exact results. Exit codes: 0 done, 1 refused, 2 wrong usage, 3 the budget does not cover it,
130 interrupted. It works without a terminal.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from typer.core import TyperGroup

from tacit import __version__
from tacit.errors import BudgetExceeded, ParameterError, TacitError

REFUSED: Final = 1
WRONG_USAGE: Final = 2
OUT_OF_BUDGET: Final = 3
INTERRUPTED: Final = 130
ENGINE_INTERRUPTED: Final = "Query interrupted"
"""What DuckDB makes of Ctrl-C while it registers a table."""


def _out() -> Console:
    return Console(highlight=False, markup=False)


def _aside() -> Console:
    return Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def _code(refusal: TacitError) -> int:
    if isinstance(refusal, BudgetExceeded):
        return OUT_OF_BUDGET
    return WRONG_USAGE if isinstance(refusal, ParameterError) else REFUSED


class Door(TyperGroup):
    """All commands. A refusal becomes a red sentence and a code; anything else is a bug and shows itself."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except TacitError as refusal:
            _aside().print(str(refusal), style="red")
            raise typer.Exit(_code(refusal)) from None
        except (KeyboardInterrupt, RuntimeError) as ended:
            if isinstance(ended, RuntimeError) and str(ended) != ENGINE_INTERRUPTED:
                raise
            _aside().print("Interrupted. What was charged stays charged; asking again brings its answer.", style="red")
            raise typer.Exit(INTERRUPTED) from None


class ShowFirst(TyperGroup):
    """`tacit ledger POLICY` stands for `tacit ledger show POLICY`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and not {"--help", *self.commands} & set(args[:1]):
            args = ["show", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=Door,
    name="tacit",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Ask about everyone, learn little about anyone: a differentially private database.",
    epilog="Start with: tacit demo. Then: tacit init visits.csv, fill in the policy, tacit check visits.toml, "
    'tacit ask visits.toml "SELECT count(*) FROM visits".',
)
ledger = typer.Typer(cls=ShowFirst, no_args_is_help=True, rich_markup_mode=None)
app.add_typer(
    ledger,
    name="ledger",
    help="What has been spent, by whom, for what.  tacit ledger clinic.toml",
    epilog="Examples: tacit ledger clinic.toml, tacit ledger verify clinic.toml, "
    "tacit ledger export clinic.toml --format csv.",
)

PolicyFile = Annotated[Path, typer.Argument(metavar="POLICY", help="The policy file (TOML).")]
Sql = Annotated[str, typer.Argument(metavar="SQL", help="The question, in SQL.")]
Epsilon = Annotated[str | None, typer.Option(help="What it may cost, e.g. 0.5. The policy has a default.")]
Delta = Annotated[str, typer.Option(help="Needed to name groups that are not public, e.g. 1e-7.")]
Within = Annotated[str | None, typer.Option(help='How exact instead of how dear: 100, or "5%" with --rows.')]
Rows = Annotated[int | None, typer.Option(help="Your guess of the rows in a cell, for the error of means.")]
RowsPerUnit = Annotated[int | None, typer.Option(help="Use at most this many rows of each unit: less noise.")]
Analyst = Annotated[str, typer.Option(help="Who asks.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="CSV instead of a table.")]


def _print_json(content: object) -> None:
    typer.echo(json.dumps(content, indent=2, default=str, allow_nan=False))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tacit {__version__}")
        raise typer.Exit


@app.callback()
def _tacit(
    version: Annotated[
        bool, typer.Option("--version", help="The version, and nothing else.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    what: Annotated[
        str, typer.Argument(help="clinic (a private database), or mechanisms (small examples).")
    ] = "clinic",
) -> None:
    """See it work on made-up people.  tacit demo"""
    from tacit.doors import examples, show

    shows = {"clinic": show.main, "mechanisms": examples.main}
    if what not in shows:
        raise typer.BadParameter(f"There is no demo {what!r}. Demos: {', '.join(shows)}.")
    shows[what]()


@app.command()
def init(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="CSV, Parquet or DuckDB files.")],
    output: Annotated[Path | None, typer.Option(help="Where to write it; - prints it.")] = None,
) -> None:
    """Write a policy to fill in, from names and types only.  tacit init visits.csv patients.parquet"""
    from tacit.curator import describe_sources

    name = Path(files[0]).name.split(".")[0] or "policy"
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
    _aside().print(f"Wrote {path}. Lines marked FILL IN need your word; then: tacit check {path}")


@app.command()
def check(policy: PolicyFile, as_json: AsJson = False) -> None:
    """Does the policy hold together, and fit its tables?  tacit check clinic.toml"""
    from tacit.curator import check_policy
    from tacit.doors import tables

    checked = check_policy(policy)
    if as_json:
        _print_json(
            {"ok": True, "name": checked.name, "tables": {key: list(t.columns) for key, t in checked.tables.items()}}
        )
        return
    out = _out()
    out.print(tables.policy(checked))
    out.print(f"Budget: epsilon {tables.exact(checked.budget.epsilon)}, delta {tables.exact(checked.budget.delta)}.")
    out.print(f"{policy} is in order.")


@app.command()
def estimate(
    policy: PolicyFile,
    sql: Sql,
    epsilon: Epsilon = None,
    delta: Delta = "0",
    within: Within = None,
    rows: Rows = None,
    rows_per_unit: RowsPerUnit = None,
    as_json: AsJson = False,
) -> None:
    """Cost and error before spending; free.  tacit estimate clinic.toml "SELECT avg(age) FROM visits" --rows 1000"""
    from tacit.doors import tables

    asked = _preview(policy).estimate(sql, epsilon, delta=delta, within=within, rows=rows, rows_per_unit=rows_per_unit)
    cost, chance = asked.plan.epsilon, asked.plan.delta
    assert cost is not None
    if as_json:
        errors = [{"column": e.name, "within_95": e.within_95, "deviation": e.deviation} for e in asked.errors]
        share = None if asked.share is None else float(asked.share)
        _print_json({"epsilon": str(cost), "delta": str(chance), "share": share, "errors": errors})
        return
    out = _out()
    out.print(tables.estimate(asked))
    part = "" if asked.share is None else f", {float(asked.share):.2%} of the whole budget"
    out.print(f"Would cost epsilon {tables.exact(cost)}, delta {tables.exact(chance)}{part}. Nothing was charged.")
    if len(asked.errors) < sum(bool(output.formula.measures) for output in asked.plan.outputs):
        out.print("Other columns depend on how many rows a cell has: say --rows 1000.")


@app.command()
def explain(
    policy: PolicyFile,
    sql: Sql,
    epsilon: Epsilon = None,
    delta: Delta = "0",
    within: Within = None,
    rows: Rows = None,
    rows_per_unit: RowsPerUnit = None,
    why: Annotated[bool, typer.Option("--why", help="Also why it is imprecise, and what would help.")] = False,
    as_json: AsJson = False,
) -> None:
    """How it would be answered, in sentences; free.  tacit explain clinic.toml "SELECT count(*) FROM visits" """
    preview = _preview(policy)
    options = {"delta": delta, "within": within, "rows_per_unit": rows_per_unit}
    plan = preview.plan(sql, epsilon, rows=rows, **options)
    reasons = preview.why(sql, epsilon, rows=1000 if rows is None else rows, **options) if why else ""
    if as_json:
        content = {"sentences": plan.sentences, "query": plan.query.text(), "event": plan.event.to_dict()}
        _print_json({**content, "why": reasons.splitlines()} if why else content)
        return
    _out().print("\n".join([*plan.sentences, "", plan.query.text(pretty=True)]))
    if why:
        _out().print(f"\n{reasons}")


@app.command()
def ask(
    policy: PolicyFile,
    sql: Sql,
    epsilon: Epsilon = None,
    delta: Delta = "0",
    within: Within = None,
    rows: Rows = None,
    rows_per_unit: RowsPerUnit = None,
    analyst: Analyst = "owner",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Ask, and pay.  tacit ask clinic.toml "SELECT sex, avg(age) FROM visits GROUP BY sex" --epsilon 0.5"""
    if as_json and as_csv:
        raise typer.BadParameter("Choose one of --json and --csv.")
    from tacit.curator import open_policy
    from tacit.doors import tables

    options: dict[str, Any] = {"delta": delta, "within": within, "rows": rows, "rows_per_unit": rows_per_unit}
    _preview(policy).plan(sql, epsilon, **options)  # a mistake is told before anything is registered or committed to
    aside = _aside()
    with aside.status("Registering the tables, if they changed..."):
        curator = open_policy(policy.absolute(), analyst=analyst)  # the engine's worker lives in another folder
    with curator:
        answer = curator.ask(sql, epsilon, **options)
        left = str(curator.budget())
    if as_json:
        facts = {"receipt": answer.receipt, "repeated": answer.repeated}
        columns = [{"name": name, "kind": kind} for name, kind in zip(answer.names, answer.kinds, strict=True)]
        _print_json(
            {"columns": columns, "rows": list(answer.rows()), "intervals_95": tables.intervals(answer), **facts}
        )
    elif as_csv:
        typer.echo(answer.to_csv(), nl=False)
    else:
        out = _out()
        out.print(tables.fit(out, tables.answer(answer)))
        out.print(tables.footer(answer))
        aside.print(left, style="dim")


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

    with open_ledger(_read(policy)) as opened:
        entries, spent, committed = opened.entries(analyst), opened.spent(), opened.filter()
    if as_json:
        state = {"unit": committed.unit, "spent": spent.to_dict(), "limit": committed.limit.to_dict()}
        _print_json({**state, "entries": [entry.to_dict() for entry in entries]})
        return
    _out().print(tables.ledger(entries, committed.limit))
    _out().print(str(Standing.of("The dataset", committed, spent)))


@ledger.command("verify")
def verify_ledger(policy: PolicyFile, as_json: AsJson = False) -> None:
    """Is it the history that was sealed?  tacit ledger verify clinic.toml"""
    from tacit.curator import verify_ledger as verify

    report = verify(_read(policy))
    if as_json:
        _print_json({"sound": report.sound, "entries": report.entries, "findings": report.findings})
    elif report.sound:
        _out().print(f"{report.entries} entries, all as they were sealed.")
    else:
        _aside().print("\n".join(report.findings), style="red")
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

    with open_ledger(_read(policy)) as opened:
        typer.echo(opened.export(form, analyst), nl=False)


def _read(path: Path) -> Any:
    from tacit.policy.read import read

    return read(path)


def _preview(path: Path) -> Any:
    from tacit.curator import Preview

    return Preview(_read(path))


def main() -> None:
    """The entry point."""
    app(prog_name="tacit")


if __name__ == "__main__":
    main()
