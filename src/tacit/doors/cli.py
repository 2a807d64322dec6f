"""The command line: `tacit demo | init | check | refresh | estimate | ask | explain | publish | ledger | ...`.

Promise: what was asked for goes to standard output (a table, or JSON or CSV to be read by a program), everything else
to standard error. A mistake gives a sentence and no stack trace; a true bug shows its trace, without local variables,
because those may hold exact results. Exit codes: 0 done, 1 refused, 2 wrong usage, 3 the budget does not cover it,
130 interrupted. It works without a terminal.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from tacit import __version__
from tacit.doors.audit_commands import audit
from tacit.doors.common import REFUSED, AsJson, PolicyFile, aside, out, print_json, read_policy
from tacit.doors.data_commands import show_data
from tacit.doors.demo_command import demo
from tacit.doors.ledger_commands import ledger
from tacit.doors.publish_commands import publish
from tacit.doors.refresh_command import refresh
from tacit.doors.risk_commands import risk
from tacit.errors import BudgetExceeded, ParameterError, TacitError

WRONG_USAGE: Final = 2
OUT_OF_BUDGET: Final = 3
INTERRUPTED: Final = 130


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
            aside().print(str(refusal), style="red")
            raise typer.Exit(_code(refusal)) from None
        except KeyboardInterrupt:
            aside().print("Interrupted. What was charged stays charged, and is not drawn again.", style="red")
            raise typer.Exit(INTERRUPTED) from None


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
app.add_typer(
    ledger,
    name="ledger",
    help="What has been spent, by whom, for what.  tacit ledger clinic.toml",
    epilog="Examples: tacit ledger clinic.toml, tacit ledger verify clinic.toml, "
    "tacit ledger export clinic.toml --format csv, tacit ledger resume clinic.toml --analyst ana, "
    "tacit ledger adopt clinic.toml --moved-from old/spent.ledger.",
)
app.add_typer(
    audit,
    name="audit",
    help="Does it keep its word? Measured on made-up rows, signed.  tacit audit clinic.toml",
    epilog="Examples: tacit audit clinic.toml --output audit.json --key auditor.pem, tacit audit check audit.json.",
)
app.command()(demo)
app.command()(publish)
app.command()(refresh)
app.command()(risk)

Sql = Annotated[str, typer.Argument(metavar="SQL", help="The question, in SQL.")]
Epsilon = Annotated[str | None, typer.Option(help="What it may cost, e.g. 0.5. The policy has a default.")]
Delta = Annotated[
    str | None, typer.Option(help="Needed to name groups that are not public, and beside --rho, e.g. 1e-7.")
]
Rho = Annotated[
    str | None, typer.Option(help="What it may cost in zCDP instead, with a delta: --rho 0.01 --delta 1e-7.")
]
Weights = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=WEIGHT", help="A column that deserves more of the budget: --weights n=2. May be given again."
    ),
]
Within = Annotated[str | None, typer.Option(help='How exact instead of how dear: 100, or "5%" with --rows.')]
Rows = Annotated[int | None, typer.Option(help="Your guess of the rows in a cell, for the error of means.")]
RowsPerUnit = Annotated[int | None, typer.Option(help="Use at most this many rows of each unit: less noise.")]
GroupsPerUnit = Annotated[int | None, typer.Option(help="Use at most this many groups of each unit.")]
Analyst = Annotated[str, typer.Option(help="Who asks.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="CSV instead of a table.")]


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


@app.command()
def check(
    policy: PolicyFile,
    data: Annotated[bool, typer.Option("--data", help="Also read the rows: what is unreadable, clamped, cut.")] = False,
    as_json: AsJson = False,
) -> None:
    """Does the policy hold together, and fit its tables?  tacit check clinic.toml

    With --data the rows are read as well, and the owner is told what becomes of them. NOT FOR RELEASE:
    tacit check clinic.toml --data
    """
    from tacit.curator import check_policy
    from tacit.doors import tables

    if data:
        show_data(policy, as_json)
        return
    checked = check_policy(policy)
    if as_json:
        print_json(
            {"ok": True, "name": checked.name, "tables": {key: list(t.columns) for key, t in checked.tables.items()}}
        )
        return
    console = out()
    console.print(tables.policy(checked))
    console.print(
        f"Budget: epsilon {tables.exact(checked.budget.epsilon)}, delta {tables.exact(checked.budget.delta)}."
    )
    if checked.working_copy == "query" and any(t.source.format == "postgres" for t in checked.tables.values()):
        console.print(
            'Without a working copy ("query") every question bounds contributions by itself: several times the work of '
            "the plain query. Name a schema in working_copy to do it once."
        )
    console.print(f"{policy} is in order.")


@app.command()
def estimate(
    policy: PolicyFile,
    sql: Sql,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    within: Within = None,
    rows: Rows = None,
    weights: Weights = None,
    rows_per_unit: RowsPerUnit = None,
    groups_per_unit: GroupsPerUnit = None,
    as_json: AsJson = False,
) -> None:
    """Cost and error before spending; free.  tacit estimate clinic.toml "SELECT avg(age) FROM visits" --rows 1000"""
    from tacit.doors import tables

    asked = _planner(policy).estimate(
        sql, rows=rows, **_asked(epsilon, delta, rho, within, weights, rows_per_unit, groups_per_unit)
    )
    cost, chance = asked.epsilon, asked.plan.delta
    if as_json:
        errors = [
            {"column": e.name, "within_95": e.within_95, "at_most_95": e.at_most_95, "deviation": e.deviation}
            for e in asked.errors
        ]
        share = None if asked.share is None else float(asked.share)
        notes = list(asked.plan.notes)
        print_json({"epsilon": str(cost), "delta": str(chance), "share": share, "errors": errors, "notes": notes})
        return
    console = out()
    console.print(tables.estimate(asked))
    part = "" if asked.share is None else f", {float(asked.share):.2%} of the whole budget"
    console.print(f"Would cost epsilon {tables.exact(cost)}, delta {tables.exact(chance)}{part}. Nothing was charged.")
    if len(asked.errors) < sum(bool(output.formula.measures) for output in asked.plan.outputs):
        console.print("Other columns depend on how many rows a cell has: say --rows 1000.")
    for note in asked.plan.notes:
        console.print(f"{tables.plain(note)}.", markup=False)


@app.command()
def explain(
    policy: PolicyFile,
    sql: Sql,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    within: Within = None,
    rows: Rows = None,
    weights: Weights = None,
    rows_per_unit: RowsPerUnit = None,
    groups_per_unit: GroupsPerUnit = None,
    why: Annotated[bool, typer.Option("--why", help="Also why it is imprecise, and what would help.")] = False,
    as_json: AsJson = False,
) -> None:
    """How it would be answered, in sentences; free.  tacit explain clinic.toml "SELECT count(*) FROM visits" """
    planner, options = _planner(policy), _asked(epsilon, delta, rho, within, weights, rows_per_unit, groups_per_unit)
    plan = planner.planned(sql, rows=rows, **options)
    reasons = planner.why(sql, rows=1000 if rows is None else rows, **options) if why else ""
    if as_json:
        query = ";\n".join(each.text() for each in plan.queries)
        content = {"sentences": plan.sentences, "query": query, "event": plan.event.to_dict()}
        print_json({**content, "why": reasons.splitlines()} if why else content)
        return
    out().print("\n".join([*plan.sentences, *(f"\n{query.text(pretty=True)}" for query in plan.queries)]))
    if why:
        out().print(f"\n{reasons}")


@app.command()
def ask(
    policy: PolicyFile,
    sql: Sql,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    within: Within = None,
    rows: Rows = None,
    weights: Weights = None,
    rows_per_unit: RowsPerUnit = None,
    groups_per_unit: GroupsPerUnit = None,
    analyst: Analyst = "owner",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Ask, and pay.  tacit ask clinic.toml "SELECT sex, avg(age) FROM visits GROUP BY sex" --epsilon 0.5

    As a zCDP budget, with a column that matters more than the others:
    tacit ask clinic.toml "SELECT count(*) AS n, sum(age) AS s FROM visits" --rho 0.01 --delta 1e-7 --weights n=2
    """
    if as_json and as_csv:
        raise typer.BadParameter("Choose one of --json and --csv.")
    from tacit.answer.nested import plain
    from tacit.curator import open_policy
    from tacit.doors import tables
    from tacit.doors.registering import registering

    options = {"rows": rows, **_asked(epsilon, delta, rho, within, weights, rows_per_unit, groups_per_unit)}
    _planner(policy).planned(sql, **options)  # a mistake is told before anything is registered or committed to
    beside = aside()
    with registering(beside) as progress:
        # the engine's worker lives in another folder, so the path is made absolute
        curator = open_policy(policy.absolute(), analyst=analyst, progress=progress)
    with curator:
        answer = curator.ask(sql, **options)
        left = str(curator.budget())
    if as_json:
        facts = {"receipt": answer.receipt, "repeated": answer.repeated}
        columns = [{"name": name, "kind": kind} for name, kind in zip(answer.names, answer.kinds, strict=True)]
        rows_of = [list(map(plain, row)) for row in answer.rows()]
        around = [None if each is None else list(map(plain, each)) for each in tables.intervals(answer)]
        print_json({"columns": columns, "rows": rows_of, "intervals_95": around, **facts})
    elif as_csv:
        typer.echo(answer.to_csv(), nl=False)
    else:
        console = out()
        console.print(tables.fit(console, tables.answer(answer)))
        console.print(tables.footer(answer))
        beside.print(left, style="dim")


