"""A synthetic table: one release, then any number of questions, all free.

Promise: a `Synthetic` is made of released numbers only. Drawing from it, asking it and saving it cost nothing, and say
nothing about a person that the release did not say. It comes from the text that the ledger stores, the first time and
every time after.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tacit import parameters
from tacit.curator import Price
from tacit.noise import BitSource
from tacit.statistics.finding import Content, Finding
from tacit.statistics.source import Opened, Source
from tacit.synthesis.drawn import Drawn
from tacit.synthesis.merging import spread, spread_codes
from tacit.synthesis.model.drawing import drawn_rows
from tacit.synthesis.model.marginals import cells_of, marginal
from tacit.synthesis.model.tables import Columns, Table, summed
from tacit.synthesis.released import Release

Compute: TypeAlias = Callable[[Opened, BitSource], Release]

MOST_TABLE = 1 << 22
_MOST_ROWS = 1 << 30


class Synthetic:
    """A model of a table, with the columns' names and types. Everything that is done with it is free.

    >>> from tacit import synthesis
    >>> twin = synthesis.independent({"sex": ["F", "M", "F"]}, values={"sex": ["F", "M"]}, epsilon=1)
    >>> set(twin.sample(10)["sex"]) <= {"F", "M"}
    True
    """

    def __init__(self, finding: Finding) -> None:
        self._finding = finding
        self._release = Release.from_text(str(finding["release"]))
        self._tables = self._release.fitted.cliques()

    # -- looking ---------------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(each.name for each in self._release.fields)

    @property
    def method(self) -> str:
        """The method that made it."""
        return self._release.method

    @property
    def total(self) -> float:
        """The number of rows, as estimated from what was released."""
        return self._release.fitted.total

    @property
    def measured(self) -> tuple[tuple[str, ...], ...]:
        """The tables that were measured, by their columns, in the order in which they were measured."""
        return tuple(tuple(self.columns[place] for place in each.columns) for each in self._release.measured)

    @property
    def receipt(self) -> dict[str, str]:
        """Who paid what for it, and where it stands in the ledger."""
        return self._finding.receipt

    @property
    def repeated(self) -> bool:
        """Whether it was stored before, so that nothing was charged."""
        return self._finding.repeated

    @property
    def facts(self) -> dict[str, Any]:
        """What the method says in addition to its tables, e.g. a bound on its error."""
        return dict(self._release.facts)

    def __repr__(self) -> str:
        facts = self.receipt
        price = f"epsilon {facts['epsilon']}, delta {facts['delta']}"
        return f"Synthetic({self.method} of {', '.join(self.columns)}; about {self.total:,.0f} rows; {price})"

    # -- rows and tables -------------------------------------------------------------------------------

    def sample(self, count: int | None = None, *, seed: int | None = None) -> Drawn:
        """Rows of the model, as many as were estimated where `count` is left out. Free, as often as you like."""
        many = max(1, round(self.total)) if count is None else parameters.whole("count", count, least=1)
        if many > _MOST_ROWS:
            raise parameters.refuse("count", f"at most {_MOST_ROWS:,}", many)
        generator = np.random.default_rng(seed)
        fitted = self._release.fitted
        codes = drawn_rows(fitted.tree, self._tables, many, generator)
        return Drawn.of(
            self._release.fields,
            [spread_codes(codes[:, place], merge, generator) for place, merge in enumerate(self._release.merges)],
            generator,
        )

    def marginal(self, *columns: str | Sequence[str], level: parameters.Number = "0.95") -> Finding:
        """The model's table over these columns: expected counts, with intervals where it was measured."""
        from tacit.synthesis.shown_tables import shown_table

        return shown_table(self, self._places(columns), float(parameters.level("level", level)))

    def ask(self, sql: str, *, level: parameters.Number = "0.95", dialect: str = "duckdb") -> Finding:
        """The model's answer to a question in SQL, free. FROM may name any table: there is only this one.

        Counts, sums and means have intervals for the noise where a measured table holds the columns;
        the notes say which figures have none.
        """
        from tacit.synthesis.asking.questions import answered

        return answered(self, sql, float(parameters.level("level", level)), dialect)

    def probabilities(self, *columns: str) -> Table:
        """The model's table over these columns as an array of probabilities, one axis for each, in this order."""
        places = self._places(columns)
        table = self._table(tuple(sorted(places)))
        return np.transpose(table, np.argsort(np.argsort(places)))

    def _table(self, columns: Columns) -> Table:
        """Probabilities over single cells; columns in ascending order."""
        fields, tree = self._release.fields, self._release.fitted.tree
        if cells_of(columns, [each.size for each in fields]) > MOST_TABLE:
            names = ", ".join(fields[place].name for place in columns)
            raise parameters.refuse("columns", f"fewer: a table has at most {MOST_TABLE:,} cells", names)
        for held, table in self._release.tables:
            if set(columns) <= set(held):
                return summed(table, held, columns)
        return spread(marginal(tree, self._tables, columns), columns, self._release.merges)

    def _places(self, columns: Sequence[Any]) -> Columns:
        given = columns[0] if len(columns) == 1 and not isinstance(columns[0], str) else columns
        known = {name.casefold(): place for place, name in enumerate(self.columns)}
        found = []
        for name in given:
            if str(name).casefold() not in known:
                raise parameters.refuse("columns", f"among {', '.join(self.columns)}", name)
            found.append(known[str(name).casefold()])
        if not found or len(set(found)) != len(found):
            raise parameters.refuse("columns", "one or more different ones", list(given))
        return tuple(found)

    def card(self) -> str:
        """An HTML page: what was measured, the estimated error of every pair of columns, drawings of the tables."""
        from tacit.synthesis.card import card_of

        return card_of(self)

    def save_card(self, path: str | Path) -> Path:
        """Write the card to a file."""
        Path(path).write_text(self.card(), encoding="utf-8")
        return Path(path)

    # -- files -----------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> Path:
        """Write it to a file: JSON, no pickle."""
        Path(path).write_bytes(self._finding.to_bytes())
        return Path(path)


def load(path: str | Path) -> Synthetic:
    """A synthetic table that `save` wrote.

    >>> import pathlib, tempfile
    >>> from tacit import synthesis
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "twin.json"
    >>> synthesis.independent({"sex": ["F", "M", "F"]}, values={"sex": ["F", "M"]}, epsilon=1).save(path).name
    'twin.json'
    >>> load(path).columns
    ('sex',)
    """
    content = Path(path).read_bytes()
    try:
        finding = Finding.from_bytes(content)
        finding["release"]
    except (ValueError, KeyError, TypeError):
        raise parameters.refuse("path", "a file that Synthetic.save wrote", str(path)) from None
    return Synthetic(finding)


def synthesised(
    source: Source, asked: Mapping[str, Any], price: Price, compute: Compute, analyst: str | None
) -> Synthetic:
    """Pay, measure, fit, store; or take what is stored."""

    def content(opened: Opened, bits: BitSource) -> Content:
        release = compute(opened, bits)
        title = f"Synthetic data ({release.method}) of {', '.join(each.name for each in release.fields)}"
        return Content(title, (), (), {"release": release.to_text()})

    return Synthetic(source.release(json.loads(json.dumps(dict(asked))), price, content, analyst=analyst))
