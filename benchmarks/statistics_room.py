"""Statistics beside peers and theory: `python3 go.py bench statistics`.

The file has another name than its benchmark, because libraries import the standard module `statistics`. The parts are
in `_statistics_*.py`, each of which says its bars; OpenDP runs in this environment, diffprivlib and Tumult in
environments of their own.
"""

from __future__ import annotations

import os

import _statistics_counts
import _statistics_graphs
import _statistics_moments
import _statistics_order
import _statistics_own
from _statistics_peers import MOST_ROWS

RUNS = int(os.environ.get("TACIT_RUNS", "200"))


def main() -> str:
    parts = [
        f"## Statistics\n\nErrors over {RUNS} runs each. Tumult is slow: it has fewer where they would read more than "
        f"{MOST_ROWS:,} rows in all.",
        _statistics_order.main(RUNS),
        _statistics_moments.main(RUNS, 10 * RUNS),
        _statistics_counts.main(RUNS),
        _statistics_own.main(RUNS),
        "### Graphs and choices\n\n" + "\n".join(_statistics_graphs.tables(_statistics_graphs.main(RUNS))),
    ]
    return "\n\n".join(parts)
