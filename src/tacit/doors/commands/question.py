"""`tacit estimate | explain | ask | suggest`: what a question would cost and how it works, free; and its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.commands.formats import AsCsv, AsJson, Columns, Form, Format, chosen, show
from tacit.doors.commands.prices import (
    Analyst,
    Delta,
    Epsilon,
    GroupsPerUnit,
    Rho,
    Rows,
    RowsPerUnit,
    Weights,
    Within,
    asked,
    planner_of,
)
from tacit.doors.commands.terminal import PolicyFile, aside, out
from tacit.doors.contents import answer_content, estimate_content, plan_content

if TYPE_CHECKING:
    from tacit.answer import Answer, Estimate
    from tacit.curator.suggest import Suggestion
    from tacit.plan import Plan, UnitedPlan

Sql = Annotated[str, typer.Argument(metavar="SQL", help="The question, in SQL.")]


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
    form: Form = Format.TABLE,
    as_json: AsJson = False,
) -> None:
    """Cost and error before spending; free.  tacit estimate clinic.toml "SELECT avg(age) FROM visits" --rows 1000"""
    wanted = chosen(form, as_json=as_json)
    found = planner_of(policy).estimate(
        sql, rows=rows, **asked(epsilon, delta, rho, within, weights, rows_per_unit, groups_per_unit)
    )
    show(
        wanted,
        table=lambda: _print_estimate(found),
        content=lambda: estimate_content(found),
        columns=lambda: _estimate_columns(found),
    )


def _estimate_columns(found: Estimate) -> Columns:
    errors = [*found.errors, *found.for_example]
    yield "column", "text", [each.name for each in errors]
    yield "rows", "integer", [each.rows for each in errors]
    yield "within_95", "real", [each.within_95 for each in errors]
    yield "at_most_95", "real", [each.at_most_95 for each in errors]
    yield "deviation", "real", [each.deviation for each in errors]
    yield "epsilon", "real", [float(found.epsilon) for _ in errors]
    yield "delta", "real", [float(found.plan.delta) for _ in errors]


def _print_estimate(found: Estimate) -> None:
    from tacit.doors import tables

    console = out()
    if found.errors:
        console.print(tables.estimate(found.errors))
    for line in (*found.picked, *found.depending):
        console.print(line, markup=False)
    if found.depending:
        console.print("For another number of rows: --rows N.")
    console.print(f"{found.cost} Nothing was charged.")
    for note in found.plan.notes:
        console.print(f"{tables.plain(note)}.", markup=False)


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
    form: Form = Format.TABLE,
    as_json: AsJson = False,
) -> None:
    """How it would be answered, in sentences; free.  tacit explain clinic.toml "SELECT count(*) FROM visits" """
    wanted = chosen(form, as_json=as_json)
    planner, options = planner_of(policy), asked(epsilon, delta, rho, within, weights, rows_per_unit, groups_per_unit)
    plan = planner.planned(sql, rows=rows, **options)
    reasons = planner.why(sql, rows=1000 if rows is None else rows, **options) if why else ""
    show(
        wanted,
        table=lambda: _print_plan(plan, reasons),
        content=lambda: plan_content(plan, reasons),
        columns=lambda: _plan_columns(plan, reasons),
    )


def _print_plan(plan: Plan | UnitedPlan, reasons: str) -> None:
    out().print("\n".join([*plan.sentences, *(f"\n{query.text(pretty=True)}" for query in plan.queries)]))
    if reasons:
        out().print(f"\n{reasons}")


def _plan_columns(plan: Plan | UnitedPlan, reasons: str) -> Columns:
    parts = [("step", each) for each in plan.sentences]
    parts += [("query", each.text()) for each in plan.queries]
    parts += [("why", each.strip()) for each in reasons.splitlines()]
    yield "part", "text", [part for part, _ in parts]
    yield "text", "text", [text for _, text in parts]


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
    form: Form = Format.TABLE,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Ask, and pay.  tacit ask clinic.toml "SELECT sex, avg(age) FROM visits GROUP BY sex" --epsilon 0.5

    As a zCDP budget, with a column that matters more than the others:
    tacit ask clinic.toml "SELECT count(*) AS n, sum(age) AS s FROM visits" --rho 0.01 --delta 1e-7 --weights n=2
    """
    wanted = chosen(form, as_json=as_json, as_csv=as_csv)
    from tacit.doors.commands.registering import registering
    from tacit.doors.lasting import open_lasting

    options = {"rows": rows, **asked(epsilon, delta, rho, within, weights, rows_per_unit, groups_per_unit)}
    planner_of(policy).planned(sql, **options)  # a mistake is reported before anything is registered or committed to
    beside = aside()
    with registering(beside) as progress:
        curator = open_lasting(policy, analyst=analyst, progress=progress)
    with curator:
        answer = curator.ask(sql, **options)
        left, number = str(curator.budget()), curator.number_of(answer.facts.get("entry"))
    show(
        wanted,
        table=lambda: _print_answer(answer, number),
        content=lambda: answer_content(answer),
        columns=answer.sheet,
    )
    if wanted is Format.TABLE:
        beside.print(left, style="dim")


def _print_answer(answer: Answer, number: int | None) -> None:
    from tacit.doors import tables

    console = out()
    console.print(tables.fit(console, tables.answer(answer)))
    console.print(tables.footer(answer, number))


def suggest(
    policy: PolicyFile,
    column: Annotated[str, typer.Argument(metavar="TABLE.COLUMN", help="A column of numbers, such as visits.charge.")],
    epsilon: Epsilon = None,
    rows_per_unit: RowsPerUnit = None,
    analyst: Analyst = "owner",
    form: Form = Format.TABLE,
    as_json: AsJson = False,
) -> None:
    """Buy bounds for a column that has none (between = "auto").  tacit suggest clinic.toml visits.charge --epsilon 0.1

    Prints the line to put into the policy. It costs epsilon once; the same again is free.
    """
    wanted = chosen(form, as_json=as_json)
    from tacit.curator.suggest import question_for
    from tacit.doors.commands.registering import registering
    from tacit.doors.lasting import open_lasting

    planner = planner_of(policy)
    planner.plan(question_for(planner.policy, column)[0], epsilon, rows_per_unit=rows_per_unit)
    beside = aside()
    with registering(beside) as progress:
        curator = open_lasting(policy, analyst=analyst, progress=progress)
    with curator:
        found = curator.suggest(column, epsilon, rows_per_unit=rows_per_unit)
        left = str(curator.budget())
    show(
        wanted,
        table=lambda: _print_suggestion(found, left),
        content=lambda: dict(_suggested(found)),
        columns=lambda: [(name, _kind(value), [value]) for name, value in _suggested(found)],
    )


def _suggested(found: Suggestion) -> list[tuple[str, Any]]:
    paid = [("epsilon", str(found.epsilon)), ("repeated", found.repeated)]
    bounds = [("lower", found.lower), ("upper", found.upper)]
    return [*bounds, ("line", found.line), ("sureness", found.sureness), *paid]


def _kind(value: object) -> str:
    return "boolean" if isinstance(value, bool) else "real" if isinstance(value, (int, float)) else "text"


def _print_suggestion(found: Suggestion, left: str) -> None:
    beside = aside()
    if found.line is not None:
        typer.echo(found.line)
    beside.print(found.sureness)
    beside.print(
        "Paid before: nothing was charged." if found.repeated else f"Cost epsilon {found.epsilon}.", style="dim"
    )
    beside.print(left, style="dim")
