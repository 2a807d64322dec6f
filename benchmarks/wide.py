"""Wider questions: per-user aggregates, joins of private tables, rollups, quantiles and few groups a user.

10,000,000 purchases of 1,000,000 users. CPU of `ask` (ledger included) against the plain DuckDB query of the same text.
Bars: 3x for per-user aggregates, joins and quantiles; bounding the groups of a user at least 5x faster than Tumult does
it on the same machine (1,000,000 rows).
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from _peers import listen, python_of
from _wide_data import SHAPES, write_both

ROWS, FEWER_ROWS, RUNS = 10_000_000, 1_000_000, 3
SECONDS = 900.0


def asked(rows: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="tacit-wide-") as name:
        write_both(Path(name), rows)
        told = listen("_wide_ours.py", name, RUNS, seconds=SECONDS)
        if told.trouble:
            raise SystemExit(f"tacit's own part of the benchmark {told.trouble}")
        return told.lines[-1]["shapes"]


def tumult() -> tuple[float, str]:
    """CPU seconds of Tumult's bounded question, or what went wrong."""
    with tempfile.TemporaryDirectory(prefix="tacit-wide-") as name:
        write_both(Path(name), FEWER_ROWS)
        told = listen("_wide_tumult.py", name, python=python_of("tumult"), seconds=SECONDS)
    return (float(told.lines[-1]["cpu"]), "") if not told.trouble else (0.0, told.trouble)


def main() -> str:
    ours, fewer = asked(ROWS), asked(FEWER_ROWS)
    lines = [
        "## Wider questions",
        "",
        f"{ROWS:,} rows; medians of {RUNS} runs in turns, milliseconds of CPU (wall).",
        "",
        "| question | tacit | plain DuckDB | ratio | bar |",
        "|---|---|---|---|---|",
    ]
    for name, shape in SHAPES.items():
        took = ours[name]
        ratio = took["cpu"] / took["plain cpu"]
        lines.append(
            f"| {name} | {took['cpu'] * 1000:.0f} ({took['wall'] * 1000:.0f}) | {took['plain cpu'] * 1000:.0f} "
            f"({took['plain wall'] * 1000:.0f}) | {ratio:.2f}x | {shape.bar:g}x "
            f"{'met' if ratio <= shape.bar else 'NOT MET'} |"
        )
    bounded = "at most 3 groups a user"
    theirs, trouble = tumult()
    mine = fewer[bounded]["cpu"]
    compared = trouble or f"{theirs:.1f} s: tacit is {theirs / mine:.0f}x faster (bar 5x)"
    lines += [
        "",
        f"{bounded.capitalize()}: {ours[bounded]['cpu'] * 1000:.0f} ms at {ROWS:,} rows. At {FEWER_ROWS:,} rows tacit "
        f"takes {mine * 1000:.0f} ms of CPU, Tumult {compared}.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(main())
