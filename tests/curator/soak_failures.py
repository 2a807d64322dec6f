"""Every way to fail after the charge in every path, again and again: one stored failure each, and no second draw.

    PYTHONPATH=src:. python -m tests.curator.soak_failures                     # 300 failures, about a minute of CPU
    PYTHONPATH=src:. python -m tests.curator.soak_failures --engine postgres   # on a server of its own, which is killed
    PYTHONPATH=src:. python -m tests.curator.soak_failures 102 --engine spark  # in .venv-spark

Prints how many were injected, by path; the first that breaks a promise ends it with its stack trace.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from fractions import Fraction
from itertools import cycle
from pathlib import Path

from tests.curator.failing_engines import ENGINES
from tests.curator.failures import NOT_IN_A_SESSION, one_failure, paths
from tests.curator.fits import fits


def main(wanted: int, engine: str, part: int, parts: int) -> None:
    """Inject at least `wanted` failures: every pair of a path and a cause, or of every so manieth, again and again."""
    done: Counter[str] = Counter()
    of: Counter[str] = Counter()
    every = {**paths(), **fits()}
    elsewhere = engine != "duckdb"  # where bounds cannot be bought yet
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TACIT_STATE"] = str(Path(folder) / "heads")
        with ENGINES[engine](Path(folder)) as (at, causes):
            pairs = [
                (name, cause)
                for name in every
                for cause in causes
                if not ("session" in name and cause in NOT_IN_A_SESSION) and not (name == "suggest" and elsewhere)
            ]
            for name, cause in cycle(pairs[part - 1 :: parts]):
                one_failure(at, every[name], cause, 1 + Fraction(done.total(), 10**6), causes)
                done[name] += 1
                of[cause] += 1
                if done.total() % 20 == 0:
                    sys.stdout.write(f"{done.total()} so far, {time.process_time():.0f} s of CPU\n")
                    sys.stdout.flush()
                if done.total() >= wanted:
                    break
    told = f"{engine}: {done.total()} failures: {dict(done)}, {dict(of)}. "
    sys.stdout.write(told + "One stored failure each, no second draw.\n")


if __name__ == "__main__":
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("wanted", type=int, nargs="?", default=300)
    given.add_argument("--engine", choices=list(ENGINES), default="duckdb")
    given.add_argument("--part", default="1/1", help="every so manieth pair: 1/2 and 2/2 are all of them")
    arguments = given.parse_args()
    main(arguments.wanted, arguments.engine, *map(int, arguments.part.split("/")))
