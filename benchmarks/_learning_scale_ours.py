"""Models trained on a curator over 10,000,000 rows in DuckDB, in turns with plain DuckDB adding up the same sums.

    python benchmarks/_learning_scale_ours.py FOLDER ROWS RUNS

One JSON object a line. The plain queries read a table of a DuckDB file with as many threads as tacit's worker has, and
add up in floating point what the training adds up in whole numbers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import tacit
from _cost import measured, peak_of_tree
from _peers import tell
from tacit import learning
from tacit.engines.process import Limits

NUMBERS = ("age", "bmi", "charge", "pressure", "share")
POLICY = """\
name = "scale"
working_copy = "scale.copy"
ledger = "scale.ledger"

[budget]
epsilon = 100000
delta = 1e-2

[questions]
default_epsilon = 1
largest_epsilon = 10

[tables.people]
source = "people.parquet"
unit = "who"
rows_per_unit = 1

[tables.people.columns]
age = { type = "integer", between = [0, 110], nullable = false }
bmi = { type = "real", between = [10.0, 60.0], nullable = false }
charge = { type = "real", between = [0.0, 500.0], nullable = false }
pressure = { type = "real", between = [60.0, 220.0], nullable = false }
share = { type = "real", between = [0.0, 1.0], nullable = false }
sex = { type = "text", one_of = ["F", "M"], nullable = false }
smoker = { type = "text", one_of = ["no", "yes"], nullable = false }
"""
ROWS = f"SELECT {', '.join(NUMBERS)}, sex, smoker FROM people"


def write(folder: Path, rows: int) -> None:
    """The table as a Parquet file, and the policy beside it."""
    import duckdb

    drawn = (
        "SELECT range AS who, CAST(random() * 92 + 10 AS INTEGER) AS age, random() * 50 + 10 AS bmi, "
        "random() * 500 AS charge, random() * 160 + 60 AS pressure, random() AS share, "
        "CASE WHEN random() < .4 THEN 'F' ELSE 'M' END AS sex FROM range(?)"
    )
    lean = "1/(1 + exp((age - 50)/10 + (bmi - 35)/20 - share))"
    with duckdb.connect() as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(f"CREATE TABLE people AS SELECT *, random() < {lean} AS yes FROM ({drawn})", [rows])
        connection.execute(
            "COPY (SELECT * EXCLUDE yes, CASE WHEN yes THEN 'yes' ELSE 'no' END AS smoker FROM people) "
            f"TO '{folder / 'people.parquet'}' (FORMAT parquet)"
        )
    (folder / "policy.toml").write_text(POLICY)


def plain(folder: Path) -> Any:
    """The same rows as a plain table."""
    import duckdb

    file, config = str(folder / "plain.duckdb"), {"threads": Limits().threads}
    with duckdb.connect(file, config=config) as connection:
        connection.execute(f"CREATE TABLE people AS SELECT * FROM read_parquet('{folder / 'people.parquet'}')")
    return duckdb.connect(file, read_only=True, config=config)


def products(connection: Any) -> None:
    """All sums and products of seven columns: listed values as 0 and 1."""
    terms = [*NUMBERS, "(sex = 'F')::INT", "(sex = 'M')::INT", "(smoker = 'no')::INT", "(smoker = 'yes')::INT"]
    asked = [f"sum({each})" for each in terms]
    asked += [f"sum({one} * {other})" for place, one in enumerate(terms) for other in terms[place:]]
    connection.execute(f"SELECT count(*), {', '.join(asked)} FROM people").fetchall()


def by_class(connection: Any) -> None:
    """Counts, sums and squares by class."""
    sums = ", ".join(f"sum({each}), sum({each} * {each})" for each in NUMBERS)
    connection.execute(f"SELECT smoker, sex, count(*), {sums} FROM people GROUP BY ALL").fetchall()


def training(rounds: int) -> Callable[[Any], None]:
    """What a training by Newton steps releases: sums by class, products of coordinates, a gradient for each round."""
    coordinates = [*NUMBERS, "(sex = 'F')::INT", "(sex = 'M')::INT"]
    sums = ", ".join(f"sum({each})" for each in coordinates)
    pairs = [f"sum({one} * {other})" for place, one in enumerate(coordinates) for other in coordinates[place:]]

    def run(connection: Any) -> None:
        connection.execute(f"SELECT smoker, count(*), {sums} FROM people GROUP BY smoker").fetchall()
        connection.execute(f"SELECT count(*), {sums}, {', '.join(pairs)} FROM people").fetchall()
        gradients(rounds)(connection)

    return run


def gradients(rounds: int) -> Callable[[Any], None]:
    """A sum of gradients of the logistic loss, as often as a training has rounds."""

    def run(connection: Any) -> None:
        score = " + ".join(f"0.001 * {each}" for each in NUMBERS)
        left = f"((smoker = 'yes')::INT - 1/(1 + exp(-({score} + (sex = 'F')::INT))))"
        asked = ", ".join(f"sum({left} * {each})" for each in (*NUMBERS, "(sex = 'F')::INT", "(sex = 'M')::INT", "1"))
        for _ in range(rounds):
            connection.execute(f"SELECT {asked} FROM people").fetchall()

    return run


def main(folder: Path, rows: int, runs: int) -> None:
    os.environ["TACIT_STATE"] = str(folder / "state")
    write(folder, rows)
    with measured() as cost, tacit.open(folder / "policy.toml") as curator:
        pass
    tell(what="registration", cpu=cost.cpu, wall=cost.wall, rows=rows)
    few = f"SELECT {', '.join(NUMBERS)}, sex, smoker FROM people"
    numbers = f"SELECT {', '.join(NUMBERS)} FROM people"
    models: dict[str, tuple[Any, str, str | None, Callable[[Any], None] | None]] = {
        "SecondMoments": (learning.SecondMoments, few, None, products),
        "GaussianNB": (learning.GaussianNB, f"{numbers.replace(' FROM', ', smoker FROM')}", "smoker", by_class),
        "LogisticRegression": (learning.LogisticRegression, few, "smoker", None),
        "BoostedBinsClassifier": (learning.BoostedBinsClassifier, few, "smoker", None),
        "DecisionTreeClassifier": (learning.DecisionTreeClassifier, few, "smoker", None),
    }
    for name, (model, sql, target, query) in models.items():
        with tacit.open(folder / "policy.toml") as curator:  # a process of its own each time, for its own peak
            taken, walls = [], []
            for run in range(runs if query else 1):
                with measured() as cost:
                    found = model(epsilon=1 + run / 1000, delta=1e-6).fit(curator.rows(sql), target)
                assert not found.finding_.repeated
                taken.append(cost.cpu)
                walls.append(cost.wall)
            peak = peak_of_tree()
        if name == "LogisticRegression":
            query = training(found.n_iter_)
        usual = []
        if query is not None:
            with plain(folder) as connection:
                for _ in range(runs if name != "LogisticRegression" else 1):
                    with measured() as cost:
                        query(connection)
                    usual.append(cost.cpu)
            (folder / "plain.duckdb").unlink()
        tell(
            what=name,
            cpu=median(taken),
            wall=median(walls),
            peak=peak,
            plain=median(usual) if usual else None,
            rounds=getattr(found, "n_iter_", None),
        )
    tell(done=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
