"""A released table for other programs: CSV, Markdown, pandas, polars, Arrow, Parquet.

Promise: every noisy column `n` is followed by the ends of its 95 % intervals, `n_low` and `n_high`: so that a number
never leaves without its error. Names and types follow from the names and kinds of the columns alone, whatever the
values are; an end that is not finite is missing.
"""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tacit.answer.nested import bin_kind, element, in_csv, is_nested, plain
from tacit.answer.shown import safe
from tacit.errors import TacitError
from tacit.parameters import LEVEL
from tacit.plan.answers.bends import UNKNOWN

if TYPE_CHECKING:
    from tacit.answer.answer import Answer

_WIDE: Final = 2**63

_PANDAS: Final = {
    "integer": "Int64",
    "real": "float64",
    "text": "string",
    "boolean": "boolean",
    "date": "object",
    "timestamp": "datetime64[us]",
}
_POLARS: Final = {
    "integer": "Int64",
    "real": "Float64",
    "text": "String",
    "boolean": "Boolean",
    "date": "Date",
    "timestamp": "Datetime",
}
_ARROW: Final = {
    "integer": ("int64",),
    "real": ("float64",),
    "text": ("string",),
    "boolean": ("bool_",),
    "date": ("date32",),
    "timestamp": ("timestamp", "us"),
}
DUCKDB_TYPES: Final = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "text": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}


@dataclass(frozen=True, slots=True)
class Sheet:
    """A flat table that leaves: for each column its name, its kind and its values."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    columns: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, columns: Iterable[tuple[str, str, Sequence[Any]]]) -> Sheet:
        """The sheet of these columns."""
        listed = list(columns)
        return cls(
            tuple(name for name, _, _ in listed),
            tuple(kind for _, kind, _ in listed),
            tuple(tuple(values) for _, _, values in listed),
        )

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, in order."""
        return zip(*self.columns, strict=True)

    def records(self) -> list[dict[str, Any]]:
        """The rows for JSON, each value by its column's name."""
        return [dict(zip(self.names, map(plain, row), strict=True)) for row in self.rows()]

    def to_csv(self) -> str:
        """Comma-separated text with a header; lists and maps as JSON."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.names)
        writer.writerows([in_csv(value) for value in row] for row in self.rows())
        return out.getvalue()

    def to_markdown(self) -> str:
        """A table for a text that is written in Markdown."""
        numbers = [kind in ("integer", "real") for kind in self.kinds]
        lines = [self.names, ["---:" if number else "---" for number in numbers]]
        lines += [[_in_markdown(value) for value in row] for row in self.rows()]
        return "".join(f"| {' | '.join(_one_line(cell) for cell in line)} |\n" for line in lines)

    def to_parquet(self) -> bytes:
        """A Parquet file. Made by DuckDB, which is always installed; lists and maps as JSON."""
        import duckdb

        typed = [
            f"{quoted(name)} {DUCKDB_TYPES.get(kind, 'VARCHAR')}"
            for name, kind in zip(_distinct(self.names), self.kinds, strict=True)
        ]
        with tempfile.TemporaryDirectory(prefix="tacit-") as folder, duckdb.connect() as connection:
            path = Path(folder) / "sheet.parquet"
            connection.execute(f"CREATE TABLE sheet ({', '.join(typed)})")
            rows = [[in_csv(value) for value in row] for row in self.rows()]
            if rows:
                marks = ", ".join("?" for _ in typed)
                connection.executemany(f"INSERT INTO sheet VALUES ({marks})", rows)  # noqa: S608  # question marks
            connection.execute(f"COPY sheet TO '{path.as_posix()}' (FORMAT parquet)")
            return path.read_bytes()


def sheet_of(answer: Answer) -> Sheet:
    """An answer with the ends of its intervals next to every noisy column. Numbers beyond 64 bits become reals."""
    return Sheet.of(_narrow(name, kind, values) for name, kind, values in _with_ends(answer))


def _with_ends(answer: Answer) -> Iterator[tuple[str, str, Sequence[Any]]]:
    reaches = answer.reaches(float(LEVEL))
    taken = set(answer.names)
    for name, kind, column, far in zip(answer.names, answer.kinds, answer.columns, reaches, strict=True):
        yield name, kind, column
        if far is None:
            continue
        of = kind if kind == "integer" or is_nested(kind) else "real"
        for suffix, sign in (("_low", -1), ("_high", 1)):
            beside = name + suffix
            while beside in taken:
                beside += "_"
            taken.add(beside)
            yield beside, of, [_end(value, sign * reach) for value, reach in zip(column, far, strict=True)]


def _end(value: Any, off: float) -> Any:
    if value is None or not abs(off) <= UNKNOWN:
        return None
    if isinstance(value, dict):
        return {key: number + off for key, number in value.items()}
    return value + off


def _narrow(name: str, kind: str, column: Sequence[Any]) -> tuple[str, str, Sequence[Any]]:
    if kind == "integer" and not all(value is None or -_WIDE <= value < _WIDE for value in column):
        return name, "real", [None if value is None else float(value) for value in column]
    if _has_wide_bins(column):
        return name, kind, [_real_bins(value) for value in column]
    return name, kind, column


def _has_wide_bins(column: Sequence[Any]) -> bool:
    """Whether a histogram of the column has a number that 64 bits do not hold."""
    return any(not -_WIDE <= number < _WIDE for value in column if isinstance(value, dict) for number in value.values())


def _real_bins(value: Any) -> Any:
    return {key: float(number) for key, number in value.items()} if isinstance(value, dict) else value


def _is_real(column: Sequence[Any]) -> bool:
    """Whether the numbers of the column's histograms are reals."""
    return any(isinstance(number, float) for value in column if isinstance(value, dict) for number in value.values())


