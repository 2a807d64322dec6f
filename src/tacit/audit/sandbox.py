"""The audit of a policy: its own questions, in a sandbox of made-up rows, each tried against its worst neighbours.

For every private table of the policy a sandbox table is made with the same promises: the same columns, bounds and
values, the same bound on the rows of a unit. Its rows are made up from the policy alone, in many copies ("worlds"):
two units in the middle of all bounds, and on one side a third with as many rows as a unit may have, all at one end.
What may be asked about such a table is asked, and judged by `verify`.

Promise: no row and no ledger of the real dataset is opened, so the report may be shown to anyone. It tries the code
that answers (planning, bounds, noise), but not the data, nor the engine of a dataset that lies elsewhere.
"""

from __future__ import annotations

import csv
import datetime
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, cast

import tacit
from tacit import parameters
from tacit.answer import Answer
from tacit.answer.exported import quoted
from tacit.audit.questions import Make, question
from tacit.audit.reports import Report, Tried
from tacit.audit.verdicts import Claim, verify
from tacit.curator import Curator
from tacit.errors import BudgetExceeded, PolicyError
from tacit.loss import Budget
from tacit.parameters import Number
from tacit.policy import Column, ColumnUnit, Policy, RowUnit, Source, Table

_MOST_WORLDS = 2_000
_MOST_ROWS = 200_000
_DELTA = Fraction(1, 1000)
Told = Callable[[str, int, int], None]


def audit_policy(
    policy: Policy,
    *,
    samples: int = 1_000,
    confidence: Number = "0.999",
    epsilon: Number | None = None,
    told: Told | None = None,
) -> Report:
    """What the battery finds. It is quick, and the report says how many samples would settle what stays open.

    The confidence is that of the whole report, shared by all that is tried.

    Questions are asked at `epsilon`, the largest that the policy allows for one question unless you say otherwise.
    `told(name, done, of)` is called before each claim is tried.

    >>> from tacit.policy.read import parse
    >>> table = 'source = "t.csv"\\nunit = "row"\\ncolumns.age = { type = "integer", between = [0, 9] }'
    >>> policy = parse(f'name = "clinic"\\nbudget.epsilon = 1\\n[tables.visits]\\n{table}')
    >>> audit_policy(policy, samples=100).policy
    'clinic'
    """
    asked = policy.largest_epsilon if epsilon is None else parameters.positive("epsilon", epsilon)
    failure = 1 - parameters.open_probability("confidence", confidence)
    start = time.monotonic()
    tried = []
    with tempfile.TemporaryDirectory(prefix="tacit-audit-") as folder, ExitStack() as opened:
        claims = list(_claims(policy, asked, Path(folder), opened, samples))
        if not claims:
            raise PolicyError(f"Policy {policy.name!r} has no private table, so there is nothing to audit.")
        each = 1 - failure / len(claims)
        for place, claim in enumerate(claims):
            if told is not None:
                told(claim.name, place, len(claims))
            verdict = verify(claim, samples=samples, confidence=each)
            tried.append(Tried.of(verdict))
    made = datetime.datetime.now(datetime.UTC).replace(microsecond=0).isoformat()
    return Report(
        policy.name, tacit.__version__, made, samples, float(1 - failure), time.monotonic() - start, tuple(tried)
    )


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One table in many worlds, and where its rows lie with and without the third unit."""

    table: Table
    world: str
    worlds: int
    alone: Path
    beside: Path
    opened: ExitStack

    def make(self, path: Path) -> Make:
        """Gives a curator on one of the two: it is opened when it is first needed, and kept for all claims."""
        placed = replace(self.table, source=Source("csv", str(path)))
        policy = Policy(
            name="sandbox",
            tables={self.table.name: placed},
            budget=Budget(10**6, Fraction(1, 2)),
            largest_epsilon=Fraction(10**5),
        )
        kept = Kept(partial(Curator, policy))
        self.opened.callback(kept.end)
        return lambda: cast(Curator, kept)


class Kept:
    """A curator for many claims: opening one costs more than thousands of draws. A spent ledger is replaced."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._curator: Curator | None = None

    def ask(self, sql: str, epsilon: Fraction, *, delta: Fraction | None = None) -> Answer:
        """The same as a curator's method."""
        if self._curator is not None:
            try:
                return self._curator.ask(sql, epsilon, delta=delta)
            except BudgetExceeded:
                self.end()
        self._curator = self._make()
        return self._curator.ask(sql, epsilon, delta=delta)

    def close(self) -> None:
        """One claim is done with it; others may still need it."""

    def end(self) -> None:
        """Close it: no claim needs it any more."""
        if self._curator is not None:
            self._curator.close()
            self._curator = None


def _claims(policy: Policy, epsilon: Fraction, folder: Path, opened: ExitStack, samples: int) -> Iterator[Claim]:
    for place, table in enumerate(policy.tables.values()):
        if not table.public:
            yield from _asked(_sandbox(table, folder / str(place), opened, samples), epsilon)


