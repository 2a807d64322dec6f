"""What leaves: a table of noisy values, how far each may be off, and the receipt that paid for it.

Promise: an `Answer` is made from released numbers only, so all that it shows and all that is done with it is free. It
is read from the bytes that the ledger stores, the first time and every time after: a repeated answer equals the first.
Its intervals cover the noise that was added for privacy, even where noise decided which values are shown: then they
hold for all values that could have been shown. They do not cover what clamping and bounding left out, nor the sampling
of the people in the table. `notes` say what was left out and what cannot be known.
"""

from __future__ import annotations

import html
import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tacit import parameters
from tacit.answer import exported
from tacit.answer.chart import chart_spec
from tacit.answer.exported import Sheet, library, sheet_of
from tacit.answer.nested import around, bin_kind, is_nested, plain, read
from tacit.answer.shown import bars, key_text, off, readable, safe, shown
from tacit.errors import TacitError
from tacit.parameters import Number
from tacit.plan.answers.bends import UNKNOWN
from tacit.plan.answers.chosen import SEVERAL, SHARED, whole_reach
from tacit.plan.answers.chosen import reach as reach_of

_MOST_SHOWN: Final = 200
_NOTE: Final = "+/- covers the noise in 95 of 100 cases or more, not what clamping left out"
_NO_VALUE: Final = (
    "NULL among noisy values: the noisy numbers it is computed from leave none, such as a mean of no rows, or a "
    "correlation of columns whose spread is lost in the noise"
)
_NO_BOUND: Final = (
    "+/- ?: the noise may be as large as what is divided by, or as what the logarithm is taken of, so the exact value "
    "may be anything"
)


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """A released table. `deviations` holds the noise's standard deviation for each value, None for keys.

    `among` says for each column of how many noisy values its own were chosen by their noise (`plan.chosen`; 1, or (),
    where none was), `above` which number a count is above because keys with no more are not shown, `whole` of which
    columns the noise is in whole numbers (`ONE`, `SEVERAL` or `SHARED` noises), and `farthest` how far off each value
    can be at the most, by its bounds.
    `repeated` says that it was stored before and cost nothing; it does not make an answer another one. `united` says
    that it is made of the answers to several SELECTs (UNION ALL), which are stored one by one.

    >>> answer = Answer(("n",), ("integer",), ((3,),), (None,), False, {})
    >>> answer["n"], answer.names
    ((3,), ('n',))

    In the examples of its methods `answer` is the one to `SELECT ward, count(*) AS n FROM visits GROUP BY ward`.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    columns: tuple[tuple[Any, ...], ...]
    deviations: tuple[tuple[float, ...] | None, ...]
    heavy_tailed: bool
    facts: dict[str, str] = field(hash=False)
    repeated: bool = field(default=False, compare=False)
    among: tuple[int, ...] = ()
    above: tuple[int | None, ...] = ()
    whole: tuple[int, ...] = ()
    farthest: tuple[tuple[float | None, ...] | None, ...] = ()
    united: bool = field(default=False, compare=False)

    # -- to and from the ledger ------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """What the ledger stores."""
        columns = [[plain(value) for value in column] for column in self.columns]
        content = {
            "names": self.names,
            "kinds": self.kinds,
            "columns": columns,
            "deviations": self.deviations,
            "heavy_tailed": self.heavy_tailed,
            "facts": self.facts,
            "among": self.among,
            "above": self.above,
            "whole": self.whole,
            "farthest": self.farthest,
        }
        return json.dumps(content, sort_keys=True, ensure_ascii=True, allow_nan=False).encode()

    @classmethod
    def from_bytes(cls, payload: bytes, *, repeated: bool = False) -> Answer:
        """What `to_bytes` wrote."""
        content = json.loads(payload)
        columns = tuple(
            tuple(read(kind, value) for value in column)
            for kind, column in zip(content["kinds"], content["columns"], strict=True)
        )
        deviations = tuple(None if each is None else tuple(each) for each in content["deviations"])
        names, kinds = tuple(content["names"]), tuple(content["kinds"])
        return cls(
            names,
            kinds,
            columns,
            deviations,
            content["heavy_tailed"],
            content["facts"],
            repeated,
            tuple(content.get("among", ())),  # older answers have none of these
            tuple(content.get("above", ())),
            tuple(content.get("whole", ())),
            tuple(None if each is None else tuple(each) for each in content.get("farthest", ())),
        )

    def named(self, names: tuple[str, ...], notes: tuple[str, ...] | None = None) -> Answer:
        """The same answer under the names that this asker gave its columns; notes use these names."""
        if not notes:
            return replace(self, names=names)
        return replace(self, names=names, facts={**self.facts, "notes": "\n".join(notes)})

    # -- looking ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, in order.

        >>> [ward for ward, count in answer.rows()]
        ['north', 'south']
        """
        return zip(*self.columns, strict=True)

    def __getattr__(self, habit: str) -> Any:
        # only reached for missing names
        hint = f" Its columns: answer[{self.names[0]!r}], ..." if self.names else ""
        raise AttributeError(
            f"An answer has no {habit!r}.{hint} As a dataframe: answer.to_pandas(), answer.to_polars()."
        )

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        """A column by its name."""
        if name not in self.names:
            raise parameters.refuse("name", f"one of {', '.join(self.names)}", name)
        return self.columns[self.names.index(name)]

    @property
    def receipt(self) -> dict[str, str]:
        """Who paid what for it, and where it stands in the ledger."""
        return dict(self.facts)

    def intervals(self, level: Number = "0.95") -> dict[str, list[Any]]:
        """For each noisy column an interval around each value, which holds the exact one with this probability or more.

        An interval is (low, high); None for NULL and where nothing is known of the exact value; for a histogram a dict
        with one for each bin.
        Nearly, because several noises are combined by their slopes and by what quotients, products, roots and rounding
        add to these at 95 % (`plan.answers.bends`), and the wider of the normal and the Laplace law is taken.
        They cover the noise only, not what clamping and bounding left out.

        >>> low, high = answer.intervals("0.9")["n"][0]  # of the first row
        >>> low < answer["n"][0] < high
        True
        """
        wanted = float(parameters.level("level", level))
        found: dict[str, list[Any]] = {}
        for name, column, reaches in zip(self.names, self.columns, self.reaches(wanted), strict=True):
            if reaches is not None:
                found[name] = [
                    None if value is None else around(value, each) for value, each in zip(column, reaches, strict=True)
                ]
        return found

    def reaches(self, level: float) -> Iterator[list[float] | None]:
        """How far each value may be off. Whole numbers are off by whole numbers, so theirs is rounded up."""
        for place, (kind, column, spread) in enumerate(zip(self.kinds, self.columns, self.deviations, strict=True)):
            law = (level, self.heavy_tailed, self.among[place] if self.among else 1)
            reach = reach_of(*law)
            above = self.above[place] if self.above else None
            exact = kind == "integer" or bin_kind(kind) is not None
            if spread is None:
                yield None
                continue
            if self.whole and self.whole[place]:
                noises = {"several": self.whole[place] == SEVERAL, "shared": self.whole[place] == SHARED}
                far = [whole_reach(each, *law, **noises) for each in spread]
            else:
                far = [_up(reach * each) if exact else reach * each for each in spread]
            if self.farthest and (most := self.farthest[place]) is not None:
                far = [each if end is None else min(each, end) for each, end in zip(far, most, strict=True)]
            if above is not None:  # a count that barely passed may have any smaller exact value
                far = [
                    max(each, value) if value is not None and value - above < each else each
                    for value, each in zip(column, far, strict=True)
                ]
            yield far

    def __str__(self) -> str:
        header, *body = self._cells(_MOST_SHOWN)
        widths = [max(len(row[place]) for row in (header, *body)) for place in range(len(header))]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *body)
        ]
        if len(self) > _MOST_SHOWN:
            lines.append(f"... and {len(self) - _MOST_SHOWN:,} more rows")
        return "\n".join([*lines, *(f"({note})" for note in self.notes), f"({self._covered()}{self._price()})"])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        header, *body = ([html.escape(cell) for cell in row] for row in self._cells(_MOST_SHOWN))
        head = "".join(f"<th>{cell}</th>" for cell in header)
        drawn = [
            bars(column, None if is_nested(kind) else reaches)
            for kind, column, reaches in zip(self.kinds, self.columns, self.reaches(0.95), strict=True)
        ]
        rows = "".join(
            "<tr>" + "".join(f"<td>{cell}{bar[place]}</td>" for cell, bar in zip(row, drawn, strict=True)) + "</tr>"
            for place, row in enumerate(body)
        )
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            f"<p>{html.escape(''.join(f'{note}. ' for note in self.notes))}"
            f"{html.escape(self._covered())}{html.escape(self._price())}.</p>"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What else to know: how far quantiles and modes may be off, what was left out, what cannot be known."""
        chosen, said = self.facts.get("chosen"), self.facts.get("notes")
        missing = any(
            spread is not None and any(value is None for value in column)
            for column, spread in zip(self.columns, self.deviations, strict=True)
        )
        return (
            *(() if chosen is None else (f"In 95 of 100 cases, {chosen}",)),
            *(() if said is None else said.split("\n")),
            *((_NO_VALUE,) if missing else ()),
            *((_NO_BOUND,) if self._is_unbounded else ()),
        )

    @property
    def _is_unbounded(self) -> bool:
        """Whether some value has no interval for the exact one."""
        return any(
            value is not None and not reach <= UNKNOWN
            for column, reaches in zip(self.columns, self.reaches(0.95), strict=True)
            if reaches is not None
            for value, reach in zip(column, reaches, strict=True)
        )

    def _covered(self) -> str:
        """What +/- covers, where there is one."""
        return f"{_NOTE}; " if any(each is not None for each in self.deviations) else ""

    def _price(self) -> str:
        return "stored answer, nothing charged" if self.repeated else f"epsilon {readable(self.facts['epsilon'])}"

    def _cells(self, most: int) -> Iterator[list[str]]:
        yield [safe(name) for name in self.names]
        reaches = list(self.reaches(0.95))
        for place, row in enumerate(self.rows()):
            if place == most:
                return
            yield [
                key_text(value)
                if reach is None or value is None
                else f"{shown(value, reach[place])} +/- {off(reach[place])}"
                for value, reach in zip(row, reaches, strict=True)
            ]

    def chart(self) -> Any:
        """An Altair chart of the noisy columns with their error bars: `answer.chart().save("visits.html")`."""
        spec = self.chart_spec()
        return library("altair").Chart.from_dict(spec)

    def chart_spec(self) -> dict[str, Any]:
        """The same chart as Vega-Lite: a bar for every value, a line for where the exact one lies (95 of 100 times).

        >>> [bar["label"] for bar in answer.chart_spec()["data"]["values"]]
        ['north', 'south']
        """
        listed = zip(self.names, self.kinds, self.columns, self.reaches(0.95), strict=True)
        columns = [(name, column, reaches) for name, kind, column, reaches in listed if not is_nested(kind)]
        if all(reaches is None for _, _, reaches in columns):
            raise TacitError("This answer holds keys alone. A chart draws noisy columns: ask for count(*) beside them.")
        return chart_spec(columns)

    def card(self) -> str:
        """A paragraph to paste next to the figures.

        >>> "epsilon = 1, delta = 0, noise: discrete Laplace" in answer.card()
        True
        """
        facts = self.facts
        return (
            f"These figures were released with tacit under differential privacy: neighbours differ by {facts['unit']}, "
            f"epsilon = {readable(facts['epsilon'])}, delta = {readable(facts['delta'])}, noise: {facts['noise']}. "
            f"At most {facts['rows_per_unit']} row(s) of each unit were used; values were clamped to public bounds. "
            f"Intervals cover the noise, not the clamping. {''.join(f'{note}. ' for note in self.notes)}"
            f"Ledger entry {facts['entry']}."
        )

    # -- going elsewhere -------------------------------------------------------------------------------

    def sheet(self) -> Sheet:
        """The table that is exported: next to every noisy column the ends of its 95 % intervals."""
        return sheet_of(self)

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns by name, with `_low` and `_high` next to those that are noisy.

        >>> list(answer.to_dict())
        ['ward', 'n', 'n_low', 'n_high']
        """
        sheet = self.sheet()
        return {name: list(column) for name, column in zip(sheet.names, sheet.columns, strict=True)}

    def to_csv(self) -> str:
        """Comma-separated text with a header, with `_low` and `_high` columns.

        >>> answer.to_csv().splitlines()[0]
        'ward,n,n_low,n_high'
        """
        return self.sheet().to_csv()

    def to_markdown(self) -> str:
        """A table for a text in Markdown, with `_low` and `_high` columns.

        >>> print(answer.to_markdown().splitlines()[0])
        | ward | n | n_low | n_high |
        """
        return self.sheet().to_markdown()

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file, with `_low` and `_high` columns."""
        Path(path).write_bytes(self.sheet().to_parquet())

    def to_pandas(self) -> Any:
        """A pandas DataFrame, with `_low` and `_high` columns.

        >>> answer.to_pandas().shape
        (2, 4)
        """
        return exported.to_pandas(self.sheet())

    def to_polars(self) -> Any:
        """A polars DataFrame, with `_low` and `_high` columns."""
        return exported.to_polars(self.sheet())

    def to_arrow(self) -> Any:
        """A pyarrow Table, with `_low` and `_high` columns."""
        return exported.to_arrow(self.sheet())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def _up(reach: float) -> float:
    return math.ceil(reach) if math.isfinite(reach) else reach
