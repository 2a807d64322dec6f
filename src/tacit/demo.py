"""`python -m tacit.demo`: a private database of a made-up clinic; `python -m tacit.demo mechanisms`: small examples."""

from __future__ import annotations

import sys

from tacit.doors.cli import app

if __name__ == "__main__":
    app(["demo", *sys.argv[1:]], prog_name="tacit")
