"""`tacit synthesise`: a synthetic table of private rows as a file, and what is known about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from tacit import parameters
from tacit.doors.commands.formats import AsJson, Form, Format, chosen
from tacit.doors.commands.learning import price_of
from tacit.doors.commands.opening import opened
from tacit.doors.commands.prices import Analyst, Delta, Epsilon, RowsPerUnit
from tacit.doors.commands.releases import Release, show_release
from tacit.doors.commands.terminal import PolicyFile, aside, read_policy
from tacit.errors import ParameterError

if TYPE_CHECKING:
    from tacit.synthesis import Drawn, Linked, Synthetic


class Method(StrEnum):
    """How the model is made."""

    BEST = "best"
    AIM = "aim"
    MST = "mst"
    RESIDUAL = "residual"
    INDEPENDENT = "independent"


_ENDINGS: Final = (".parquet", ".csv")


def synthesise(
    policy: PolicyFile,
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="A table of the policy, or a SELECT without aggregates.")
    ],
    output: Annotated[Path | None, typer.Option(help="The file to write rows to: .parquet or .csv.")] = None,
    method: Annotated[
        Method, typer.Option(help="How the model is made; best goes by public sizes, and aim is the most precise.")
    ] = Method.AIM,
    rows: Annotated[
        int | None, typer.Option(help="How many rows to draw; about as many as there are if left out.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Draw the same rows again.")] = None,
    bins: Annotated[
        str | None,
        typer.Option(help="Into how many bins columns of many numbers are cut; private buys bins at quantiles."),
    ] = None,
    nulls: Annotated[
        bool, typer.Option("--nulls", help="Keep missing values as such, instead of leaving out rows that miss one.")
    ] = False,
    children: Annotated[
        str | None, typer.Option(help="A second table: rows of the first one's units, several of each, made with it.")
    ] = None,
    children_output: Annotated[
        Path | None, typer.Option(help="The file to write the second table's rows to: .parquet or .csv.")
    ] = None,
    model: Annotated[Path | None, typer.Option(help="Also write the model, to ask and to draw from (JSON).")] = None,
    card: Annotated[Path | None, typer.Option(help="Also write a page about it (HTML).")] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rows_per_unit: RowsPerUnit = None,
    analyst: Analyst = "owner",
    form: Form = Format.TABLE,
    as_json: AsJson = False,
) -> None:
    """Synthetic rows with the table's columns.  tacit synthesise c.toml people --epsilon 1 --output people.parquet

    The price is --epsilon, or the policy's default, and is charged once, before a row is read; the delta is --delta, or
    a tenth of the policy's. The same again costs nothing: draw as many rows as you like. Examples:

    tacit synthesise clinic.toml people --epsilon 1 --output people.parquet --card people.html

    tacit synthesise clinic.toml "SELECT age, sex, smoker FROM people" --method mst --output people.csv --rows 10000

    tacit synthesise clinic.toml people --model people.json

    tacit synthesise c.toml people --children visits --output people.parquet --children-output visits.parquet
    """
    wanted = chosen(form, as_json=as_json)
    for each in (output, children_output):
        _ending(each)
    if output is None and model is None and card is None and children_output is None:
        raise ParameterError("Say what to write: --output people.parquet, --model people.json or --card people.html.")
    _must_be_new(policy, [each for each in (output, children_output, model, card) if each is not None])
    if children is None and children_output is not None:
        raise parameters.refuse("--children-output", "given with --children, which names the second table", "alone")
    if rows is not None:
        parameters.whole("--rows", rows, least=1)
    price = price_of(policy, epsilon)
    beside = aside()
    with opened(policy, analyst, beside) as curator:
        if children is not None:
            _must_suit_two(method, rows_per_unit)
            paid = delta or _delta(policy, method)
            twins = _both(curator, table, children, price, paid, _bins(bins), nulls)
            files = _write_both(twins, rows, seed, output, children_output, model, card)
            _tell_both(wanted, twins, files, str(curator.budget()))
            return
        asked = curator.rows(_selected(policy, table), rows_per_unit=rows_per_unit)
        with _progress(f"Synthesising by {method.value}", beside) as progress:
            options = {"bins": _bins(bins), "nulls": nulls or None}
            twin = _made(method, asked, price, delta or _delta(policy, method), options, progress)
        left = str(curator.budget())
    files = []
    drawn = None
    if output is not None:
        drawn = twin.sample(rows, seed=seed)
        files.append(_write(drawn, output))
    files += [write(path) for path, write in ((model, twin.save), (card, twin.save_card)) if path is not None]
    _tell(wanted, twin, drawn, files, left)


def _ending(output: Path | None) -> str:
    """The form of the file, by its name, never by its contents."""
    ending = "" if output is None else output.suffix.lower()
    if output is not None and ending not in _ENDINGS:
        raise parameters.refuse("--output", f"a file that ends in {' or '.join(_ENDINGS)}", output.name)
    return ending


def _write(drawn: Drawn, path: Path) -> Path:
    (drawn.to_parquet if _ending(path) == ".parquet" else drawn.to_csv)(path)
    return path


# -- two tables --------------------------------------------------------------------------------------------


def _must_suit_two(method: Method, rows_per_unit: int | None) -> None:
    if method not in (Method.AIM, Method.BEST, Method.MST):
        raise parameters.refuse(
            "--method", "left out with --children, or mst: two tables are made by trees", method.value
        )
    if rows_per_unit is not None:
        raise parameters.refuse("--rows-per-unit", "left out with --children: the policy says it", rows_per_unit)


def _both(curator: Any, table: str, children: str, epsilon: Any, delta: Any, bins: Any, nulls: bool) -> Linked:
    from tacit import synthesis

    return synthesis.linked(curator, table, children, epsilon=epsilon, delta=delta, bins=bins, nulls=nulls)


def _write_both(
    twins: Linked,
    rows: int | None,
    seed: int | None,
    output: Path | None,
    children_output: Path | None,
    model: Path | None,
    card: Path | None,
) -> list[Path]:
    files = []
    if output is not None or children_output is not None:
        for drawn, path in zip(twins.sample(rows, seed=seed), (output, children_output), strict=True):
            if path is not None:
                files.append(_write(drawn, path))
    return files + [write(path) for path, write in ((model, twins.save), (card, twins.save_card)) if path is not None]


def _tell_both(wanted: Format, twins: Linked, files: Sequence[Path], left: str) -> None:
    measured = [" x ".join(each) for each in (*twins.parents.measured, *twins.children.measured)]
    counted = f"about {twins.parents.total:,.0f} and {twins.children.total:,.0f} rows"
    show_release(
        wanted,
        twins,
        lines=lambda: [f"{' and '.join(twins.tables)}: {counted} ({_paid(twins)}).", _measured(measured)],
        content=lambda: {
            "tables": list(twins.tables),
            "totals": [twins.parents.total, twins.children.total],
            "measured": [list(each) for each in (*twins.parents.measured, *twins.children.measured)],
        },
        columns=lambda: [("measured", "text", measured)],
        files=files,
        left=left,
    )


def _paid(found: Release) -> str:
    return "stored, nothing charged" if found.repeated else f"charged epsilon {found.receipt['epsilon']}"


def _measured(measured: Sequence[str]) -> str:
    return f"Measured: {', '.join(measured)}."


# -- one table ---------------------------------------------------------------------------------------------


def _must_be_new(policy: Path, written: Sequence[Path]) -> None:
    """Refuse to write over the policy, its ledger, its working copy or the rows themselves."""
    found = read_policy(policy)
    folder = policy.absolute().parent
    kept = [str(policy.absolute()), found.ledger, found.working_copy, *(e.source.path for e in found.tables.values())]
    places = {(folder / each).resolve() for each in kept if each is not None}
    for path in written:
        if path.absolute().resolve() in places:
            raise parameters.refuse("file to write", "one that the policy does not name", str(path))


def _selected(policy: Path, table: str) -> str:
    """The SELECT of a table: its columns whose cells are public."""
    if table.strip().lower().startswith(("select", "with")):
        return table
    found = read_policy(policy)
    own = found.table(table)
    if own is None:
        raise parameters.refuse("TABLE", f"one of {', '.join(found.tables)}, or a SELECT", table)
    unit = getattr(own.unit, "column", None)
    names = [name for name, each in own.columns.items() if name != unit and (each.bounded or each.values is not None)]
    if not names:
        raise ParameterError(f"No column of table {table!r} has bounds or listed values. State them in the policy.")
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    return f'SELECT {quoted} FROM "{table.replace(chr(34), chr(34) * 2)}"'  # noqa: S608  # read by our own reader


def _delta(policy: Path, method: Method) -> Any:
    """A tenth of the policy's delta where none was given; none for methods that need none."""
    if method is Method.INDEPENDENT:
        return 0
    return read_policy(policy).budget.delta / 10