def _asked(sandbox: Sandbox, epsilon: Fraction) -> Iterator[Claim]:
    world, table = quoted(sandbox.world), sandbox.table
    makes = sandbox.make(sandbox.alone), sandbox.make(sandbox.beside)

    def by_world(output: str, also: str = "", delta: Fraction | None = None) -> Claim:
        keys = f"{world}, {also}" if also else world
        sql = " ".join(["SELECT", f"{keys}, {output}", "FROM", quoted(table.name), "GROUP BY", keys])
        return question(*makes, sql, epsilon, delta=delta, by=sandbox.world, worlds=sandbox.worlds)

    yield by_world("count(*)")
    if isinstance(table.unit, ColumnUnit):
        yield by_world(f"count(DISTINCT {quoted(table.unit.column)})")
    for column in table.columns.values():
        name = quoted(column.name)
        if column.name == sandbox.world:
            continue
        if column.kind in ("integer", "real") and column.lower is not None:
            yield by_world(f"sum({name}), avg({name})")
            yield by_world(f"sum({name})")
            yield by_world(f"median({name})")
            yield by_world(f"max({name})")
        elif column.values is not None and len(column.values) <= 20:
            yield by_world("count(*)", also=name)
        elif column.kind == "text" and column.values is None and not column.auto:
            yield by_world("count(*)", also=name, delta=_DELTA)


def _sandbox(table: Table, folder: Path, opened: ExitStack, samples: int) -> Sandbox:
    folder.mkdir()
    taken = {name.lower() for name in table.columns}
    world = next(name for name in _names("world") if name not in taken)
    unit: RowUnit | ColumnUnit
    if isinstance(table.unit, (RowUnit, ColumnUnit)):
        unit = table.unit
    else:  # another table says whose the rows are; here each row says so itself
        unit = ColumnUnit(next(name for name in _names("unit") if name not in taken))
    rows = table.rows_per_unit
    worlds = max(20, min(_MOST_WORLDS, samples, _MOST_ROWS // (rows + 2)))
    columns = {name: each for name, each in table.columns.items() if not each.auto}
    columns[world] = Column(world, "integer", lower=0, upper=worlds - 1, nullable=False)
    made = replace(table, source=Source("csv", "none"), unit=unit, columns=columns, key=None)
    sandbox = Sandbox(made, world, worlds, folder / "alone.csv", folder / "beside.csv", opened)
    for path, third in ((sandbox.alone, 0), (sandbox.beside, rows)):
        _write(sandbox, path, third)
    return sandbox


def _names(stem: str) -> Iterator[str]:
    yield stem
    yield from (f"{stem}_{number}" for number in range(1, 10**6))


# -- rows made up from the policy ----------------------------------------------------------------------


def _write(sandbox: Sandbox, path: Path, third: int) -> None:
    """Two units in the middle; `third` rows of another one at the end of all bounds; in every world."""
    table = sandbox.table
    named = table.unit.column if isinstance(table.unit, ColumnUnit) else None
    facts = {name: each for name, each in table.columns.items() if name not in (sandbox.world, named)}
    header = [sandbox.world, *([named] if named else []), *facts]
    middle = [_middle(column) for column in facts.values()]
    end = [_end(column) for column in facts.values()]
    identity = table.columns.get(named) if named else None
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(header)
        for world in range(sandbox.worlds):
            for unit, values in [(0, middle), (1, middle), *[(2, end)] * third]:
                who = [_identity(identity, 3 * world + unit)] if named else []
                lines.writerow([world, *who, *values])


def _identity(column: Column | None, number: int) -> Any:
    """A different name for every unit, as far as the policy's bounds on names allow."""
    if column is None or column.kind == "integer" or column.kind == "real":
        return number + (int(Fraction(str(column.lower))) if column is not None and column.lower is not None else 0)
    return f"unit {number}"


def _middle(column: Column) -> Any:
    if column.values is not None:
        return _written(column.values[0])
    if column.lower is None or column.upper is None:
        return _end(column)
    low, high = column.lower, column.upper
    if isinstance(low, datetime.date) and isinstance(high, datetime.date):
        return _written(low + (high - low) / 2)
    middle = (Fraction(str(low)) + Fraction(str(high))) / 2
    return int(middle) if column.kind == "integer" else float(middle)


_USUAL = {"integer": 1, "real": 1.0, "text": "somewhere", "date": "2024-01-01", "timestamp": "2024-01-01 00:00:00"}


def _end(column: Column) -> Any:
    if column.values is not None:
        return _written(column.values[-1])
    if column.upper is not None:
        return _written(column.upper)
    return "true" if column.kind == "boolean" else _USUAL[column.kind]


def _written(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return value.isoformat(" ") if isinstance(value, datetime.datetime) else str(value)
