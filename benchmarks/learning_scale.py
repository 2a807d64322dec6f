"""Models on many rows: 10,000,000 on a curator over DuckDB, and arrays of 1,000,000 x 20.

Bars: all processes together stay within 4 GiB; what is added up inside the engine costs at most 1.5 times the plain
DuckDB query of the same sums, in CPU. On arrays, models that follow from second moments cost at most scikit-learn's
LinearRegression, logistic regression at most 3 times scikit-learn's (lbfgs), boosted bins at most interpret's
explainable boosting machine without privacy. That one is asked where `TACIT_INTERPRET` names a Python that has
interpret-core, for `TACIT_INTERPRET_ROWS` rows (100,000 unless said): it takes too long for all of them, and the line
says how many it had.

`TACIT_ROWS` says how many rows the curator has; `TACIT_ONLY=arrays` or `curators` measures these alone.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from sklearn import linear_model

from _learning_scale_rows import REACH, drawn
from _peers import listen
from tacit import learning

ROWS = int(os.environ.get("TACIT_ROWS", "10000000"))
ARRAY_ROWS = 1_000_000
INTERPRET = os.environ.get("TACIT_INTERPRET", "")
INTERPRET_ROWS = [int(each) for each in os.environ.get("TACIT_INTERPRET_ROWS", "100000").split(",")]
RUNS, SECONDS = 3, 1_200
MOST_MEMORY, MOST_RATIO = 4 * 2**30, 1.5
ONLY = os.environ.get("TACIT_ONLY", "")


def main() -> str:
    parts = {"curators": curators, "arrays": arrays}
    return "\n\n".join(["## Models on many rows", *("\n".join(run()) for name, run in parts.items() if ONLY in name)])


def curators() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        told = listen("_learning_scale_ours.py", folder, ROWS, RUNS, seconds=SECONDS)
    lines = [
        f"A curator over {ROWS:,} rows of five numbers, a listed column and a listed target, in DuckDB. CPU seconds of "
        "all processes; the most memory that they had, each process's own peak added up, from the start to that line.",
        "",
        "| model | CPU s | clock s | GiB | plain DuckDB, CPU s | ratio |",
        "|---|---|---|---|---|---|",
    ]
    worst, heaviest = 0.0, 0.0
    for each in told.lines:
        if "peak" not in each:
            continue
        usual = each["plain"]
        ratio = each["cpu"] / usual if usual else None
        pushed_down = each["rounds"] is None
        if ratio is not None and pushed_down:
            worst = max(worst, ratio)
        heaviest = max(heaviest, each["peak"])
        shown = ["-", "-"] if usual is None or ratio is None else [f"{usual:.2f}", f"{ratio:.2f}"]
        lines.append(
            f"| {each['what']} | {each['cpu']:.2f} | {each['wall']:.1f} | {each['peak'] / 2**30:.2f} | "
            f"{' | '.join(shown)} |"
        )
    lines += [
        "",
        "Logistic regression reads the codes once and goes over them in numpy; plain DuckDB adds up a gradient in "
        "floating point, as often as there are rounds.",
        "",
        f"- sums inside the engine at most {MOST_RATIO}x plain DuckDB: {_met(worst <= MOST_RATIO)} ({worst:.2f}x)",
        f"- within 4 GiB: {_met(heaviest <= MOST_MEMORY)} ({heaviest / 2**30:.2f} GiB)",
    ]
    return lines + ([f"- not finished: {told.trouble}"] if told.trouble else [])


def arrays() -> list[str]:
    X, y = drawn(ARRAY_ROWS)
    return [*lines_and_planes(X, y), "", *boosted(X, y)]


def lines_and_planes(X: Any, y: Any) -> list[str]:  # noqa: N803
    """Models of second moments and logistic regression, in turns with scikit-learn's."""
    facts: dict[str, Any] = {"delta": 1e-6, "bounds": (-REACH, REACH)}
    aimed, classes = {**facts, "target_bounds": (0, 1)}, {**facts, "classes": [0, 1]}
    line, curve = linear_model.LinearRegression, linear_model.LogisticRegression
    compared: dict[str, tuple[Callable[[Any], Any], Callable[[], Any], float]] = {
        "LinearRegression": (lambda price: learning.LinearRegression(epsilon=price, **aimed), line, 1.0),
        "Ridge": (lambda price: learning.Ridge(epsilon=price, **aimed), line, 1.0),
        "SecondMoments": (lambda price: learning.SecondMoments(epsilon=price, **facts), line, 1.0),
        "PCA": (lambda price: learning.PCA(epsilon=price, **facts), line, 1.0),
        "LinearDiscriminantAnalysis": (
            lambda price: learning.LinearDiscriminantAnalysis(epsilon=price, **classes),
            line,
            1.0,
        ),
        "LogisticRegression": (lambda price: learning.LogisticRegression(epsilon=price, **classes), curve, 3.0),
    }
    lines = [
        f"Arrays of {ARRAY_ROWS:,} x 20, CPU s, medians of {RUNS} runs in turns.",
        "",
        "| model | tacit, epsilon 1 | scikit-learn, no privacy | ratio | at most |",
        "|---|---|---|---|---|",
    ]
    missed = []
    for name, (own, plain, most) in compared.items():
        took: tuple[list[float], list[float]] = ([], [])
        for run in range(RUNS):
            for place, made in enumerate((own(1 + run / 1000), plain())):
                start = time.process_time()
                made.fit(X, y)
                took[place].append(time.process_time() - start)
        ours, theirs = map(median, took)
        missed += [name] * (ours > most * theirs)
        lines.append(f"| {name} | {ours:.2f} | {theirs:.2f} ({plain.__name__}) | {ours / theirs:.2f} | {most:g} |")
        print(lines[-1], flush=True)
    return [*lines, "", f"- at most so many times scikit-learn's CPU: {_met(not missed)} {', '.join(missed)}".rstrip()]


def boosted(X: Any, y: Any) -> list[str]:  # noqa: N803
    """Boosted bins, and interpret's."""
    model = learning.BoostedBinsClassifier(epsilon=1, delta=1e-6, bounds=(-REACH, REACH), classes=[0, 1])
    start = time.process_time()
    score = model.fit(X, y).score(X[:20_000], y[:20_000])
    ours = time.process_time() - start
    lines = [
        "| boosted bins on arrays | rows x columns | CPU s | accuracy |",
        "|---|---|---|---|",
        f"| tacit, epsilon 1 | {ARRAY_ROWS:,} x 20 | {ours:.1f} | {score:.3f} |",
    ]
    if not INTERPRET:
        return [*lines, "", "interpret was not asked (TACIT_INTERPRET)."]
    told = listen("_learning_scale_interpret.py", *INTERPRET_ROWS, python=Path(INTERPRET), seconds=SECONDS)
    found = [each for each in told.lines if "cpu" in each]
    lines += [
        f"| interpret, no privacy, one bag | {each['rows']:,} x 20 | {each['cpu']:.1f} | {each['score']:.3f} |"
        for each in found
    ]
    slow = bool(found) and found[-1]["cpu"] >= ours
    said = (
        "" if found and found[-1]["rows"] == ARRAY_ROWS else " (interpret had fewer rows, and takes longer with more)"
    )
    return [*lines, "", f"- at most interpret's CPU: {_met(slow)}{said}", *([told.trouble] if told.trouble else [])]


def _met(good: bool) -> str:
    return "met" if good else "NOT MET"


if __name__ == "__main__":
    print(main())