def to_pandas(sheet: Sheet) -> Any:
    """A pandas DataFrame."""
    pandas = library("pandas")
    return pandas.DataFrame(
        {
            name: pandas.Series(list(column), dtype=_PANDAS.get(kind, "object"))
            for name, kind, column in zip(sheet.names, sheet.kinds, sheet.columns, strict=True)
        }
    )


def to_polars(sheet: Sheet) -> Any:
    """A polars DataFrame."""
    polars = library("polars")

    def typed(kind: str, column: Sequence[Any]) -> Any:
        inside, key = element(kind), bin_kind(kind)
        if inside is not None:
            return polars.List(typed(inside, ()))
        if key is not None:  # polars has no maps
            number = polars.Float64 if _is_real(column) else polars.Int64
            return polars.List(polars.Struct({"key": typed(key, ()), "value": number}))
        return getattr(polars, _POLARS[kind])

    listed = zip(sheet.names, sheet.kinds, sheet.columns, strict=True)
    schema = {name: typed(kind, column) for name, kind, column in listed}
    columns = {
        name: [_pairs(value) for value in column] for name, column in zip(sheet.names, sheet.columns, strict=True)
    }
    return polars.DataFrame(columns, schema=schema)


def to_arrow(sheet: Sheet) -> Any:
    """A pyarrow Table."""
    arrow = library("pyarrow")

    def typed(kind: str, column: Sequence[Any]) -> Any:
        inside, key = element(kind), bin_kind(kind)
        if inside is not None:
            return arrow.list_(typed(inside, ()))
        if key is not None:
            return arrow.map_(typed(key, ()), arrow.float64() if _is_real(column) else arrow.int64())
        name, *unit = _ARROW[kind]
        return getattr(arrow, name)(*unit)

    def array(kind: str, column: Sequence[Any]) -> Any:
        values = [list(value.items()) if isinstance(value, dict) else value for value in column]
        return arrow.array(values, type=typed(kind, column))

    listed = zip(sheet.names, sheet.kinds, sheet.columns, strict=True)
    return arrow.table({name: array(kind, column) for name, kind, column in listed})


def _pairs(value: Any) -> Any:
    return [{"key": key, "value": number} for key, number in value.items()] if isinstance(value, dict) else value


def _in_markdown(value: Any) -> str:
    return "" if value is None else str(in_csv(value))


def _one_line(cell: str) -> str:
    return safe(cell).replace("|", "\\|")


def quoted(name: str) -> str:
    """A name in SQL, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def _distinct(names: Sequence[str]) -> list[str]:
    """A Parquet file has no two columns of one name, and some readers ignore case."""
    made: list[str] = []
    for name in names:
        own = name
        while own.lower() in (each.lower() for each in made):
            own += "_"
        made.append(own)
    return made


def library(name: str) -> Any:
    """A library that is imported only when it is needed."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise TacitError(f"This needs {name}, which is not installed. Install it with: pip install {name}") from None
