"""Every way to fail after the charge in every path, again and again: one stored failure each, and no second draw.

    PYTHONPATH=src:. python -m tests.curator.soak_failures            # 300 failures, about a minute of CPU
    PYTHONPATH=src:. python -m tests.curator.soak_failures 1000

Prints how many were injected, by path; the first that breaks a promise ends it with its stack trace.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path

from tests.curator.failures import CAUSES, NOT_IN_A_SESSION, desk, one_failure, paths


def main(wanted: int) -> None:
    """Inject at least `wanted` failures."""
    done: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TACIT_STATE"] = str(Path(folder) / "heads")
        with desk(Path(folder)) as at:
            while True:
                for name, path in paths().items():
                    for cause in CAUSES:
                        if "session" in name and cause in NOT_IN_A_SESSION:
                            continue
                        one_failure(at, path, cause, 1 + Fraction(done.total(), 10**6))
                        done[name] += 1
                        if done.total() >= wanted:
                            told = f"{done.total()} failures: {dict(done)}. One stored failure each, no second draw."
                            sys.stdout.write(told + "\n")
                            return


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
