"""`tacit train | predict | evaluate`: a model of private rows as a file, its predictions, its scores."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tacit import parameters
from tacit.doors.commands.formats import AsJson, Columns, Form, Format, chosen, show
from tacit.doors.commands.modules import Module, own_module
from tacit.doors.commands.opening import opened
from tacit.doors.commands.prices import Analyst, Delta, Epsilon, RowsPerUnit
from tacit.doors.commands.releases import show_release
from tacit.doors.commands.terminal import PolicyFile, aside, out, read_policy
from tacit.errors import ParameterError, TacitError

if TYPE_CHECKING:
    from tacit.learning.columns import Feature
    from tacit.statistics.finding import Finding

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `tacit train` wrote.")]
RowsSql = Annotated[str, typer.Argument(metavar="SQL", help="Which rows and columns: a SELECT without aggregates.")]
Target = Annotated[str | None, typer.Option(help="The column that is predicted; some models have none.")]
Card = Annotated[Path | None, typer.Option(help="Also write a page about it (HTML).")]
_MOST_SHOWN: Final = 50


def train(
    policy: PolicyFile,
    sql: RowsSql,
    to: Annotated[Path | None, typer.Option(help="The file to write the model to.")] = None,
    target: Target = None,
    model: Annotated[str | None, typer.Option(help="Which model, by its name; without it, LogisticRegression.")] = None,
    module: Module = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A parameter of the model. May be given again.")
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rows_per_unit: RowsPerUnit = None,
    dry: Annotated[bool, typer.Option("--estimate", help="Only what it would cost; free.")] = False,
    card: Card = None,
    analyst: Analyst = "owner",
    form: Form = Format.TABLE,
    as_json: AsJson = False,
) -> None:
    """Learn from private rows.  tacit train c.toml "SELECT age, smoker FROM p" --target smoker --to m.json --delta 1e-6

    The price is --epsilon, or the policy's default, and is charged before a row is read. The same again costs nothing
    and gives the same model. Examples:

    tacit train clinic.toml "SELECT age, bmi, smoker FROM patients" --target smoker --delta 1e-6 --to smoker.json

    tacit train clinic.toml "SELECT age, charge FROM visits" --model Ridge --option alpha=2 --target charge --to r.json

    tacit train clinic.toml "SELECT age, bmi FROM patients" --model KMeans --option n_clusters=4 --to groups.json

    tacit train clinic.toml "SELECT age, smoker FROM patients" --module mine.py:Net --target smoker --delta 1e-6 --to n

    NAME in --module is a torch module, or a function of (inputs, outputs) that makes one; the file is run. Its model is
    NeuralClassifier unless --model says NeuralRegressor, and the file that is written is one of safetensors.

    With --estimate in place of --to you hear the price, and nothing is charged or written.
    """
    wanted = chosen(form, as_json=as_json)
    if to is None and not dry:
        raise typer.BadParameter("--to says where the model goes, e.g. --to m.json; or --estimate for the price alone.")
    _must_be_places(to, card)
    price = price_of(policy, epsilon)
    model = model or ("LogisticRegression" if module is None else "NeuralClassifier")
    given = {} if module is None else {"module": own_module(module)}
    made = _model(model, {"epsilon": price, "delta": delta or 0, **_options(option), **given})
    beside = aside()
    with opened(policy, analyst, beside) as curator:
        rows = curator.rows(sql, rows_per_unit=rows_per_unit)
        if dry:
            told = made.estimate(rows, target)
            show(
                wanted,
                table=lambda: out().print(str(told), soft_wrap=True),
                content=lambda: {"estimate": str(told), "epsilon": str(price), "delta": str(delta or 0)},
                columns=lambda: [
                    ("model", "text", [model]),
                    ("epsilon", "real", [float(parameters.price("epsilon", price))]),
                ],
            )
            return
        assert to is not None
        with _working(f"Training {model}", beside):
            made.fit(rows, target)
        left = str(curator.budget())
    files = _written((to, made.save), (card, made.save_card))
    _show_finding(wanted, _told_of(made), files, left, model)


def predict(
    model: ModelFile,
    rows: Annotated[Path, typer.Argument(metavar="ROWS", help="The rows to predict for (CSV with a header).")],
    module: Module = None,
    form: Form = Format.TABLE,
    as_json: AsJson = False,
) -> None:
    """What a model says of rows you hold; free.  tacit predict smoker.json people.csv --format csv > said.csv

    The columns are found by their names; others are left alone. A number that is missing counts as the middle of its
    bounds, a value that is not listed as none of the listed ones.
    """
    wanted = chosen(form, as_json=as_json)
    loaded = _loaded(model, module)
    if not hasattr(loaded, "predict"):
        raise ParameterError(f"{model} holds {type(loaded).__name__}, which predicts nothing. Train another model.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that rows have no names: names ordered them
        columns = list(_predicted(loaded, _read_rows(rows, loaded)))
    names, count = [name for name, _, _ in columns], len(columns[0][2])

    def table() -> None:
        from tacit.doors import tables

        shown = tables.table("row", *names, texts=(1,))
        for place in range(min(count, _MOST_SHOWN)):
            cells = [values[place] for _, _, values in columns]
            shown.add_row(
                str(place + 1), *(tables.key(round(each, 4) if isinstance(each, float) else each) for each in cells)
            )
        out().print(shown)
        if count > _MOST_SHOWN:
            aside().print(f"... and {count - _MOST_SHOWN:,} more rows: --format csv has all of them.", style="dim")

    show(
        wanted,
        table=table,
        content=lambda: [dict(zip(names, row, strict=True)) for row in zip(*(v for _, _, v in columns), strict=True)],
        columns=lambda: columns,
    )


def evaluate(
    model: ModelFile,
    policy: PolicyFile,
    sql: RowsSql,
    target: Target = None,
    by: Annotated[str | None, typer.Option(help="Also for each value of this column, side by side.")] = None,
    bins: Annotated[int, typer.Option(help="Of the score of two classes, an even number; fewer, less noise.")] = 10,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rows_per_unit: RowsPerUnit = None,
    module: Module = None,
    to: Annotated[Path | None, typer.Option(help="Also write the scores to a file (JSON).")] = None,
    card: Card = None,
    analyst: Analyst = "owner",
    form: Form = Format.TABLE,
    as_json: AsJson = False,
) -> None:
    """How good a model is on private rows.  tacit evaluate m.json c.toml "SELECT age, sex, smoker FROM p" --by sex

    One noisy histogram is charged; accuracy, error rates, the ROC curve and R2 follow from it, with intervals.
    Example:

    tacit evaluate smoker.json clinic.toml "SELECT age, bmi, sex, smoker FROM patients" --by sex --card scores.html
    """
    wanted = chosen(form, as_json=as_json)
    _must_be_places(to, card)
    price = price_of(policy, epsilon)
    loaded = _loaded(model, module)
    beside = aside()
    with opened(policy, analyst, beside) as curator:
        rows = curator.rows(sql, rows_per_unit=rows_per_unit)
        with _working(f"Evaluating {type(loaded).__name__}", beside):
            found = _learning().evaluate(loaded, rows, target, epsilon=price, delta=delta or 0, by=by, bins=bins)
        left = str(curator.budget())
    files = _written((to, found.save), (card, found.save_card))
    _show_finding(wanted, found.scores, files, left, found.layout.model)


# -- what the three share ----------------------------------------------------------------------------------


def _must_be_places(*paths: Path | None) -> None:
    """Check where files go before anything is paid."""
    for path in paths:
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            why = "it is a folder" if path.is_dir() else f"there is no folder {path.parent}"
            raise ParameterError(f"{path} cannot be written: {why}. Nothing was charged.")


def _written(*files: tuple[Path | None, Callable[[Path], Any]]) -> list[Path]:
    found = []
    for path, write in files:
        if path is None:
            continue
        try:
            write(path)
        except OSError as error:
            hint = "A model that is stored costs nothing when it is asked for again."
            raise ParameterError(f"{path} cannot be written: {error.strerror or error}. {hint}") from None
        found.append(path)
    return found


def _learning() -> Any:
    from tacit import learning

    try:
        learning.load  # noqa: B018  # the first name that needs scikit-learn
    except ImportError as error:
        raise TacitError(str(error)) from None
    return learning


def _model(name: str, chosen_options: Mapping[str, Any]) -> Any:
    learning = _learning()
    known = [each for each in learning.__all__ if hasattr(getattr(learning, each), "save_card")]
    known.remove("Evaluation")
    from tacit.learning.model import NETWORKS

    if name not in (*known, *NETWORKS):
        raise parameters.refuse("--model", f"one of {', '.join([*known, *NETWORKS])}", name)
    made = _network(name) if name in NETWORKS else getattr(learning, name)
    allowed = made._get_param_names()
    for each in chosen_options:
        if each not in allowed and each not in ("epsilon", "delta"):
            raise parameters.refuse(f"--option of {name}", f"one of {', '.join(allowed)}", each)
    return made(**{each: value for each, value in chosen_options.items() if each in allowed})


def _network(name: str) -> Any:
    from tacit.learning import neural

    try:
        return getattr(neural, name)
    except ImportError as error:
        raise TacitError(str(error)) from None


def _options(given: Sequence[str] | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in given or ():
        name, stated, value = each.partition("=")
        if not stated or name in found or name in ("epsilon", "delta"):
            raise typer.BadParameter(f"--option wants NAME=VALUE, each name once, such as alpha=2. Got {each!r}.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def price_of(policy: Path, epsilon: str | None) -> Any:
    """The given price, or the default of the policy."""
    price = read_policy(policy).default_epsilon if epsilon is None else epsilon
    if price is None:
        raise ParameterError("Say what it may cost, e.g. --epsilon 1: the policy has no default_epsilon.")
    return price


@contextmanager
def _working(words: str, console: Console) -> Iterator[None]:
    """A bar for as long as it takes. It does not show progress on private rows, which rows decide."""
    if not console.is_terminal:
        yield
        return
    text = TextColumn("{task.description}", markup=False)
    with Progress(text, BarColumn(), TimeElapsedColumn(), console=console, transient=True) as bar:
        bar.add_task(words, total=None)
        yield


def _loaded(path: Path, module: str | None) -> Any:
    learning = _learning()
    try:
        found = learning.load(path, None if module is None else own_module(module))
    except ImportError as error:  # a network, where torch is missing
        raise TacitError(str(error)) from None
    if isinstance(found, learning.Evaluation):
        raise ParameterError(f"{path} holds the scores of a model, and no model. Give the file of `tacit train`.")
    return found


def _told_of(model: Any) -> Finding:
    """The main table of a model: its coefficients, or what was released."""
    from dataclasses import replace

    from tacit.learning.cards import weights_of, with_intercept
    from tacit.statistics.finding import Column

    finding: Finding = model.finding_
    weights = weights_of(model)
    if weights is None:
        return finding
    columns = [
        Column(each.name, "real" if each.is_number else "text", tuple(each.values), each.low, each.high)  # type: ignore[arg-type]
        for each in with_intercept(weights, model)
    ]
    return replace(finding, title=f"{type(model).__name__}: coefficients", columns=tuple(columns), notes=())


def _show_finding(wanted: Format, found: Finding, files: Sequence[Path], left: str, name: str) -> None:
    from tacit.answer.exported import sheet_of

    show_release(
        wanted,
        found,
        lines=lambda: [str(found)],
        content=lambda: {"model": name},
        more=lambda: {"table": sheet_of(found.table()).records(), "notes": list(found.notes)},
        columns=lambda: sheet_of(found.table()),
        files=files,
        left=left,
    )


def _predicted(model: Any, table: Any) -> Columns:
    said = model.predict(table)
    kind = "text" if said.dtype.kind in "OU" else {"f": "real", "b": "boolean"}.get(said.dtype.kind, "integer")
    yield "prediction", kind, said.tolist()
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(table)
        for place, label in enumerate(model.classes_.tolist()):
            yield f"probability_of_{label}", "real", chances[:, place].tolist()


def _read_rows(path: Path, model: Any) -> Any:
    """The model's columns of a CSV file, as the model needs them: numbers, and listed values as they are listed."""
    import csv

    import numpy as np

    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            lines, header = list(reader), list(reader.fieldnames or ())
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ParameterError(f"{path} cannot be read as CSV: {getattr(error, 'strerror', None) or error}.") from None
    features = model._features
    lacking = [each.name for each in features if each.name not in header]
    if lacking:
        raise parameters.refuse(
            str(path), f"a file with the columns {', '.join(e.name for e in features)}", ", ".join(header)
        )
    if not lines:
        raise ParameterError(f"{path} has a header and no row.")
    if not features:
        return _matrix(path, header, lines, getattr(model, "_shape", ()))
    columns = [_column([line[each.name] for line in lines], each) for each in features]
    if all(each.options is None for each in features):
        return np.array(columns, dtype=np.float64).T
    table = np.empty((len(lines), len(features)), dtype=object)
    for place, column in enumerate(columns):
        table[:, place] = column
    return table


def _matrix(path: Path, header: Sequence[str], lines: Sequence[dict[str, Any]], shape: Sequence[int]) -> Any:
    """All columns as numbers, for a model that was fitted to arrays and knows no names."""
    import numpy as np

    if len(shape) != 1:
        hint = "Load it in Python: learning.load(path).predict(images)."
        raise parameters.refuse("model", "one of rows of numbers, to predict for a CSV file", f"rows of {shape}", hint)
    if len(header) != shape[0]:
        raise parameters.refuse(str(path), f"a file with {shape[0]} columns of numbers", f"{len(header)} columns")
    try:
        return np.array([[float(line[name]) for name in header] for line in lines], dtype=np.float32)
    except (TypeError, ValueError):
        raise parameters.refuse(str(path), f"{shape[0]} numbers in every row", "a row with something else") from None


def _column(texts: Sequence[str | None], feature: Feature) -> list[Any]:
    if feature.options is None:
        return [_number(each, feature.middle) for each in texts]
    known = {str(each).casefold(): each for each in feature.labels}
    return [known.get((each or "").strip().casefold()) for each in texts]


def _number(text: str | None, missing: float) -> float:
    try:
        found = float(text or "nan")
    except ValueError:
        return missing
    return found if math.isfinite(found) else missing
