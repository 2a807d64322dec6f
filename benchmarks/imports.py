"""How long `import tacit` takes in a fresh interpreter, beside an empty program and numpy alone.

Wall-clock time, because that is what a person waits for; each row is the median of several new processes, with the
interpreter's own start (the first row) taken off. The last row is colder still: no module has its compiled form cached,
as on the first run after an installation.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = 11
BAR_SECONDS = 0.25
STATEMENTS = (
    "pass",
    "import tacit",
    "import tacit.noise",
    "import tacit.loss",
    "import tacit.mechanisms",
    "import numpy",
)


def seconds(statement: str, *, cold: bool) -> float:
    """Median wall-clock seconds of a new interpreter that runs `statement`."""
    taken = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as empty:
            # An empty cache folder means that every module is compiled from its source: the worst case.
            environment = {**os.environ, **({"PYTHONPYCACHEPREFIX": empty} if cold else {})}
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True, env=environment)
            taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def main() -> str:
    """The Markdown section."""
    warm = {statement: seconds(statement, cold=False) for statement in STATEMENTS}
    cold = {statement: seconds(statement, cold=True) for statement in STATEMENTS[:2]}
    lines = [
        "## Importing",
        "",
        f"Median of {RUNS} fresh interpreters, milliseconds of wall-clock time above an empty program.",
        "",
        "| statement | milliseconds |",
        "|---|---|",
        f"| an empty program (absolute) | {1e3 * warm['pass']:.0f} |",
        *(f"| `{name}` | {1e3 * (warm[name] - warm['pass']):.0f} |" for name in STATEMENTS[1:]),
        f"| `import tacit`, nothing compiled yet | {1e3 * (cold['import tacit'] - cold['pass']):.0f} |",
        "",
    ]
    whole = cold["import tacit"]
    verdict = "met" if whole < BAR_SECONDS else "MISSED"
    lines.append(
        f"Bar: `import tacit` under {BAR_SECONDS} s cold. "
        f"Interpreter start included, nothing compiled: {whole:.3f} s, {verdict}."
    )
    return "\n".join(lines)
