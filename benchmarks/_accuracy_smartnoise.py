"""SmartNoise SQL's part of the accuracy benchmark; it has an environment of its own.

    .venv-smartnoise/bin/python benchmarks/_accuracy_smartnoise.py FOLDER RUNS SECONDS

Its epsilon is for each column it buys, so the epsilon given is the question's divided by the number of columns that it
says it charges for (`get_privacy_cost`). Counts are not clamped, and where keys are known none is censored. A question
gets at most SECONDS; how many runs that allowed is told.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from snsql import Privacy, from_df

from _accuracy_questions import QUESTIONS, TOP, Question
from _peers import tell

SKIPPED = ("count and ten means, with a delta", "arithmetic on a sum and a count")
NAMES = {"var_pop": "VARIANCE", "visits": "s.visits"}


def reader(frame: pd.DataFrame, question: Question, epsilon: float) -> Any:
    """A reader that protects all rows of one person."""
    columns: dict[str, Any] = {
        "who": {"type": "int", "private_id": True},
        "x": {"type": "int", "lower": 0, "upper": TOP},
        **{name: {"type": "string"} for name in ("sex", "region", "word")},
    }
    promised = {
        "max_ids": question.rows_per_unit,
        "row_privacy": False,
        "censor_dims": "unknown" in question.label,
        "clamp_counts": False,
        "rows": len(frame),
        **columns,
    }
    # it always wants a delta; where keys are known it only covers what is never censored
    delta = float(question.delta) or 1e-6
    return from_df(frame, privacy=Privacy(epsilon=epsilon, delta=delta), metadata={"": {"s": {"visits": promised}}})


def text(question: Question) -> str:
    found = question.sql
    for ours, theirs in NAMES.items():
        found = found.replace(ours, theirs)
    return found


def main(folder: Path, runs: int, seconds: float) -> None:
    warnings.filterwarnings("ignore")
    frame = pd.read_csv(folder / "visits.csv")[["who", "x", "sex", "region", "word"]]
    for question in QUESTIONS:
        if question.label in SKIPPED:
            continue
        sql = text(question)
        columns = reader(frame, question, 1.0).get_privacy_cost(sql)[0]
        asked = reader(frame, question, float(question.epsilon) / columns)
        cells: dict[tuple[object, ...], list[list[float]]] = {}
        deadline = time.monotonic() + seconds
        done = 0
        while done < runs and (done < 20 or time.monotonic() < deadline):
            for row in asked.execute(sql)[1:]:
                key, values = tuple(row[: len(question.keys)]), row[len(question.keys) :]
                cells.setdefault(key, []).append([float(value) for value in values])
            done += 1
        whole = [np.array(values) for values in cells.values() if len(values) > 1]
        freedom = sum(len(values) - 1 for values in whole)
        squares = sum(((values - values.mean(axis=0)) ** 2).sum(axis=0) for values in whole)
        deviations = [math.sqrt(each / freedom) for each in squares]
        tell(question=question.label, deviations=deviations, draws=freedom)
    tell(done=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
