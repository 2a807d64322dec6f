"""What a study gives: a small released table, an interval next to each value that has one, and how it was paid for.

Promise: a `Finding` is made of released numbers only, so all that it shows and all that is done with it is free. It is
read from the bytes that the ledger stores, the first time and every time after. Each study says in `notes` what its
intervals cover, and which data are neighbours.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.answer import Answer
from tacit.answer.drawings import Drawn
from tacit.answer.exported import library
from tacit.answer.report import Reported
from tacit.answer.shown import readable, safe, shown
from tacit.errors import TacitError
from tacit.parameters import refuse

_MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a finding. `low` and `high` are the ends of its intervals; None for keys and what has none.

    >>> column("count", [3.0, float("nan")])  # what is no number is missing
    Column(name='count', kind='real', values=(3.0, None), low=None, high=None)
    """

    name: str
    kind: str  # "integer", "real", "text", "boolean", "date" or "timestamp"
    values: tuple[Any, ...]
    low: tuple[Any, ...] | None = None
    high: tuple[Any, ...] | None = None


def column(name: str, values: Any, low: Any = None, high: Any = None) -> Column:
    """A column from a list or an array of released values; its kind is that of the values' type."""
    plain = _listed(values)
    return Column(
        name,
        _kind(values, plain),
        tuple(plain),
        None if low is None else tuple(_listed(low)),
        None if high is None else tuple(_listed(high)),
    )


def as_shown(option: Any) -> int | float | str | bool:
    """What may be chosen, as a cell of a column: a number or a text as it is, anything else in words."""
    return option if isinstance(option, (int, float, str, bool)) else str(option)


