"""Frames: pandas, polars and Arrow tables in memory, as relations of a connection.

Promise: a frame's column types come from its schema, never from its values. Libraries are recognised, not imported:
whoever hands over a frame has its library already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tacit.engines import quoting
from tacit.engines.interrupts import as_keyboard_interrupts
from tacit.engines.sources import frame_name, kind_of
from tacit.errors import PolicyError
from tacit.policy.columns import Kind

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_KNOWN: Final = {("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")}


def register(connection: DuckDBPyConnection, frames: Mapping[str, Any]) -> None:
    """Make every frame a relation of the connection, under the name `frame_name` gives it."""
    import duckdb

    # An object column of pandas is text. Otherwise its type would be guessed from a sample of its values.
    connection.execute("SET pandas_analyze_sample = 0")
    for name, frame in frames.items():
        if _library(frame) not in _KNOWN:
            raise PolicyError(
                f"Table {name!r} must be a pandas or polars DataFrame or a pyarrow Table. "
                f"Got a {type(frame).__module__}.{type(frame).__qualname__} instead."
            )
        try:
            connection.register(frame_name(name), frame)
        except (duckdb.Error, ImportError):
            raise PolicyError(
                f"Table {name!r} cannot be read as a frame; polars frames need pyarrow to be installed."
            ) from None


@as_keyboard_interrupts()
def kinds_of_frame(name: str, frame: Any) -> dict[str, Kind | None]:
    """The kind of every column of a frame, from its schema alone; None for types that no question can use."""
    import duckdb

    with duckdb.connect() as connection:
        register(connection, {name: frame})
        rows = connection.execute(f"DESCRIBE {quoting.identifier(frame_name(name))}").fetchall()
    return {str(row[0]): kind_of(str(row[1])) for row in rows}


def _library(frame: Any) -> tuple[str, str]:
    kind = type(frame)
    return kind.__module__.partition(".")[0], kind.__name__
