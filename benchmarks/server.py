"""What a server does in a second of one core, and what a remote question costs more than a local one.

It needs what serves, which the environment of the tests has: `_server_ours` runs there, as a program of its own.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parent / ".venv" / "bin" / "python"


def main() -> str:
    done = subprocess.run([PYTHON, HERE / "_server_ours.py"], check=True, capture_output=True, text=True)
    return done.stdout


if __name__ == "__main__":
    print(main())
