"""Every deliberate mistake still fits the source that it spoils, and names tests that exist. `run.py` runs them."""

from __future__ import annotations

import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def test_every_mutant_fits_its_source() -> None:
    stale = []
    mutants = [each for path in sorted(HERE.glob("*.toml")) for each in tomllib.loads(path.read_text())["mutant"]]
    for mutant in mutants:
        source = ROOT / "src" / "tacit" / mutant["file"]
        fits = source.exists() and source.read_text().count(mutant["old"]) == 1
        tests = all(map(_is_there, mutant["tests"]))
        if not (fits and tests):
            stale.append(mutant["name"])
    assert len(mutants) > 300
    assert stale == []


def _is_there(test: str) -> bool:
    """A file, a folder, or a test by its name in a file."""
    path, _, name = test.partition("::")
    place = ROOT / path
    return place.exists() and (not name or f"def {name.partition('[')[0]}(" in place.read_text())