def _bins(text: str | None) -> int | str | None:
    if text is None or text == "private":
        return text
    if not text.isdecimal():
        raise parameters.refuse("--bins", "a whole number, or private", text)
    return int(text)


def _made(
    method: Method,
    rows: Any,
    epsilon: Any,
    delta: Any,
    options: Mapping[str, Any],
    progress: Callable[[float], None] | None,
) -> Synthetic:
    from tacit import synthesis

    if method in (Method.AIM, Method.BEST, Method.RESIDUAL):
        made = getattr(synthesis, method.value)
        return made(rows, epsilon=epsilon, delta=delta, progress=progress, **options)  # type: ignore[no-any-return]
    return getattr(synthesis, method.value)(rows, epsilon=epsilon, delta=delta, **options)  # type: ignore[no-any-return]


@contextmanager
def _progress(words: str, console: Console) -> Iterator[Callable[[float], None] | None]:
    """A bar of the share of the budget that is used, which released numbers decide, and rows do not."""
    if not console.is_terminal:
        yield None
        return
    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(words, total=None)

        def told(share: float) -> None:
            bar.update(task, total=1.0, completed=share)

        yield told


def _tell(wanted: Format, twin: Synthetic, drawn: Drawn | None, files: Sequence[Path], left: str) -> None:
    measured = [" x ".join(each) for each in dict.fromkeys(twin.measured)]
    counted = f"about {twin.total:,.0f} rows" + ("" if drawn is None else f"; {len(drawn):,} drawn")
    show_release(
        wanted,
        twin,
        lines=lambda: [f"{twin.method} of {', '.join(twin.columns)}: {counted} ({_paid(twin)}).", _measured(measured)],
        content=lambda: {
            "method": twin.method,
            "columns": list(twin.columns),
            "total": twin.total,
            "rows": None if drawn is None else len(drawn),
            "measured": [list(each) for each in twin.measured],
        },
        columns=lambda: [("measured", "text", measured)],
        files=files,
        left=left,
    )
