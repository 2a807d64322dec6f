"""What people do with synthetic data: intervals of questions to a model, and models trained on drawn rows.

Intervals: 50 releases of Adult (codes) by each method; every cell of every measured table, its total, and sums and
means of numbers in groups, at 95 %. Counted is how often the exact figure of the real rows lies inside.

Training: a logistic model of income, trained on as many rows as were estimated, drawn from one release, and tested on
real rows that the release never saw; beside it the same model trained on the real rows.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl

from tacit import synthesis

DATA = Path(__file__).resolve().parent / "data"
RUNS = 50
SEEDS = 5
_COLUMNS = ("age", "workclass", "education-num", "marital-status", "sex", "hours-per-week", "income>50K")


def adult() -> tuple[pl.DataFrame, dict[str, int]]:
    """The coded table, and how many codes each column has."""
    with gzip.open(DATA / "adult_codes.csv.gz", "rb") as file:
        frame = pl.read_csv(file.read())
    return frame, json.loads((DATA / "adult_codes_domain.json").read_text())


def main() -> str:
    """Both parts."""
    return "\n".join(["## Questions to synthetic data, and models trained on it", "", *intervals(), "", *training()])


_EXACT: dict[str, dict[tuple[Any, ...], tuple[Any, ...]]] = {}  # the answers of the real rows


# -- intervals ---------------------------------------------------------------------------------------------


def intervals(runs: int = RUNS) -> list[str]:
    """How often the intervals of `Synthetic.ask` hold the exact figure."""
    frame, sizes = adult()
    frame = frame[list(_COLUMNS)]
    bounds = {name: (0, sizes[name] - 1) for name in _COLUMNS}
    lines = [
        f"Adult, {len(_COLUMNS)} columns, {len(frame):,} rows, 95 % intervals, {runs} runs: how many hold.",
        "",
        "| method | epsilon | cells of measured tables | the worst table | totals | sums | means | ranges |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    given = {name: frame[name].to_numpy() for name in _COLUMNS}
    for method, epsilon in (
        (synthesis.independent, "1"),
        (synthesis.mst, "1"),
        (synthesis.aim, "1"),
        (synthesis.aim, "10"),
    ):
        held: dict[str, list[bool]] = defaultdict(list)
        tables: dict[tuple[str, ...], list[bool]] = defaultdict(list)
        for _ in range(runs):
            twin = method(given, epsilon=epsilon, delta="1e-9", bounds=bounds, bins={"age": 20})
            for columns in dict.fromkeys(twin.measured):
                _look(twin, frame, columns, held, tables[columns])
            asked = "SELECT count(*) AS n, sum(age) AS s, avg(age) AS a FROM frame WHERE age BETWEEN 11 AND 33"
            held["ranges"].extend(_held(twin, frame, asked, 0))
            held["totals"].extend(_held(twin, frame, "SELECT count(*) AS n FROM frame", 0))
        often = {columns: own for columns, own in tables.items() if len(own) >= min(500, 10 * runs)}
        worst = min((np.mean(own), len(own), columns) for columns, own in often.items())
        shown = " | ".join(_said(held[kind]) for kind in ("totals", "sums", "means", "ranges"))
        line = f"| {method.__name__} | {epsilon} | {np.mean(held['cells']):.4f} of {len(held['cells']):,} "
        lines.append(f"{line}| {worst[0]:.3f} of {worst[1]:,} ({', '.join(worst[2])}) | {shown} |")
        print(lines[-1], flush=True)
    return lines


def _said(held: list[bool]) -> str:
    return f"{np.mean(held):.3f} of {len(held):,}" if held else "-"


def _look(
    twin: synthesis.Synthetic,
    frame: pl.DataFrame,
    columns: tuple[str, ...],
    held: Mapping[str, list[bool]],
    table: list[bool],
) -> None:
    whole = [name for name in columns if name != "age"]  # which is cut into bins
    keys = ", ".join(f'"{name}"' for name in whole)
    if whole:
        asked = f"SELECT {keys}, count(*) AS n FROM frame GROUP BY {keys} ORDER BY {keys}"
        found = _held(twin, frame, asked, len(whole))
        held["cells"].extend(found)
        table.extend(found)
        value = f'"{whole[-1]}"'
        other = f'"{whole[0]}"'
        if len(whole) > 1:
            for kind, name in (("sums", "sum"), ("means", "avg")):
                asked = f"SELECT {other}, {name}({value}) AS n FROM frame GROUP BY {other} ORDER BY {other}"
                held[kind].extend(_held(twin, frame, asked, 1))


def _held(twin: synthesis.Synthetic, frame: pl.DataFrame, sql: str, keys: int) -> list[bool]:
    answer = twin.ask(sql)
    if sql not in _EXACT:
        _EXACT[sql] = {line[:keys]: line[keys:] for line in duckdb.sql(sql).fetchall()}
    exact = _EXACT[sql]
    names = answer.names[keys:]
    ends = answer.intervals()
    found = []
    for place, line in enumerate(answer.rows()):
        for number, name in enumerate(names):
            truth = exact.get(line[:keys], (0,) * len(names))[number]
            span = ends[name][place] if name in ends else None
            if span is not None and not np.isnan(span[0]) and truth is not None:
                if name != "a" and line[:keys] not in exact and "avg" in sql:
                    continue  # a mean of no rows
                found.append(bool(span[0] - 1e-6 <= truth <= span[1] + 1e-6))
    return found


# -- training ----------------------------------------------------------------------------------------------


def training() -> list[str]:
    """A logistic model of income, trained on drawn rows."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    frame, sizes = adult()
    names = list(frame.columns)
    target = "income>50K"
    bounds = {name: (0, sizes[name] - 1) for name in names}
    lines = [
        f"Income of Adult by a logistic model on one-hot codes, tested on a fifth of the real rows; {SEEDS} splits.",
        "",
        "| trained on | accuracy | below real rows | area under the curve | below real rows |",
        "|---|---:|---:|---:|---:|",
    ]
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for seed in range(SEEDS):
        order = np.random.default_rng(seed).permutation(len(frame))
        test, train = frame[order[: len(frame) // 5]], frame[order[len(frame) // 5 :]]
        made = {"real rows": train}
        for method, workload in ((synthesis.mst, None), (synthesis.aim, None), (synthesis.aim, "income")):
            wanted = {}
            if workload:
                wanted = {"workload": [(name, target) for name in names if name != target]}
            given = {name: train[name].to_numpy() for name in names}
            twin = method(given, epsilon=1, delta="1e-9", bounds=bounds, **wanted)
            label = f"{method.__name__}, epsilon 1" + (", workload: pairs with income" if workload else "")
            made[label] = twin.sample(seed=seed).to_polars()
        for label, rows in made.items():
            encoder = OneHotEncoder(categories=[range(sizes[n]) for n in names if n != target], handle_unknown="ignore")
            model = make_pipeline(encoder, LogisticRegression(max_iter=1000, C=0.1))
            model.fit(rows.drop(target).to_numpy(), rows[target].to_numpy())
            sure = model.predict_proba(test.drop(target).to_numpy())[:, 1]
            truth = test[target].to_numpy()
            found[label].append((float(np.mean((sure > 0.5) == truth)), float(roc_auc_score(truth, sure))))
    real = np.mean(found["real rows"], axis=0)
    for label, figures in found.items():
        mean = np.mean(figures, axis=0)
        lines.append(f"| {label} | {mean[0]:.4f} | {real[0] - mean[0]:.4f} | {mean[1]:.4f} | {real[1] - mean[1]:.4f} |")
        print(lines[-1], flush=True)
    return lines
