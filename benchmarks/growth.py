"""Growth: the same questions on 1, 10 and 100 million rows in DuckDB, asked end to end.

Bars: time per row flat within 30 %, at most 6 GiB of memory at 100 million rows. Questions take turns with the plain
query, because a small table fits the processor's caches and a large one does not: both figures are shown.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from _peers import listen
from _sql_data import SHAPES, write

SIZES = (1_000_000, 10_000_000, 100_000_000)
RUNS = 3
GIB = 2**30


def main() -> str:
    found: dict[int, dict[str, float]] = {}
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
        shapes = [told["shapes"][shape] for shape in SHAPES]  # type: ignore[index]
        cells = [f"{each['cpu'] / rows * 1e9:.1f} ({each['plain cpu'] / rows * 1e9:.1f})" for each in shapes]
        wall = told["registration"]["wall"]  # type: ignore[index]
        lines.append(f"| {rows:,} | " + " | ".join(cells) + f" | {wall:.0f} s | {told['peak'] / GIB:.2f} GiB |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(main())
