"""Run benchmarks and write what they measured into RESULTS.md.

    python benchmarks/run.py                 every benchmark
    python benchmarks/run.py noise imports   only these

A benchmark is a module beside this one with `main() -> str`, which measures, prints as it goes if it likes, and
returns one Markdown section that opens with a "## " heading. Here the section is put between two marker comments
of the file, so that one benchmark can be run again without touching the figures of the others.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "RESULTS.md"
PREAMBLE = """# Results

Written by `python3 go.py bench`. Peers run in the same process or on the same machine within the same minute; read
the ratios rather than the times. CPU time unless a column says otherwise.
"""


ROOM = "_room"
"""What a file adds to its benchmark's name where that is also the name of a module that libraries import."""


def names() -> list[str]:
    """Every benchmark there is: one file each."""
    files = (path.stem for path in HERE.glob("*.py") if path.stem != "run" and not path.stem.startswith("_"))
    return sorted(stem.removesuffix(ROOM) for stem in files)


def module_of(name: str) -> str:
    """The module of a benchmark."""
    return name if (HERE / f"{name}.py").exists() else name + ROOM


def replace_section(text: str, name: str, section: str) -> str:
    """`text` with the section of that name replaced, or added at the end."""
    start, end = f"<!-- {name}: start -->", f"<!-- {name}: end -->"
    block = f"{start}\n{section.strip()}\n{end}"
    if start in text and end in text:
        before, rest = text.split(start, 1)
        _, after = rest.split(end, 1)
        return before + block + after
    return f"{text.rstrip()}\n\n{block}\n"


def machine() -> str:
    """One line about where the figures come from, without naming the machine."""
    return f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def main(arguments: list[str]) -> int:
    unknown = sorted(set(arguments) - set(names()))
    if unknown:
        print(f"There is no benchmark {', '.join(unknown)}. Benchmarks: {', '.join(names())}.", file=sys.stderr)
        return 2
    for name in arguments or names():
        section = f"{importlib.import_module(module_of(name)).main().strip()}\n\n({machine()})"
        text = RESULTS.read_text() if RESULTS.exists() else PREAMBLE
        RESULTS.write_text(replace_section(text, name, section))
        print(section, end="\n\n", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
