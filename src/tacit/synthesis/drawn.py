"""Rows that were drawn from a model, for other programs: numpy, pandas, polars, Arrow, Parquet, CSV.

Names and types are those of the table's columns, whatever the values are. A column that may miss values is a masked
array, and reaches other programs as one of their types that have room for missing values. The libraries are looked for
when they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.answer.exported import DUCKDB_TYPES, library
from tacit.statistics.source import Whole
from tacit.synthesis.cells import Field

_TYPES: Final = {
    "integer": "int64",
    "real": "float64",
    "text": "object",
    "boolean": "bool",
    "date": "datetime64[D]",
    "timestamp": "datetime64[us]",
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Drawn:
    """Synthetic rows: an array for each column.

    >>> from tacit import synthesis
    >>> twin = synthesis.independent({"sex": ["F", "M", "F"]}, values={"sex": ["F", "M"]}, epsilon=1)
    >>> twin.sample(10).to_pandas().shape
    (10, 1)
    """

    kinds: dict[str, str]
    columns: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, fields: Sequence[Field], cells: Sequence[Whole], generator: np.random.Generator) -> Drawn:
        """The rows of these cells; inside a bin a value is drawn evenly."""
        columns = {each.name: _read(each, own, generator) for each, own in zip(fields, cells, strict=True)}
        return cls({each.name: each.kind for each in fields}, columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        return f"Drawn({len(self):,} rows of {', '.join(self.columns)})"

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A column's values."""
        return self.columns[name]

    def to_pandas(self) -> Any:
        """A pandas DataFrame."""
        return library("pandas").DataFrame(
            {name: self._in_pandas(name, own) for name, own in self.columns.items()}, copy=False
        )

    def _in_pandas(self, name: str, own: NDArray[Any]) -> Any:
        kind = self.kinds[name]
        own = own.astype("datetime64[us]") if kind == "date" else own
        if not isinstance(own, np.ma.MaskedArray):
            return own
        mask = np.ma.getmaskarray(own)
        if kind in ("integer", "boolean"):
            pandas = library("pandas")
            arrays = pandas.arrays.IntegerArray if kind == "integer" else pandas.arrays.BooleanArray
            return arrays(own.data.copy(), mask)
        values = own.data.copy()
        values[mask] = {"real": np.nan, "text": None}.get(kind, np.datetime64("NaT"))
        return values

    def to_polars(self) -> Any:
        """A polars DataFrame."""
        polars = library("polars")
        found = polars.DataFrame({name: polars.Series(name, self._listed(name)) for name in self.columns})
        masks = {name: self._mask(name) for name in self.columns}
        return found.with_columns(
            polars.when(polars.Series(mask)).then(None).otherwise(polars.col(name)).alias(name)
            for name, mask in masks.items()
            if mask is not None
        )

    def to_arrow(self) -> Any:
        """A pyarrow Table."""
        arrow = library("pyarrow")
        return arrow.table({name: arrow.array(self._listed(name), mask=self._mask(name)) for name in self.columns})

    def _listed(self, name: str) -> Any:
        own = np.ma.getdata(self.columns[name])
        return own.tolist() if own.dtype == object else own

    def _mask(self, name: str) -> NDArray[np.bool_] | None:
        """Which rows miss a value; None where no row may."""
        own = self.columns[name]
        return np.ma.getmaskarray(own) if isinstance(own, np.ma.MaskedArray) else None

    def to_csv(self, path: str | Path) -> None:
        """A file of comma-separated values with a header."""
        self._written(Path(path), "FORMAT csv, HEADER")

    def to_parquet(self, path: str | Path) -> None:
        """A Parquet file."""
        self._written(Path(path), "FORMAT parquet")

    def _written(self, path: Path, how: str) -> None:
        """By the engine that is always there, from arrays."""
        import duckdb

        rows = {f"c{place}": for_duckdb(own) for place, own in enumerate(self.columns.values())}
        named = ", ".join(
            f'CAST(c{place} AS {DUCKDB_TYPES[self.kinds[name]]}) AS "{name.replace(chr(34), chr(34) * 2)}"'
            for place, name in enumerate(self.columns)
        )
        target = path.as_posix().replace("'", "''")
        with duckdb.connect() as connection:
            connection.execute("SET enable_progress_bar = false")
            connection.register("drawn_rows", rows)
            connection.execute(f"COPY (SELECT {named} FROM drawn_rows) TO '{target}' ({how})")  # noqa: S608  # quoted


def for_duckdb(own: NDArray[Any]) -> NDArray[Any]:
    """An array of a kind that DuckDB reads: dates as moments."""
    return own.astype("datetime64[us]") if own.dtype.kind == "M" else own


def _read(each: Field, cells: Whole, generator: np.random.Generator) -> NDArray[Any]:
    if each.values is not None:
        return read_values(each, cells)
    return with_missing(each, read_codes(each, each.inside(cells, generator)), cells)


def with_missing(each: Field, values: NDArray[Any], cells: Whole) -> NDArray[Any]:
    """The values, masked where their cell is that of missing ones."""
    return np.ma.MaskedArray(values, cells == each.known) if each.nullable else values


def read_values(each: Field, cells: Whole) -> NDArray[Any]:
    """The listed values of cells."""
    assert each.values is not None
    listed = np.empty(each.size, dtype=object)
    listed[: each.known] = each.values
    listed[each.known :] = each.values[0]  # a missing value is masked
    return with_missing(each, listed.astype(_TYPES[each.kind])[cells], cells)


def read_codes(each: Field, codes: Whole) -> NDArray[Any]:
    """The values of codes inside bins."""
    if each.kind in ("date", "timestamp"):
        return codes.astype(_TYPES[each.kind])
    if each.kind == "integer":
        return codes * int(each.step)
    return codes.astype(np.float64) * float(each.step)