@app.command()
def suggest(
    policy: PolicyFile,
    column: Annotated[str, typer.Argument(metavar="TABLE.COLUMN", help="A column of numbers, such as visits.charge.")],
    epsilon: Epsilon = None,
    rows_per_unit: RowsPerUnit = None,
    analyst: Analyst = "owner",
    as_json: AsJson = False,
) -> None:
    """Buy bounds for a column that has none (between = "auto").  tacit suggest clinic.toml visits.charge --epsilon 0.1

    Prints the line to put into the policy. It costs epsilon once; the same again is free.
    """
    from tacit.curator import open_policy
    from tacit.curator.suggest import question_for
    from tacit.doors.registering import registering

    planner = _planner(policy)
    planner.plan(question_for(planner.policy, column)[0], epsilon, rows_per_unit=rows_per_unit)
    beside = aside()
    with registering(beside) as progress:
        curator = open_policy(policy.absolute(), analyst=analyst, progress=progress)
    with curator:
        found = curator.suggest(column, epsilon, rows_per_unit=rows_per_unit)
        left = str(curator.budget())
    paid = {"epsilon": str(found.epsilon), "repeated": found.repeated}
    if as_json:
        print_json({"lower": found.lower, "upper": found.upper, "line": found.line, "sureness": found.sureness, **paid})
        return
    if found.line is not None:
        typer.echo(found.line)
    beside.print(found.sureness)
    beside.print(
        "Paid before: nothing was charged." if found.repeated else f"Cost epsilon {found.epsilon}.", style="dim"
    )
    beside.print(left, style="dim")


def _asked(
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    within: str | None,
    weights: list[str] | None,
    rows_per_unit: int | None,
    groups_per_unit: int | None,
) -> dict[str, Any]:
    """What a planner or a curator is told beside the question."""
    by_name: dict[str, str] = {}
    for each in weights or ():
        name, found, weight = each.rpartition("=")
        if not found or name in by_name:
            raise typer.BadParameter(f"--weights wants NAME=WEIGHT, each name once, such as n=2. Got {each!r}.")
        by_name[name] = weight
    costs = {"epsilon": epsilon, "delta": delta, "rho": rho, "within": within}
    return {**costs, "weights": by_name or None, "rows_per_unit": rows_per_unit, "groups_per_unit": groups_per_unit}


def _planner(path: Path) -> Any:
    from tacit.curator import Planner

    return Planner(read_policy(path))


def main() -> None:
    """The entry point."""
    app(prog_name="tacit")


if __name__ == "__main__":
    main()
