"""The table of the accuracy benchmark, the owner's promise about it, and the twelve questions.

A thousand people with four visits each. `x` is spread evenly over its bounds, alike in every cell, because that is the
cell an estimate makes up for means and variances; `word` has values that the policy does not list. Everything here is
plain (no import but the standard library), because the peers read it from environments of their own.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path

PEOPLE = 1_000
VISITS = 4
ROWS = PEOPLE * VISITS
SEXES = ("F", "M")
REGIONS = ("north", "south", "east", "west", "centre")
WORDS = 10
SCORES = 10
TOP = 100
ASKS = 2_000

POLICY = f"""\
name = "visits"

[budget]
epsilon = 100000000
delta = 0.5

[questions]
default_epsilon = 1
largest_epsilon = 10

[tables.visits]
source = "visits.csv"
unit = "who"
rows_per_unit = {VISITS}

[tables.visits.columns]
x = {{ type = "integer", between = [0, {TOP}], nullable = false }}
sex = {{ type = "text", one_of = {list(SEXES)}, nullable = false }}
region = {{ type = "text", one_of = {list(REGIONS)}, nullable = false }}
word = {{ type = "text", nullable = false }}
"""
SCORE_FACTS = "".join(
    f's{number} = {{ type = "integer", between = [0, 10], nullable = false }}\n' for number in range(SCORES)
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, what it may cost, and how many rows each of its cells has."""

    label: str
    sql: str
    epsilon: str
    rows_per_unit: int
    rows: int
    delta: str = "0"
    keys: tuple[str, ...] = ()
    outputs: tuple[str, ...] = field(default=("n",))

    def options(self) -> dict[str, object]:
        """What `ask` is given beside the text and epsilon."""
        return {"delta": self.delta, "rows_per_unit": self.rows_per_unit}


_AVERAGES = ", ".join(f"avg(s{number}) AS a{number}" for number in range(SCORES))

QUESTIONS = (
    Question("count, 4 rows a unit", "SELECT count(*) AS n FROM visits", "0.5", 4, ROWS),
    Question("count of units", "SELECT count(DISTINCT who) AS n FROM visits", "0.5", 4, ROWS),
    Question("sum, 4 rows a unit", "SELECT sum(x) AS s FROM visits", "1", 4, ROWS, outputs=("s",)),
    Question("mean, 1 row a unit", "SELECT avg(x) AS a FROM visits", "1", 1, PEOPLE, outputs=("a",)),
    Question("variance, 4 rows a unit", "SELECT var_pop(x) AS v FROM visits", "1", 4, ROWS, outputs=("v",)),
    Question("standard deviation, 1 row a unit", "SELECT stddev(x) AS d FROM visits", "1", 1, PEOPLE, outputs=("d",)),
    Question(
        "counts by a known key",
        "SELECT region, count(*) AS n FROM visits GROUP BY region",
        "0.5",
        4,
        ROWS // len(REGIONS),
        keys=("region",),
    ),
    Question(
        "count and sum together by a known key",
        "SELECT sex, count(*) AS n, sum(x) AS s FROM visits GROUP BY sex",
        "1",
        4,
        ROWS // len(SEXES),
        keys=("sex",),
        outputs=("n", "s"),
    ),
    Question(
        "count and ten means, with a delta",
        f"SELECT sex, count(*) AS n, {_AVERAGES} FROM visits GROUP BY sex",
        "1",
        1,
        PEOPLE // len(SEXES),
        delta="1e-5",
        keys=("sex",),
        outputs=("n", *(f"a{number}" for number in range(SCORES))),
    ),
    Question(
        "counts by an unknown key",
        "SELECT word, count(*) AS n FROM visits GROUP BY word",
        "1",
        1,
        PEOPLE // WORDS,
        delta="1e-6",
        keys=("word",),
    ),
    Question(
        "arithmetic on a sum and a count",
        "SELECT region, sum(x) / count(*) AS q, sum(x) - 20 * count(*) AS e FROM visits GROUP BY region",
        "1",
        1,
        PEOPLE // len(REGIONS),
        keys=("region",),
        outputs=("q", "e"),
    ),
    Question(
        "count with WHERE",
        "SELECT count(*) AS n FROM visits WHERE x > 30 AND sex = 'F' OR region IN ('east', 'west')",
        "0.2",
        1,
        PEOPLE,
    ),
)


def rows() -> list[dict[str, object]]:
    """The visits. All four of one person are alike, so that whichever of them are read the exact answers are the same.

    Person p's x walks evenly over 0 .. 100 within each sex and region: neighbours in p // 10 are neighbours in x.
    """
    found: list[dict[str, object]] = []
    for person in range(PEOPLE):
        even = (person // 10) * TOP / (PEOPLE // 10 - 1)
        scores = {f"s{number}": round(((person // 10 + 7 * number) % 100) / 9.9) for number in range(SCORES)}
        visit: dict[str, object] = {
            "who": person,
            "x": round(even),
            "sex": SEXES[person % len(SEXES)],
            "region": REGIONS[person % len(REGIONS)],
            "word": f"word{person % WORDS}",
            **scores,
        }
        found.extend(dict(visit) for _ in range(VISITS))
    return found


def write(folder: Path) -> Path:
    """The table as a CSV file in the folder, with the policy beside it; the policy's path."""
    found = rows()
    with (folder / "visits.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)
    policy = folder / "policy.toml"
    policy.write_text(POLICY + SCORE_FACTS)
    return policy
