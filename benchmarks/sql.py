"""SQL: tacit end to end against the plain DuckDB query, OpenDP on Polars and Tumult on Spark, on the same rows.

10,000,000 rows are generated and registered; four shapes of question are asked, each run a new question that is
charged to a ledger on disk. Bars: CPU at most 2x the plain query (geometric mean; none above 3x); at least 20x faster
than OpenDP (10,000,000 rows) and Tumult (1,000,000 rows); registration within 60 s, a copy of at most 3x the source,
at most 4 GiB of memory. Set TMPDIR to choose the disk.
"""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from _peers import Told, listen, python_of
from _sql_data import KEPT_PER_USER, ROWS, SHAPES, write

FEWER_ROWS = ROWS // 10
RUNS = 9
PEER_RUNS = {"OpenDP": 3, "Tumult": 1}
PEER_SECONDS = 600.0
GIB = 2**30


def verdict(holds: bool) -> str:
    return "met" if holds else "NOT MET"


def ours(folder: Path) -> dict[str, Any]:
    told = listen("_sql_ours.py", folder, RUNS, seconds=PEER_SECONDS)
    if told.trouble:
        raise SystemExit(f"tacit's own part of the benchmark {told.trouble}")
    return told.lines[-1]


def opendp(folders: dict[int, Path]) -> tuple[int, Told]:
    """OpenDP on all rows; where it does not get through, on fewer."""
    for rows, folder in folders.items():
        told = listen("_sql_opendp.py", folder, PEER_RUNS["OpenDP"], seconds=PEER_SECONDS)
        if not told.trouble:
            break
        print(f"OpenDP, {rows:,} rows: {told.trouble}", flush=True)
    return rows, told


def tumult(folder: Path) -> Told:
    return listen("_sql_tumult.py", folder, PEER_RUNS["Tumult"], python=python_of("tumult"), seconds=PEER_SECONDS)


def against_plain(measured: dict[str, Any], rows: int) -> list[str]:
    """The table of ratios to the plain query, and whether the bars hold."""
    lines = [
        f"{rows:,} rows, {measured['threads']} threads on either side; medians of {RUNS} runs in turns, milliseconds.",
        "",
        "| shape | tacit CPU | plain CPU | ratio (bar 3x) | tacit wall | plain wall |",
        "|---|---|---|---|---|---|",
    ]
    ratios = []
    for shape, took in measured["shapes"].items():
        ratios.append(took["cpu"] / took["plain cpu"])
        cells = [shape, f"{1e3 * took['cpu']:.0f}", f"{1e3 * took['plain cpu']:.0f}"]
        cells += [f"{ratios[-1]:.2f}x: {verdict(ratios[-1] <= 3)}"]
        cells += [f"{1e3 * took['wall']:.0f}", f"{1e3 * took['plain wall']:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    mean = math.prod(ratios) ** (1 / len(ratios))
    lines.append(f"| geometric mean (bar 2x) | | | {mean:.2f}x: {verdict(mean <= 2)} | | |")
    return [*lines, ""]


def registration(measured: dict[str, Any]) -> list[str]:
    made, peak = measured["registration"], measured["peak"]
    size = made["copy"] / made["source"]
    return [
        "| registration, once | figure | bar |",
        "|---|---|---|",
        f"| wall-clock seconds | {made['wall']:.1f} | 60: {verdict(made['wall'] <= 60)} |",
        f"| CPU seconds | {made['cpu']:.1f} | |",
        f"| copy, over the source's {made['source'] / 1e6:.0f} MB of Parquet | {size:.2f}x "
        f"| 3x: {verdict(size <= 3)} |",
        f"| most memory, owner and worker, first questions included | {peak / GIB:.2f} GiB "
        f"| 4: {verdict(peak <= 4 * GIB)} |",
        "",
    ]


def against_peer(name: str, told: Told, rows: int, measured: dict[str, Any]) -> list[str]:
    """A peer's figures beside ours on the same rows. The bar must hold in CPU time and in wall-clock time."""
    runs = PEER_RUNS[name]
    setup = next((f"{line['setup']:.0f} s" for line in told.lines if "setup" in line), "not finished")
    often = "one run" if runs == 1 else f"medians of {runs} runs"
    lines = [
        f"{name}, {rows:,} rows, {often}, seconds; its set-up ({setup}) is not counted.",
        "",
        f"| shape | {name} CPU | {name} wall | tacit is faster, CPU | and wall (bar 20x) |",
        "|---|---|---|---|---|",
    ]
    for shape in SHAPES:
        took = [line for line in told.lines if line.get("shape") == shape]
        if not took:
            lines.append(f"| {shape} | not measured | | | |")
            continue
        cpu, wall = (median(line[what] for line in took) for what in ("cpu", "wall"))
        mine = measured["shapes"][shape]
        ratios = cpu / mine["cpu"], wall / mine["wall"]
        cells = [shape, f"{cpu:.1f}", f"{wall:.1f}", f"{ratios[0]:.0f}x", f"{ratios[1]:.0f}x"]
        lines.append(f"| {' | '.join(cells)}: {verdict(min(ratios) >= 20)} |")
    if told.trouble:
        lines += ["", f"It did not finish: {told.trouble}."]
    return [*lines, ""]


def main() -> str:
    with tempfile.TemporaryDirectory(prefix="tacit-sql-") as name:
        folders = {rows: Path(name) / str(rows) for rows in (ROWS, FEWER_ROWS)}
        for rows, folder in folders.items():
            folder.mkdir()
            write(folder, rows)
        measured = {}
        for rows, folder in folders.items():
            print(f"tacit and plain DuckDB, {rows:,} rows ...", flush=True)
            measured[rows] = ours(folder)
        print("OpenDP ...", flush=True)
        peer_rows, of_opendp = opendp(folders)
        print("Tumult: with Java to start, several minutes ...", flush=True)
        of_tumult = tumult(folders[FEWER_ROWS])
    lines = [
        "## SQL",
        "",
        "Count, sum and mean of purchases: all, by category (100), by category with a WHERE, by category and region "
        f"(1,000 cells); a user is protected with at most {KEPT_PER_USER} rows. Every question is new and paid for "
        "from a ledger on disk; CPU is that of owner and worker together. Plain is the same text on a DuckDB table of "
        "the same rows.",
        "",
        *against_plain(measured[ROWS], ROWS),
        *registration(measured[ROWS]),
        *against_peer("OpenDP", of_opendp, peer_rows, measured[peer_rows]),
        *against_peer("Tumult", of_tumult, FEWER_ROWS, measured[FEWER_ROWS]),
        f"Load of the machine at the end, over 15 minutes: {os.getloadavg()[2]:.1f} of {os.cpu_count()} cores.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(main())
