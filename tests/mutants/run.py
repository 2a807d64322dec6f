"""The mutation check: break one constant at a time, and see the tests notice.

    python tests/mutants/run.py              all mutants
    python tests/mutants/run.py laplace      those with "laplace" in their name
    .venv-spark/bin/python tests/mutants/run.py spark:      those of Spark, after `python3 go.py spark`
    .venv-neural/bin/python tests/mutants/run.py neural:    those of networks, after `python3 go.py neural`

Each mutant of the lists beside this file is one change of one line in a copy of the sources: a sensitivity halved, a
scale at 0.9, a factor 2 missing, a delta forgotten, a sign bit used twice. The tests named with it run against the copy
and must fail. A mutant that survives is a hole in the tests. Exit code 1 if any survives.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 240
NEEDED = {"spark": "pyspark", "torch": "torch"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One deliberate mistake."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    needs: str = ""  # "spark" or "torch": left out where the tests cannot run

    def apply(self, sources: Path) -> None:
        """Make the change in a copy of src/."""
        path = sources / "tacit" / self.file
        text = path.read_text()
        if text.count(self.old) != 1:
            raise SystemExit(f"mutant {self.name!r}: {self.old!r} stands {text.count(self.old)} times in {self.file}")
        path.write_text(text.replace(self.old, self.new))


def read_mutants() -> list[Mutant]:
    """The lists, in the order of their files."""
    found = []
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        content = tomllib.loads(path.read_text())
        found += [Mutant(tests=tuple(entry.pop("tests")), **entry) for entry in content["mutant"]]
    return found


def outcome(mutant: Mutant) -> tuple[str, float]:
    """How the tests took it: "killed", "SURVIVED" or "killed (time)", and the seconds it took."""
    with tempfile.TemporaryDirectory() as scratch:
        sources = Path(scratch) / "src"
        shutil.copytree(ROOT / "src", sources, ignore=shutil.ignore_patterns("__pycache__"))
        mutant.apply(sources)
        # one failure is enough: nobody reads the smallest example of it
        quick = {"TACIT_SHRINK": "off", "PYTHONDONTWRITEBYTECODE": "1"}
        environment = {**os.environ, "PYTHONPATH": str(sources), "TACIT_EXAMPLES": "100", **quick}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *mutant.tests]
        start = time.monotonic()
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, timeout=LIMIT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return "killed (time)", time.monotonic() - start
        took = time.monotonic() - start
        if done.returncode == 0:
            return "SURVIVED", took
        if done.returncode != 1:  # pytest's code for failed tests; any other is our own mistake
            sys.stderr.write(done.stdout.decode()[-2000:])
            return "BROKEN RUN", took
        return "killed", took


def main(wanted: list[str]) -> int:
    chosen = [mutant for mutant in read_mutants() if all(word in mutant.name for word in wanted)]
    mutants = [mutant for mutant in chosen if not mutant.needs or importlib.util.find_spec(NEEDED[mutant.needs])]
    print("| mutant | file | outcome | seconds |\n|---|---|---|---|", flush=True)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        survivors = 0
        for mutant, (result, took) in zip(mutants, pool.map(outcome, mutants), strict=True):
            survivors += not result.startswith("killed")
            print(f"| {mutant.name} | {mutant.file} | {result} | {took:.0f} |", flush=True)
    print(f"\n{len(mutants) - survivors} of {len(mutants)} mutants killed")
    if left := len(chosen) - len(mutants):
        print(f"{left} left out, which need Spark: .venv-spark/bin/python tests/mutants/run.py spark")
    return 1 if survivors or not mutants else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
