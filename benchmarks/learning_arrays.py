"""Models of arrays of 1,000,000 x 20, beside scikit-learn and interpret without privacy, in CPU.

Bars: models that follow from second moments cost at most scikit-learn's LinearRegression, logistic regression at most 3
times scikit-learn's (lbfgs), boosted bins at most interpret's explainable boosting machine. That one is asked where
`TACIT_INTERPRET` names a Python that has interpret-core, for `TACIT_INTERPRET_ROWS` rows (100,000 unless said): it
takes too long for all of them, and the line says how many it had. Of several runs the least counts: what others do on
the machine only ever adds to a run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn import linear_model

from _learning_scale_rows import REACH, drawn
from _peers import listen
from tacit import learning

ARRAY_ROWS = 1_000_000
INTERPRET = os.environ.get("TACIT_INTERPRET", "")
INTERPRET_ROWS = [int(each) for each in os.environ.get("TACIT_INTERPRET_ROWS", "100000").split(",")]
RUNS = int(os.environ.get("TACIT_RUNS", "5"))
SECONDS = 1_200


def main() -> str:
    X, y = drawn(ARRAY_ROWS)
    return "\n".join(["## Models of arrays", "", *lines_and_planes(X, y), "", *boosted(X, y)])


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
        f"Arrays of {ARRAY_ROWS:,} x 20, CPU s, the least of {RUNS} runs in turns.",
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
        ours, theirs = map(min, took)
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
