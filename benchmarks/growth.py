"""Growth: the same questions on 1, 10 and 100 million rows in DuckDB, asked end to end.

Bars: time per row flat within 30 %, at most 6 GiB of memory at 100 million rows. Questions take turns with the plain
query, because a small table fits the processor's caches and a large one does not: both figures are shown. A question
has a fixed cost, too (parsing, the ledger's durable commit, a release for each group), which is most of the time at a
million rows, so what each further row costs is shown beside the plain quotient.
"""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

from _peers import listen
from _sql_data import SHAPES, write

SIZES = (1_000_000, 10_000_000, 100_000_000)
RUNS = 3
GIB = 2**30


def main() -> str:
    found: dict[int, dict[str, Any]] = {}
    for rows in SIZES:
        with tempfile.TemporaryDirectory(prefix="tacit-growth-") as name:
            write(Path(name), rows)
            told = listen("_sql_ours.py", name, RUNS, seconds=1800.0)
        if told.trouble:
            raise SystemExit(f"{rows:,} rows: {told.trouble}")
        found[rows] = told.lines[-1]
    lines = [
        "## Growth",
        "",
        "CPU of `ask` in nanoseconds a row (plain DuckDB's in brackets), registration by the clock, memory.",
        "",
        "| rows | " + " | ".join(SHAPES) + " | registration | peak |",
        "|---|" + "---|" * (len(SHAPES) + 2),
    ]
    for rows, told in found.items():
        shapes = [told["shapes"][shape] for shape in SHAPES]
        cells = [f"{each['cpu'] / rows * 1e9:.1f} ({each['plain cpu'] / rows * 1e9:.1f})" for each in shapes]
        wall = told["registration"]["wall"]
        lines.append(f"| {rows:,} | " + " | ".join(cells) + f" | {wall:.0f} s | {told['peak'] / GIB:.2f} GiB |")
    lines += [
        "",
        "What each further row costs, from one size to the next, in nanoseconds of CPU (plain DuckDB's in brackets).",
        "",
        "| rows | " + " | ".join(SHAPES) + " |",
        "|---|" + "---|" * len(SHAPES),
    ]
    for few, many in itertools.pairwise(found):
        costs = [[further(found, few, many, shape, clock) for clock in ("cpu", "plain cpu")] for shape in SHAPES]
        cells = [f"{ours:.1f} ({plain:.1f})" for ours, plain in costs]
        lines.append(f"| {few:,} to {many:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def further(found: dict[int, Any], few: int, many: int, shape: str, clock: str) -> float:
    """Nanoseconds for each row beyond the first few."""
    return (found[many]["shapes"][shape][clock] - found[few]["shapes"][shape][clock]) / (many - few) * 1e9


if __name__ == "__main__":
    print(main())
