"""Every engine, open over the same tables for a whole session. A further engine is one name here and one context."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.engines.conformance.engines import Opened, on_duckdb, on_postgres, on_spark
from tests.engines.conformance.tables import TABLES, policy
from tests.postgres_server import Server

ENGINES = ("duckdb", "postgres", "postgres without a copy", pytest.param("spark", marks=pytest.mark.spark))


def _context(name: str, request: pytest.FixtureRequest):  # type: ignore[no-untyped-def]
    if name == "spark":
        folder: Path = request.getfixturevalue("tmp_path_factory").mktemp("spark")
        return on_spark(request.getfixturevalue("spark"), folder, TABLES, policy)
    server: Server = request.getfixturevalue("postgres")
    address = server.database("conformance_" + name.replace(" ", "_"))
    copy = "a copy" if name == "postgres" else "query"
    return on_postgres(address, TABLES, partial(policy, working_copy=copy))


@pytest.fixture(scope="session", params=ENGINES)
def opened(request: pytest.FixtureRequest, reference: Opened) -> Iterator[Opened]:
    """One engine after the other; DuckDB is the reference itself."""
    if request.param == "duckdb":
        yield reference
        return
    with ExitStack() as stack:
        yield stack.enter_context(_context(request.param, request))


@pytest.fixture(scope="session")
def reference() -> Iterator[Opened]:
    """The engine that the others are compared with."""
    with on_duckdb(TABLES, policy) as engine:
        yield engine
