"""A page about a model, or about its scores: what it is, what it cost, what it says. HTML without script or network.

Promise: made of released numbers and public facts only, so any number of pages cost nothing; text is escaped.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tacit.answer.drawings import Drawn, drawings
from tacit.answer.pages import page
from tacit.answer.report import html_table, reader_of
from tacit.answer.shown import readable, safe, shown
from tacit.errors import TacitError
from tacit.learning.columns import Feature
from tacit.learning.evaluation.evaluation import Evaluation
from tacit.learning.model import Model
from tacit.statistics.finding import Finding

_MOST_SHOWN = 40


def model_card(model: Model) -> str:
    """The page of a fitted model."""
    check_is_fitted(model)
    name = type(model).__name__
    target = getattr(model, "_target_name", None)
    title = f"{name} for {target}" if target else name
    parts = [_heading(title), _said(_opening(model)), _paid(model.receipt_)]
    parts += ["<h2>Facts</h2>", _facts(_model_facts(model))]
    weights = weights_of(model)
    if weights is not None:
        parts += [
            "<h2>Coefficients</h2>",
            *drawings(weights, "bars"),
            html_table(with_intercept(weights, model)),
            _said(_about_weights(weights, getattr(model, "interval_note_", None))),
        ]
    elif model.finding_ is not None:
        parts += _section(model.finding_)
    parts += ["<h2>Columns</h2>", html_table(_columns(model._features)), _said(_ABOUT_COLUMNS)]
    return page(title, "".join(parts))


def evaluation_card(evaluation: Evaluation) -> str:
    """The page of an evaluation."""
    layout = evaluation.layout
    title = f"How good {layout.model} is for {layout.target}"
    parts = [_heading(title), _paid(evaluation.receipt), *_section(evaluation.scores)]
    if layout.asks != "number":
        parts += _section(evaluation.errors)
    if layout.is_curve:
        parts += _section(evaluation.curve)
    if layout.asks == "probability":
        parts += _section(evaluation.calibration)
    return page(title, "".join(parts))


def _heading(title: str) -> str:
    return f"<h1>{html.escape(safe(title))}</h1>"


def _said(words: str) -> str:
    return f'<p class="soft">{html.escape(safe(words))}</p>' if words else ""


def _paid(receipt: dict[str, str]) -> str:
    if not receipt:
        return ""
    return "".join(f"<p>{html.escape(each)}</p>" for each in reader_of(receipt, "this page", None))


def _section(finding: Finding) -> list[str]:
    told = finding.reported()
    notes = [_said(each) for each in finding.notes]
    return [
        f"<h2>{html.escape(safe(finding.title))}</h2>",
        *drawings(told.columns, told.drawing),
        html_table(told.columns),
        *notes,
    ]


def _opening(model: Model) -> str:
    words = (type(model).__doc__ or "").strip().split("\n\n")[0]
    return " ".join(words.split())


def _model_facts(model: Model) -> list[tuple[str, str]]:
    receipt = model.receipt_
    found = [("Model", type(model).__name__)]
    if getattr(model, "_target_name", None):
        found.append(("Target", str(model._target_name)))
    if hasattr(model, "classes_"):
        found.append(("Classes", ", ".join(str(each) for each in model.classes_)))
    found.append(("Fitted on", model._day))
    for name in ("epsilon", "delta"):
        found.append((name.capitalize(), readable(receipt[name]) if name in receipt else "none"))
    for name in ("rows_per_unit", "neighbours", "entry"):
        if name in receipt:
            found.append((name.replace("_", " ").capitalize(), receipt[name]))
    skipped = {"epsilon", "delta", "bounds", "values", "classes", "target_bounds"}
    for name, value in model.get_params(deep=False).items():
        if name not in skipped and value is not None:
            found.append((f"Parameter {name}", shown(value) if isinstance(value, (int, float, str)) else str(value)))
    return found


def _facts(rows: Sequence[tuple[str, str]]) -> str:
    lines = "".join(
        f'<tr><td>{html.escape(safe(name))}</td><td style="white-space:normal">{html.escape(safe(value))}</td></tr>'
        for name, value in rows
    )
    return f"<table><tbody>{lines}</tbody></table>"


def with_intercept(weights: Sequence[Drawn], model: Model) -> list[Drawn]:
    """The same columns with a first line for the intercept: where listed values are, coefficients alone mislead."""
    levels = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64)).tolist()
    ends = getattr(model, "intercept_interval_", None)
    names, *rest = weights
    found = [Drawn(names.name, ["intercept", *names.values])]
    for each, level in zip(rest, levels, strict=False):
        low, high = each.low, each.high
        if low is not None and high is not None and ends is not None:
            low, high = (float(ends[0]), *low), (float(ends[1]), *high)
        found.append(Drawn(each.name, (level, *each.values), low, high))
    return found


def weights_of(model: Model) -> list[Drawn] | None:
    """The coefficients of one line, or of one line for each class, with their intervals where the model has them."""
    if not hasattr(model, "coef_"):
        return None
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    names = [name for each in model._features for name in each.coordinates]
    if coef.shape[1] != len(names):
        return None
    ends = getattr(model, "coef_interval_", None)
    if len(coef) == 1 or ends is not None:
        low, high = (None, None) if ends is None else (tuple(each) for each in np.asarray(ends, dtype=float).T)
        title = f"towards {model.classes_[1]}" if hasattr(model, "classes_") else "coefficient"
        return [Drawn("coordinate", names), Drawn(title, tuple(coef[0].tolist()), low, high)]
    labels = getattr(model, "classes_", range(len(coef)))
    many = [Drawn(f"towards {label}", tuple(own.tolist())) for label, own in zip(labels, coef, strict=True)]
    return [Drawn("coordinate", names), *many[:_MOST_SHOWN]]


def _about_weights(weights: Sequence[Drawn], note: str | None) -> str:
    if weights[1].low is not None:
        return (
            "Ranges hold the coefficients of the population that the rows are a sample of, values clamped to their "
            "bounds, each with probability 0.95, where errors are about as large at all rows."
        )
    return note or "There are no ranges: this model promises none for its coefficients."


_ABOUT_COLUMNS = (
    "Stated by the owner, not found in the data: numbers are clamped to their bounds, and a value that is not listed "
    "counts as none of the listed ones."
)


def _columns(features: Sequence[Feature]) -> list[Drawn]:
    def allowed(each: Feature) -> str:
        if each.options is None:
            return f"{each.middle - each.half:,.6g} to {each.middle + each.half:,.6g}"
        labels = [str(label) for label in each.labels]
        more = f", and {len(labels) - _MOST_SHOWN:,} more" if len(labels) > _MOST_SHOWN else ""
        return ", ".join(labels[:_MOST_SHOWN]) + more

    if not features:
        raise TacitError("The model keeps no columns.")
    return [Drawn("column", [each.name for each in features]), Drawn("allowed", [allowed(each) for each in features])]
