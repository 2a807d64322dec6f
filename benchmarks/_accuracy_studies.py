"""The same mean and variance, asked in SQL and of the studies, at the same price: which is noisier, and by how much.

A thousand people with one row each, values within 0 .. 100 in three places: evenly spread, near a bound, and narrow off
the middle. A draw of SQL's is a cell of one ask: the table holds the thousand once for each of its groups, whose people
are others, so that every cell has noise of its own, as large as without groups. Studies are given arrays, a release for
each draw. The sampling error of a deviation over N draws is sqrt((k - 1)/(4 N)) of it, k the kurtosis of the draws,
which is large where a variance is held above 0; the errors of both are put together. (Tests compare what is planned
with the studies' closed forms.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import tacit
from tacit import statistics

DRAWS = 2_000
CLOSE = 1.05
_EVEN = np.arange(1_000)
PLACES = {
    "evenly spread": _EVEN * 100 // 999,
    "near a bound": 95 + _EVEN % 3,
    "narrow, off the middle": 20 + _EVEN % 2,
}
FORMS = {"mean": "avg(x)", "variance": "var_pop(x)"}


@dataclass(frozen=True, slots=True)
class Beside:
    """One output in one place: the deviation of SQL's answers, and of the study's."""

    form: str
    place: str
    sql: float
    study: float
    uncertainty: float  # of the ratio, relative

    @property
    def ratio(self) -> float:
        return self.sql / self.study


def measure() -> list[Beside]:
    """All of them, measured."""
    found = []
    for place, values in PLACES.items():
        people = np.arange(DRAWS * len(values))
        frame = pa.table({"who": people, "g": people // len(values), "x": np.tile(values, DRAWS)})
        whole = {"x": tacit.between(0, 100, nullable=False), "g": tacit.between(0, DRAWS - 1, nullable=False)}
        with tacit.protect(frame, unit="who", columns=whole, budget=tacit.Budget(100, "0.5")) as curator:
            for form, sql in FORMS.items():
                asked = list(curator.ask(f"SELECT g, {sql} AS out FROM data GROUP BY g", 1)["out"])
                assert len(asked) == DRAWS
                study = getattr(statistics, form)
                told = [float(study(values, bounds=(0, 100), epsilon=1)[form][0]) for _ in range(DRAWS)]
                unsure = math.hypot(_uncertainty(asked), _uncertainty(told))
                found.append(Beside(form, place, float(np.std(asked)), float(np.std(told)), unsure))
    return found


def _uncertainty(draws: list[float]) -> float:
    centred = np.asarray(draws) - np.mean(draws)
    kurtosis = float(np.mean(centred**4) / np.mean(centred**2) ** 2)
    return math.sqrt((kurtosis - 1) / (4 * len(draws)))


def lines(found: list[Beside]) -> list[str]:
    """The table, and whether the bar is met."""
    worst = max(found, key=lambda each: each.ratio)
    met = all(each.ratio <= CLOSE * (1 + 3 * each.uncertainty) for each in found)
    return [
        f"The same mean and variance in SQL and of `tacit.statistics`, epsilon 1, {DRAWS:,} draws each.",
        "",
        "| output | values | SQL | study | SQL / study |",
        "|---|---|---|---|---|",
        *(
            f"| {each.form} | {each.place} | {each.sql:.4g} | {each.study:.4g} "
            f"| {each.ratio:.3f} +/- {each.uncertainty:.3f} |"
            for each in found
        ),
        "",
        f"Bar: SQL at most {CLOSE} times the study (within three sampling errors): worst {worst.ratio:.3f}, "
        f"{'met' if met else 'NOT MET'}.",
    ]


if __name__ == "__main__":
    print("\n".join(lines(measure())))
