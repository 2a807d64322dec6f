"""A PostgreSQL server of our own for the tests: made from the machine's binaries, on a socket, gone afterwards.

    with running() as server:                   # or the fixture `postgres` of tests/conftest.py, one a session
        url = server.url("postgres")            # an empty database: server.database("name")

It listens on a Unix socket in its own folder and on no port, so runs at the same time do not meet. It lies in memory
where there is some: flushes are made (fsync stays on, as in earnest) and cost nothing. PostgreSQL refuses to run as
root; root gives it to another user. `BINARIES` is None where the machine has no server: tests then skip and say so.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SETTINGS = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "listen_addresses": "",
    "max_connections": "60",
    "shared_buffers": "64MB",
    "autovacuum": "off",
    "jit": "off",
    "timezone": "UTC",
}


def _binaries() -> Path | None:
    """The folder of initdb, pg_ctl and postgres: the newest version that is installed."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if installed:
        return installed[-1].parent
    found = shutil.which("initdb")
    return None if found is None else Path(os.path.realpath(found)).parent


BINARIES = _binaries()
MISSING = "there is no PostgreSQL server on this machine (no /usr/lib/postgresql/*/bin/initdb)"


class Server:
    """A server and its folder. `stop(immediate=True)` is as good as pulling its plug; `start` recovers."""

    def __init__(self, folder: Path, binaries: Path, settings: dict[str, str]) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._binaries = binaries
        self._settings = settings
        self._user = _servant()
        if self._user is not None:
            os.chown(folder, self._user.pw_uid, self._user.pw_gid)
        self._run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self._configure(settings)
        self.start()

    def url(self, database: str = "postgres", user: str = "postgres", **options: str) -> str:
        """Where to connect to a database."""
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgresql://{user}@/{database}?host={self.folder}{more}"

    def database(self, name: str) -> str:
        """A new, empty database of this name; its address."""
        self.sql(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def drop(self, name: str) -> None:
        """Remove a database, whoever is still connected."""
        self.sql(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def sql(self, statement: str, database: str = "postgres") -> str:
        """Run a statement as the superuser; its rows as text, `|` between values, as `psql -At` prints them.

        Through the library: to start psql takes several times as long, and there are a thousand such statements.
        """
        from psycopg import pq  # not everywhere that other engines are tested

        connection = pq.PGconn.connect(self.url(database).encode())
        try:
            if connection.status != pq.ConnStatus.OK:
                raise RuntimeError(f"No connection to {database}: {connection.get_error_message()}")
            result = connection.exec_(statement.encode())
            if result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK, pq.ExecStatus.EMPTY_QUERY):
                raise RuntimeError(f"{statement}: {result.get_error_message()}")
            rows = range(result.ntuples), range(result.nfields)
            return "\n".join(
                "|".join((result.get_value(row, column) or b"").decode() for column in rows[1]) for row in rows[0]
            ).strip()
        finally:
            connection.finish()

    def start(self) -> None:
        """Begin to serve; what an immediate stop interrupted is recovered first."""
        self._run("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-w", "-t", "60", "start")

    def stop(self, immediate: bool = False) -> None:
        """End it: with a clean checkpoint, or at once without flushing anything."""
        self._run("pg_ctl", "-D", self.data, "-w", "-m", "immediate" if immediate else "fast", "stop")

    def _configure(self, settings: dict[str, str]) -> None:
        lines = {**SETTINGS, **settings, "unix_socket_directories": str(self.folder)}
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in lines.items())

    def _run(self, program: str, *arguments: str | Path) -> None:
        user = {} if self._user is None else {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        with tempfile.TemporaryFile() as output:  # a pipe would stay open in the server and be waited for
            done = subprocess.run(
                [self._binaries / program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                timeout=120,
                **user,  # type: ignore[call-overload]
            )
            output.seek(0)
            said = output.read().decode(errors="replace")
        if done.returncode:
            raise RuntimeError(f"{program} ended with {done.returncode}: {said}")


def _servant() -> pwd.struct_passwd | None:
    """Who runs the server: ourselves, or for root somebody who is not."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("no user 'postgres' or 'nobody' to run a PostgreSQL server as")


@contextmanager
def running(where: str | None = None, **settings: str) -> Iterator[Server]:
    """A fresh server in a temporary folder (below `where`), with these settings."""
    if BINARIES is None:
        raise RuntimeError(MISSING)
    memory = "/dev/shm"
    if where is None and sys.platform == "linux" and os.access(memory, os.W_OK):
        where = memory
    with tempfile.TemporaryDirectory(prefix="tacit-pg-", dir=where) as name:
        server = Server(Path(name), BINARIES, settings)
        try:
            yield server
        finally:
            server.stop(immediate=True)
