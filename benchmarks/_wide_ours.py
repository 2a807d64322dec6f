"""tacit's part of the benchmark of wider questions: asked end to end, in turns with plain DuckDB on the same rows.

python benchmarks/_wide_ours.py FOLDER RUNS
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from statistics import median
from typing import Any

import tacit
from _cost import measured
from _peers import tell
from _wide_data import BOUNDED, SHAPES


def plain(folder: Path) -> Any:
    """The same rows as plain tables of a DuckDB file, with the threads that tacit's worker has."""
    import duckdb

    from tacit.engines.process import Limits

    file, config = str(folder / "plain.duckdb"), {"threads": Limits().threads}
    with duckdb.connect(file, config=config) as connection:
        for name in ("purchases", "users"):
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM read_parquet('{folder / name}.parquet')")
    return duckdb.connect(file, read_only=True, config=config)


def main(folder: Path, runs: int) -> dict[str, Any]:
    os.environ["TACIT_STATE"] = str(folder / "state")
    took: dict[str, dict[str, float]] = {}
    with tacit.open(folder / "policy.toml") as curator, plain(folder) as connection:
        for number, (name, shape) in enumerate({**SHAPES, "at most 3 groups a user": BOUNDED}.items()):
            figures: dict[str, list[float]] = {"cpu": [], "wall": [], "plain cpu": [], "plain wall": []}
            for run in range(runs + 1):  # the first one warms up
                epsilon = 1 + number / 100 + run / 10_000  # every question is new
                with measured() as cost:
                    curator.ask(shape.sql, epsilon, groups_per_unit=shape.groups_per_unit)
                with measured() as plain_cost:
                    connection.execute(shape.sql).fetchall()
                if run:
                    for key, value in (("cpu", cost.cpu), ("wall", cost.wall)):
                        figures[key].append(value)
                    for key, value in (("plain cpu", plain_cost.cpu), ("plain wall", plain_cost.wall)):
                        figures[key].append(value)
            took[name] = {key: median(values) for key, values in figures.items()}
    return took


if __name__ == "__main__":
    tell(done=True, shapes=main(Path(sys.argv[1]), int(sys.argv[2])))
