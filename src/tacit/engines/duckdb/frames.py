"""Frames: pandas, polars and Arrow tables in memory, as relations of a connection.

Promise: a column's type comes from the frame's schema, never from its values, and what a row says depends on that row
alone. An object column of pandas is the text of each of its objects. What the engine cannot read (128-bit integers,
256-bit decimals, periods, complex numbers, Python objects of polars) has no kind: it cannot be asked about, but the
other columns can be used. Libraries are recognised, not imported: a caller with a frame has its library already.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from tacit.engines import quoting
from tacit.engines.duckdb.interrupts import as_keyboard_interrupts
from tacit.engines.sources import Relation, distinct_names, frame_name, kind_of
from tacit.errors import PolicyError
from tacit.policy.columns import Kind

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_KNOWN: Final = {("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")}
UNREADABLE: Final = "UNREADABLE"
"""The type of a column that the engine has no type for."""


def open_frame(connection: DuckDBPyConnection, name: str, frame: Any) -> Relation:
    """The frame as a relation of the connection, with the columns that the engine can read."""
    names = _names(name, frame)
    with connection.cursor() as beside:  # a type that cannot be read must not end a transaction of the connection
        types = _types(beside, name, frame, names)
    readable = [place for place, column in enumerate(names) if types[column] != UNREADABLE]
    _register(connection, name, _part(frame, readable))
    return Relation(quoting.identifier(frame_name(name)), types)


@as_keyboard_interrupts()
def kinds_of_frame(name: str, frame: Any) -> dict[str, Kind | None]:
    """The kind of every column of a frame, from its schema alone; None for types that no question can use."""
    import duckdb

    names = _names(name, frame)
    with duckdb.connect() as connection:
        types = _types(connection, name, frame, names)
    return {column: kind_of(found) for column, found in types.items()}


def check_keys(name: str, frame: Any, keys: Iterable[str]) -> None:
    """Refuse objects of several types as units: 7 and 7.0 are the same number with two texts."""
    if _library(frame)[0] != "pandas":
        return
    infer_dtype = sys.modules["pandas"].api.types.infer_dtype
    for key in keys:
        places = [place for place, column in enumerate(frame.columns) if str(column).casefold() == key.casefold()]
        column = frame.iloc[:, places[0]] if places else None
        if column is None or column.dtype != object:
            continue
        found = infer_dtype(column, skipna=True)
        if found not in ("string", "integer", "empty"):
            raise PolicyError(
                f"tables.{name}.unit: column {key!r} is an object column with values of type {found}. What names a "
                'unit must be of one type: make it text with .astype("string"), or whole numbers with .astype("Int64").'
            )


def _names(name: str, frame: Any) -> list[str]:
    library = _library(frame)
    if library not in _KNOWN:
        raise PolicyError(
            f"Table {name!r} must be a pandas or polars DataFrame or a pyarrow Table. "
            f"Got a {type(frame).__module__}.{type(frame).__qualname__} instead."
        )
    found = frame.column_names if library[0] == "pyarrow" else list(frame.columns)
    return distinct_names(name, (str(column) for column in found))


def _types(connection: DuckDBPyConnection, name: str, frame: Any, names: list[str]) -> dict[str, str]:
    """The engine's type of every column, found without rows; one by one where some columns have none."""
    import duckdb

    found = {}
    try:
        found = dict(zip(names, _described(connection, name, frame, range(len(names))), strict=True))
    except duckdb.Error:
        for place, column in enumerate(names):
            try:
                found[column] = _described(connection, name, frame, [place])[0]
            except duckdb.Error:
                found[column] = UNREADABLE
    return {
        column: UNREADABLE if _is_mixed_category(frame, place) else found[column] for place, column in enumerate(names)
    }


def _described(connection: DuckDBPyConnection, name: str, frame: Any, places: Iterable[int]) -> list[str]:
    _register(connection, name, _part(frame, list(places), rows=0))
    rows = connection.execute(f"DESCRIBE {quoting.identifier(frame_name(name))}").fetchall()
    return [str(row[1]) for row in rows]


def _register(connection: DuckDBPyConnection, name: str, frame: Any) -> None:
    # An object column of pandas is text. Otherwise its type would be guessed from a sample of its values.
    connection.execute("SET pandas_analyze_sample = 0")
    try:
        connection.register(frame_name(name), frame)
    except ImportError:
        raise PolicyError(
            f"Table {name!r} cannot be read as a frame; polars frames need pyarrow to be installed."
        ) from None


def _part(frame: Any, places: list[int], rows: int | None = None) -> Any:
    """Some of the columns, and all or the first of the rows."""
    library = _library(frame)[0]
    if library == "pandas":
        return frame.iloc[:rows, places]
    if library == "polars":
        chosen = frame.select([frame.columns[place] for place in places])
        return chosen if rows is None else chosen.head(rows)
    chosen = frame.select(places)
    return chosen if rows is None else chosen.slice(0, rows)


def _is_mixed_category(frame: Any, place: int) -> bool:
    """Whether it is a pandas category of anything but text: one missing value would turn it into doubles."""
    kind = frame.dtypes.iloc[place] if _library(frame)[0] == "pandas" else None
    categories = getattr(kind, "categories", None)
    return categories is not None and not all(isinstance(each, str) for each in categories)


def _library(frame: Any) -> tuple[str, str]:
    kind = type(frame)
    return kind.__module__.partition(".")[0], kind.__name__
