"""tacit's part of the SQL benchmark, as a program of its own: register, then ask, in turns with plain DuckDB.

    python benchmarks/_sql_ours.py FOLDER RUNS

The folder holds the table and the policy of `_sql_data`. One JSON object is printed. Every question is new (its epsilon
is a little different, and its constant where it has one), so nothing is replayed; the ledger is a file, and every
charge and every answer is flushed to the disk. Memory is read before plain DuckDB is opened in the same process.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from statistics import median
from typing import Any

import tacit
from _cost import measured, peak_of_tree
from _peers import tell
from _sql_data import EPSILON, SHAPES


def questions(runs: int) -> dict[str, list[str]]:
    """The texts of each shape, one a run."""
    return {shape: [text.format(limit=100 + run) for run in range(runs)] for shape, text in SHAPES.items()}


def registered(folder: Path) -> tuple[tacit.Curator, dict[str, float]]:
    """The curator over a new working copy, and what making it cost."""
    with measured() as cost:
        curator = tacit.open(folder / "policy.toml")
    sizes = [(folder / name).stat().st_size for name in ("purchases.parquet", "purchases.copy")]
    return curator, {"cpu": cost.cpu, "wall": cost.wall, "source": sizes[0], "copy": sizes[1]}


def plain(folder: Path) -> Any:
    """The same rows as a plain table of a DuckDB file, with the threads that tacit's worker has."""
    import duckdb

    from tacit.engines.process import Limits

    file, config = str(folder / "plain.duckdb"), {"threads": Limits().threads}
    with duckdb.connect(file, config=config) as connection:
        source = folder / "purchases.parquet"
        connection.execute(f"CREATE TABLE purchases AS SELECT * FROM read_parquet('{source}')")
    return duckdb.connect(file, read_only=True, config=config)


def main(folder: Path, runs: int) -> dict[str, Any]:
    os.environ["TACIT_STATE"] = str(folder / "state")  # where the heads of ledgers are kept
    curator, registration = registered(folder)
    for number, text in enumerate(SHAPES.values()):  # a first question of each shape, for the peak and to warm up
        curator.ask(text.format(limit=50), EPSILON + 0.5 + number / 1000)
    peak = peak_of_tree()
    took: dict[str, dict[str, list[float]]] = {}
    with plain(folder) as connection:
        for shape, texts in questions(runs).items():
            connection.execute(texts[0].replace("100", "50")).fetchall()
            figures: dict[str, list[float]] = {"cpu": [], "wall": [], "plain cpu": [], "plain wall": []}
            for run, text in enumerate(texts):
                with measured() as cost:
                    answer = curator.ask(text, EPSILON + run / 1000)
                assert not answer.repeated
                figures["cpu"].append(cost.cpu)
                figures["wall"].append(cost.wall)
                with measured() as cost:
                    rows = connection.execute(text).fetchall()
                assert len(rows) == len(answer)
                figures["plain cpu"].append(cost.cpu)
                figures["plain wall"].append(cost.wall)
            took[shape] = figures
        (threads,) = connection.execute("SELECT current_setting('threads')").fetchone()
    curator.close()
    shapes = {shape: {name: median(times) for name, times in figures.items()} for shape, figures in took.items()}
    return {"registration": registration, "peak": peak, "threads": threads, "shapes": shapes}


if __name__ == "__main__":
    tell(done=True, **main(Path(sys.argv[1]), int(sys.argv[2])))
