"""What a question may cost, in the same options on every command that has a price."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tacit.curator import Planner
    from tacit.plan.asked import Asked

Epsilon = Annotated[str | None, typer.Option(help="What it may cost, e.g. 0.5. The policy has a default.")]
Delta = Annotated[
    str | None,
    typer.Option(help="Needed to name groups that are not public, by some models, and with --rho, e.g. 1e-7."),
]
Rho = Annotated[
    str | None, typer.Option(help="What it may cost in zCDP instead, with a delta: --rho 0.01 --delta 1e-7.")
]
Within = Annotated[str | None, typer.Option(help='The accuracy you need, instead of a cost: 100, or "5%" with --rows.')]
Weights = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=WEIGHT", help="A column that deserves more of the budget: --weights n=2. May be given again."
    ),
]
Rows = Annotated[int | None, typer.Option(help="Your guess of the rows in a cell, for the error of means.")]
RowsPerUnit = Annotated[int | None, typer.Option(help="Use at most this many rows of each unit: less noise.")]
GroupsPerUnit = Annotated[int | None, typer.Option(help="Use at most this many groups of each unit.")]
Analyst = Annotated[str, typer.Option(help="Who asks, and pays.")]


def asked(
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    within: str | None,
    rows: int | None,
    weights: list[str] | None,
    rows_per_unit: int | None,
    groups_per_unit: int | None,
) -> Asked:
    """What is said besides the question, from the options of a command."""
    from tacit.plan.asked import Asked

    by_name: dict[str, str] = {}
    for each in weights or ():
        name, found, weight = each.rpartition("=")
        if not found or name in by_name:
            raise typer.BadParameter(f"--weights wants NAME=WEIGHT, each name once, such as n=2. Got {each!r}.")
        by_name[name] = weight
    return Asked.of(
        epsilon,
        delta=delta,
        rho=rho,
        within=within,
        rows=rows,
        weights=by_name or None,
        rows_per_unit=rows_per_unit,
        groups_per_unit=groups_per_unit,
    )


def planner_of(path: Path) -> Planner:
    """What plans the questions of a policy file, without opening a table."""
    from tacit.curator import Planner
    from tacit.doors.lasting import read_placed

    return Planner(read_placed(path))
