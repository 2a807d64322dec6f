"""Statistics beside peers and theory: `python3 go.py bench statistics`.

The file has another name than its benchmark, because libraries import the standard module `statistics`. The parts are
in `_statistics_*.py`, each of which says its bars; OpenDP runs in this environment, diffprivlib and Tumult in
environments of their own.

All of it takes about an hour. With `TACIT_KEPT=FOLDER` each part is written there as it is done, and a part that is
there is not run again, so that a run that was stopped goes on; `TACIT_ONLY=order` runs that part alone, and leaves
out those that are not there. The folder knows nothing of the code: take out what was changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import _statistics_counts
import _statistics_graphs
import _statistics_moments
import _statistics_order
import _statistics_own
from _statistics_peers import MOST_ROWS

RUNS = int(os.environ.get("TACIT_RUNS", "200"))
ONLY = [each for each in os.environ.get("TACIT_ONLY", "").split(",") if each]
KEPT = Path(os.environ["TACIT_KEPT"]) if os.environ.get("TACIT_KEPT") else None


def graphs(runs: int) -> str:
    return "### Graphs and choices\n\n" + "\n".join(_statistics_graphs.tables(_statistics_graphs.main(runs)))


PARTS: dict[str, Callable[[], str]] = {
    "order": lambda: _statistics_order.main(RUNS),
    "moments": lambda: _statistics_moments.main(RUNS),
    "intervals": lambda: _statistics_moments.covered(10 * RUNS),
    "counts": lambda: _statistics_counts.main(RUNS),
    "own": lambda: _statistics_own.main(RUNS),
    "graphs": lambda: graphs(RUNS),
}


def part(name: str) -> str:
    """What was kept, or made now."""
    file = None if KEPT is None else KEPT / f"{name}.md"
    if file is not None and file.exists():
        return file.read_text().strip()
    if ONLY and name not in ONLY:
        return ""
    made = PARTS[name]().strip()
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(made + "\n")
    return made


def main() -> str:
    opening = (
        f"## Statistics\n\nErrors over {RUNS} runs each. Tumult is slow: it has fewer where they would read more than "
        f"{MOST_ROWS:,} rows in all."
    )
    return "\n\n".join([opening, *filter(None, map(part, PARTS))])


if __name__ == "__main__":
    print(main())
