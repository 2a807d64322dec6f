"""The worker: a process of its own that holds the working copy, read-only and locked, and runs one query at a time.

Promise: what goes wrong here stays here. The process can write no file, dumps no core, and has a limit on its address
space, because the engine's own memory limit does not bind scalar functions. The connection has no external access, no
extensions, no replacement scans, and its configuration is locked. One SELECT statement is run per message; its result
must be whole numbers and text. Any failure is the single word "failed": the engine's own message goes nowhere. The next
question may be announced before it is paid for; its text is then parsed, which looks at no table.

A process is started for every curator, so it loads little: of DuckDB only the library itself (`_duckdb`), without the
Python around it that is not used here, and numpy only for results that may be long. The query says whether a result may
be long, and that follows from public facts, so the loading time says nothing about rows.
"""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from tacit.engines import wire

_LONG = 1_000

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, Statement


def lock_process(address_space: int) -> None:
    """Let this process write no files, dump no core, and use no more memory than this."""
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def open_locked(path: str, memory: int, threads: int) -> DuckDBPyConnection:
    """The working copy, read-only, with every way out of the engine closed and the settings locked."""
    import _duckdb as duckdb

    connection = duckdb.connect(
        path,
        read_only=True,
        config={
            "memory_limit": f"{memory}B",
            "threads": threads,
            "temp_directory": "",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            "allow_persistent_secrets": "false",
        },
    )
    # Which blocks of one table are read must not follow from the rows of another that it is joined with.
    connection.execute("SET disabled_optimizers = 'join_filter_pushdown'")
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET preserve_insertion_order = false")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


Parsed: TypeAlias = tuple[str, "list[Statement]"]
"""A text and its statements."""


def parsed(connection: DuckDBPyConnection, sql: str) -> Parsed | None:
    """The statements of a text, or None. No table is looked at: the result depends on the text alone."""
    import _duckdb as duckdb

    try:
        return sql, connection.extract_statements(sql)
    except (duckdb.Error, MemoryError):
        return None


def answer(connection: DuckDBPyConnection, request: dict[str, Any], foretold: Parsed | None = None) -> dict[str, Any]:
    """The result of one query as plain columns, or {"failed": true}."""
    import _duckdb as duckdb

    if not request.get("few"):
        import numpy as np  # noqa: F401  # loaded before a row is read, while there is memory for it

    try:
        known = foretold is not None and foretold[0] == request["sql"]
        found = foretold if known else parsed(connection, request["sql"])
        if found is None or len(found[1]) != 1 or found[1][0].type != duckdb.StatementType.SELECT:
            return {"failed": True}
        cursor = connection.execute(found[1][0])
        described = cursor.description or []
        kinds = {column[0]: str(column[1]) for column in described}
        if len(kinds) < len(described):
            return {"failed": True}  # two columns of one name
        if not request.get("few") and _are_words(kinds, request):
            return _words(cursor.fetchnumpy(), request)
        rows = cursor.fetchall()
        by_name = {name: [row[index] for row in rows] for index, name in enumerate(kinds)}
        keys = [[wire.key(value) for value in by_name[name]] for name in request["keys"]]
        measures = [[wire.measure(value) for value in by_name[name]] for name in request["measures"]]
        return {"rows": len(rows), "keys": keys, "measures": measures}
    except (duckdb.Error, MemoryError, KeyError, TypeError):
        return {"failed": True}


def _are_words(kinds: dict[str, str], request: dict[str, Any]) -> bool:
    """Whether all measures are whole numbers of 64 bits, and all keys are, or texts."""
    keys, measures = ({kinds[name] for name in request[part]} for part in ("keys", "measures"))
    return keys <= {"BIGINT", "VARCHAR"} and measures == {"BIGINT"}


def _words(columns: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """The result column by column, without an object for every number."""
    import numpy as np

    measures = [np.ma.filled(columns[name], 0) for name in request["measures"]]
    rows = len(measures[0])
    keys = [columns[name].tolist() for name in request["keys"]]
    short = rows < _LONG
    return {"rows": rows, "keys": keys, "measures": [each.tolist() for each in measures] if short else measures}


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Read the set-up, open the copy, then answer until the other end closes."""
    setup = wire.receive(incoming)
    if setup is None:
        return
    import _duckdb as duckdb

    try:
        connection = open_locked(setup["path"], setup["memory"], setup["threads"])
        if "digest" in setup:
            _check_bounds(connection, setup["digest"])
        # The limit comes after the libraries are loaded and before the first query.
        lock_process(setup["address_space"])
        wire.send(outgoing, {"ready": True})
    except (duckdb.Error, OSError, ValueError):
        wire.send(outgoing, {"failed": True})
        return
    foretold: Parsed | None = None
    while (request := wire.receive(incoming)) is not None:
        if "soon" in request:  # a question that may come next, once it is paid for
            foretold = parsed(connection, request["soon"])
        else:
            wire.send(outgoing, answer(connection, request, foretold))
            foretold = None


def _check_bounds(connection: DuckDBPyConnection, digest: str) -> None:
    """Refuse a copy of other tables, or under other bounds, than the one whose digest this is."""
    if connection.execute("SELECT digest FROM tacit_about").fetchall() != [(digest,)]:
        raise ValueError("another copy")


if __name__ == "__main__":
    # The wire is a private copy of standard output; what a library might print goes nowhere.
    private = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with os.fdopen(0, "rb", closefd=False) as questions, os.fdopen(private, "wb") as answers:
        serve(questions, answers)
