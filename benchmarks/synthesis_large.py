"""Synthetic data of a large table: tables counted in DuckDB, PostgreSQL and Spark. Bars: 20 s, 2 GiB; 5 s to draw.

TACIT_SYNTHESIS_ENGINES chooses among the engines: all three where it is not set.
"""

from __future__ import annotations

import os

from _peers import listen, python_of

ENGINES = os.environ.get("TACIT_SYNTHESIS_ENGINES", "duckdb,postgres,spark").split(",")


def main() -> str:
    lines = [
        "## Synthetic data of a large table",
        "",
        "1,000,000 rows x 20 columns of 16 values (epsilon 1, delta 1e-9), `mst`, tables counted in the engine:",
        "",
        "| engine | wall s | CPU s | peak memory, GiB | 1,000,000 rows drawn, CPU s |",
        "|---|---:|---:|---:|---:|",
    ]
    for engine in ENGINES:
        told = listen(
            "_synthesis_large.py", engine, python=python_of("spark") if engine == "spark" else None, seconds=900
        )
        for each in told.lines:
            if "engine" in each:
                figures = f"{each['wall']:.1f} | {each['cpu']:.1f} | {each['memory']:.2f} | {each['drawing']:.1f}"
                lines.append(f"| {engine} | {figures} |")
        if told.trouble:
            lines.append(f"| {engine} | {told.trouble} | | | |")
    return "\n".join(lines)
