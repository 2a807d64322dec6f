"""Models on many rows: 10,000,000 on a curator over DuckDB.

Bars: all processes together stay within 4 GiB; a model costs at most 1.5 times the plain DuckDB queries of the same
sums, in CPU.

`TACIT_ROWS` says how many rows the curator has.
"""

from __future__ import annotations

import os
import tempfile

from _peers import listen

ROWS = int(os.environ.get("TACIT_ROWS", "10000000"))
RUNS, SECONDS = 3, 1_200
MOST_MEMORY, MOST_RATIO = 4 * 2**30, 1.5


def main() -> str:
    return "\n".join(["## Models on many rows", "", *curators()])


def curators() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        told = listen("_learning_scale_ours.py", folder, ROWS, RUNS, seconds=SECONDS)
    lines = [
        f"A curator over {ROWS:,} rows of five numbers, a listed column and a listed target, in DuckDB. CPU seconds of "
        "all processes; the most memory that they had, each process's own peak added up, from the start to that line.",
        "",
        "| model | CPU s | clock s | GiB | plain DuckDB, CPU s | ratio |",
        "|---|---|---|---|---|---|",
    ]
    worst, heaviest = 0.0, 0.0
    for each in told.lines:
        if "peak" not in each:
            continue
        usual = each["plain"]
        ratio = each["cpu"] / usual if usual else None
        if ratio is not None:
            worst = max(worst, ratio)
        heaviest = max(heaviest, each["peak"])
        shown = ["-", "-"] if usual is None or ratio is None else [f"{usual:.2f}", f"{ratio:.2f}"]
        lines.append(
            f"| {each['what']} | {each['cpu']:.2f} | {each['wall']:.1f} | {each['peak'] / 2**30:.2f} | "
            f"{' | '.join(shown)} |"
        )
    lines += [
        "",
        "Logistic regression reads the codes once and goes over them in numpy; plain DuckDB adds up what it "
        "releases in floating point: the sums by class, the products, and a gradient as often as there are rounds.",
        "",
        f"- at most {MOST_RATIO}x plain DuckDB for the same sums: {_met(worst <= MOST_RATIO)} ({worst:.2f}x)",
        f"- within 4 GiB: {_met(heaviest <= MOST_MEMORY)} ({heaviest / 2**30:.2f} GiB)",
    ]
    return lines + ([f"- not finished: {told.trouble}"] if told.trouble else [])


def _met(good: bool) -> str:
    return "met" if good else "NOT MET"


if __name__ == "__main__":
    print(main())