@dataclass(frozen=True, slots=True)
class Content:
    """What a study's computation hands over: the table, words about it, and arrays that are more than a column.

    >>> Content("Ages", (column("age", [31]),)).drawing
    'bars'
    """

    title: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    arrays: Mapping[str, Any] = field(default_factory=dict)
    drawing: str = "bars"  # "bars" for a bar and a line for each row, "line" for a curve over the first column


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """A released study. Each interval holds what it is said to hold with a probability of at least `level`.

    >>> from tacit import statistics
    >>> found = statistics.edge_count([(0, 1)], nodes=3, epsilon=1)
    >>> found.names, found.receipt["epsilon"], list(found.intervals())
    (('edges',), '1', ['edges'])
    """

    title: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    arrays: Mapping[str, Any] = field(hash=False, compare=False)
    level: float
    facts: Mapping[str, str] = field(hash=False)
    drawing: str = "bars"
    repeated: bool = field(default=False, compare=False)

    # -- to and from the ledger ------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """What the ledger stores."""
        content = {
            "title": self.title,
            "columns": [[e.name, e.kind, e.values, e.low, e.high] for e in self.columns],
            "notes": self.notes,
            "arrays": {name: np.asarray(array).tolist() for name, array in self.arrays.items()},
            "level": self.level,
            "facts": dict(self.facts),
            "drawing": self.drawing,
        }
        return json.dumps(content, sort_keys=True, default=_isoformat).encode()

    @classmethod
    def from_bytes(cls, payload: bytes, *, repeated: bool = False) -> Finding:
        """What `to_bytes` wrote."""
        content = json.loads(payload)
        columns = tuple(
            Column(name, kind, tuple(_read(kind, v) for v in values), _ends(kind, low), _ends(kind, high))
            for name, kind, values, low, high in content["columns"]
        )
        arrays = {name: np.array(each) if isinstance(each, list) else each for name, each in content["arrays"].items()}
        notes, facts = tuple(content["notes"]), content["facts"]
        return cls(
            content["title"], columns, notes, arrays, content["level"], facts, content["drawing"], repeated=repeated
        )

    # -- looking ---------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(each.name for each in self.columns)

    @property
    def value(self) -> Any:
        """The one released value, where there is one row with one column that is not a key."""
        noisy = [each for each in self.columns if each.low is not None] or list(self.columns)
        if len(noisy) != 1 or len(noisy[0].values) != 1:
            raise TacitError(f"{self.title}: there are several values. Take a column: {', '.join(self.names)}.")
        return noisy[0].values[0]

    def __getitem__(self, name: str) -> Any:
        """A column's values, or an array, by name."""
        for each in self.columns:
            if each.name == name:
                return each.values
        if name in self.arrays:
            return self.arrays[name]
        raise refuse("name", f"one of {', '.join([*self.names, *self.arrays])}", name)

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, in order."""
        return zip(*(each.values for each in self.columns), strict=True)

    def intervals(self) -> dict[str, list[tuple[Any, Any] | None]]:
        """For each column that has them, the intervals at `level`; what they cover stands in `notes`."""
        return {
            each.name: [
                None if low is None or high is None else (low, high)
                for low, high in zip(each.low, each.high, strict=True)
            ]
            for each in self.columns
            if each.low is not None and each.high is not None
        }

    @property
    def receipt(self) -> dict[str, str]:
        """Who paid what for it, and where it stands in the ledger."""
        return dict(self.facts)

    def reported(self) -> Reported:
        """As a report shows it."""
        drawn = [Drawn(each.name, each.values, each.low, each.high) for each in self.columns]
        return Reported(drawn, self.notes, self.to_csv(), self.title, self.drawing, self.level)

    def card(self) -> str:
        """A paragraph to paste next to the figures."""
        facts = self.facts
        return (
            f"{self.title}. Released with tacit under differential privacy: neighbours differ by "
            f"{facts['neighbours']}, epsilon = {readable(facts['epsilon'])}, delta = {readable(facts['delta'])}. "
            f"{' '.join(self.notes)} Intervals: {100 * self.level:g} % or more. Ledger entry: {facts['entry']}."
        )

    def _price(self) -> str:
        paid = f"epsilon {readable(self.facts['epsilon'])}"
        if self.facts.get("delta", "0") != "0":
            paid += f", delta {readable(self.facts['delta'])}"
        if self.repeated:
            paid = "stored, nothing charged"
        return f"{paid}; neighbours differ by {self.facts['neighbours']}"

    def _cells(self) -> Iterator[list[str]]:
        yield [safe(each.name) for each in self.columns]
        for place in range(min(len(self), _MOST_SHOWN)):
            yield [_cell(each, place) for each in self.columns]

    def __str__(self) -> str:
        table = list(self._cells())
        widths = [max(len(row[place]) for row in table) for place in range(len(table[0]))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
        more = [f"... and {len(self) - _MOST_SHOWN:,} more rows"] if len(self) > _MOST_SHOWN else []
        return "\n".join([self.title, *lines, *more, *self.notes, f"({self._price()})"])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        header, *body = ([html.escape(cell) for cell in row] for row in self._cells())
        head = "".join(f"<th>{cell}</th>" for cell in header)
        rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in body)
        words = "".join(f"<p>{html.escape(note)}</p>" for note in (*self.notes, self._price()))
        title = html.escape(self.title)
        return f"<h4>{title}</h4><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{words}"

    # -- charts and going elsewhere --------------------------------------------------------------------

    def chart_spec(self) -> dict[str, Any]:
        """The finding as a Vega-Lite chart."""
        from tacit.statistics.charts import chart_spec

        return chart_spec(self)

    def chart(self) -> Any:
        """An Altair chart."""
        return library("altair").Chart.from_dict(self.chart_spec())

    def table(self) -> Answer:
        """The values and the ends of their intervals as a plain table, to export."""
        flat: list[Column] = []
        for each in self.columns:
            flat.append(each)
            if each.low is not None and each.high is not None:
                kind = each.kind if each.kind in ("date", "timestamp") else "real"
                flat += [Column(f"{each.name}_low", kind, each.low), Column(f"{each.name}_high", kind, each.high)]
        names, kinds = tuple(each.name for each in flat), tuple(each.kind for each in flat)
        none = (None,) * len(flat)
        return Answer(names, kinds, tuple(each.values for each in flat), none, False, dict(self.facts), self.repeated)

    def to_pandas(self) -> Any:
        """A pandas DataFrame, with the intervals next to the values."""
        return self.table().to_pandas()

    def to_polars(self) -> Any:
        """A polars DataFrame, with the intervals next to the values."""
        return self.table().to_polars()

    def to_arrow(self) -> Any:
        """A pyarrow Table, with the intervals next to the values."""
        return self.table().to_arrow()

    def to_csv(self) -> str:
        """Comma-separated text, with the intervals next to the values."""
        return self.table().to_csv()


def _cell(each: Column, place: int) -> str:
    value, low, high = (None if cells is None else cells[place] for cells in (each.values, each.low, each.high))
    if low is None or high is None:
        return shown(value)
    # a half-width, only where the ends are numbers and not dates
    reach = abs(high - low) / 2 if all(isinstance(end, (int, float)) for end in (low, high)) else None
    return f"{shown(value, reach)} [{shown(low, reach)}, {shown(high, reach)}]"


def _listed(values: Any) -> list[Any]:
    """Values as Python's own, so that JSON and every reader sees the same; what is not finite is missing."""
    plain: Sequence[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    found = [each.item() if isinstance(each, np.generic) else each for each in plain]
    return [None if isinstance(each, float) and not np.isfinite(each) else each for each in found]


def _kind(values: Any, plain: Sequence[Any]) -> str:
    dtype = getattr(values, "dtype", None)
    if dtype is not None and dtype.kind in "iufb":
        return {"i": "integer", "u": "integer", "f": "real", "b": "boolean"}[dtype.kind]
    kinds = {type(each).__name__ for each in plain if each is not None}
    if kinds <= {"int"}:
        return "integer"
    if kinds <= {"int", "float"}:
        return "real"
    known = {"str": "text", "bool": "boolean", "date": "date", "datetime": "timestamp"}
    return known.get(kinds.pop(), "text") if len(kinds) == 1 else "text"


def _isoformat(value: Any) -> str:
    return str(value.isoformat())


def _ends(kind: str, ends: Any) -> tuple[Any, ...] | None:
    return None if ends is None else tuple(_read(kind, end) for end in ends)


def _read(kind: str, value: Any) -> Any:
    import datetime

    if isinstance(value, str) and kind == "date":
        return datetime.date.fromisoformat(value)
    if isinstance(value, str) and kind == "timestamp":
        return datetime.datetime.fromisoformat(value)
    return value
