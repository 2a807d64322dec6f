"""Commands as somebody types them, run in the process of the test."""

from __future__ import annotations

from typer.testing import CliRunner, Result

from tacit.doors.cli import app


def run(*arguments: str, code: int = 0) -> Result:
    """Run a command. Whatever it ends with must be an exit with this code, never an escaped exception."""
    done = CliRunner().invoke(app, list(arguments))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    return done
