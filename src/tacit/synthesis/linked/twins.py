"""Two synthetic tables that belong together: parents, and children that know their parents.

Promise: made of released numbers only, so that everything here is free. `parents` is the model of the parents' table
with the number of children as one more column; `children` is the model of the children's table joined to its parents.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from tacit import parameters
from tacit.statistics.finding import Finding
from tacit.synthesis.drawn import Drawn
from tacit.synthesis.linked.joining import Edge, drawn_children
from tacit.synthesis.merging import spread_codes
from tacit.synthesis.model.drawing import Codes, drawn_rows
from tacit.synthesis.released import Release
from tacit.synthesis.synthetic import Synthetic

_KEPT: Final = ("tables", "links", "texts", "parents")
_MOST_ROWS: Final = 1 << 28


class Linked:
    """Models of two tables, linked by a column of each.

    >>> sorted(name for name in dir(Linked) if name in ("ask", "sample", "save"))
    ['ask', 'sample', 'save']
    """

    def __init__(self, finding: Finding, asked: Mapping[str, Any] | None = None) -> None:
        told = json.loads(str(finding["linked"])) if asked is None else {name: asked[name] for name in _KEPT}
        self._told: dict[str, Any] = told
        self._finding = finding
        self.parents = Synthetic(finding)
        self.children = Synthetic(
            replace(finding, arrays={"release": finding["children"]}, title=f"{finding.title}: joined rows")
        )
        self._edges: list[Edge] = [(int(given), int(child)) for given, child in self.children.facts["edges"]]
        fields = len(self.children.columns)
        for given, child in self._edges:
            if not 0 <= given < fields or not len(self.parents.columns) <= child < fields:
                raise parameters.refuse("file", "one that Linked.save wrote", "something else")

    @property
    def tables(self) -> tuple[str, str]:
        """The two tables' names: parents, children."""
        over, under = self._told["tables"]
        return str(over), str(under)

    @property
    def receipt(self) -> dict[str, str]:
        """Who paid what for both, and where it stands in the ledger."""
        return self._finding.receipt

    @property
    def repeated(self) -> bool:
        """Whether it was stored before, so that nothing was charged."""
        return self._finding.repeated

    def __repr__(self) -> str:
        over, under = self.tables
        facts = self.receipt
        counted = f"about {self.parents.total:,.0f} and {self.children.total:,.0f} rows"
        return f"Linked({over} and {under}; {counted}; epsilon {facts['epsilon']}, delta {facts['delta']})"

    def sample(self, count: int | None = None, *, seed: int | None = None) -> tuple[Drawn, Drawn]:
        """Parents, as many as were estimated where `count` is left out, and their children. Free, as often as you like.

        The linking columns hold numbers from 0 on, which identify no real unit.
        """
        many = max(1, round(self.parents.total)) if count is None else parameters.whole("count", count, least=1)
        if many > _MOST_ROWS:
            raise parameters.refuse("count", f"at most {_MOST_ROWS:,}", many)
        generator = np.random.default_rng(seed)
        over, under = self.parents._release, self.children._release
        codes = drawn_rows(over.fitted.tree, self.parents._tables, many, generator)
        counted = len(over.fields) - 1
        whose = np.repeat(np.arange(many), codes[:, counted])
        rows = drawn_children(under.fitted, self.children._tables, self._edges, codes[whose], generator)
        first = _drawn(over, codes, range(counted), generator)
        second = _drawn(under, rows, range(counted + 1, len(under.fields)), generator)
        names = dict(self._told["parents"])
        renamed = Drawn(
            {names[name]: kind for name, kind in first.kinds.items()},
            {names[name]: own for name, own in first.columns.items()},
        )
        return self._linked(renamed, 0, np.arange(many)), self._linked(second, 1, whose)

    def _linked(self, drawn: Drawn, place: int, whose: Codes) -> Drawn:
        """The rows, with the column that names their unit first."""
        link, is_text = self._told["links"][place], self._told["texts"][place]
        values = np.array([str(each) for each in whose.tolist()], dtype=object) if is_text else whose
        kind = "text" if is_text else "integer"
        return Drawn({link: kind, **drawn.kinds}, {link: values, **drawn.columns})

    def ask(self, sql: str, **options: Any) -> Finding:
        """The joined rows' answer, free: every child with its parent's columns and the number of its siblings.

        A question about the parents alone is asked of `parents`, in which those without children count too.
        """
        return self.children.ask(sql, **options)

    def card(self) -> str:
        """An HTML page about both: the parents first, then the joined rows."""
        from tacit.synthesis.card import card_of_both

        return card_of_both(self)

    def save_card(self, path: str | Path) -> Path:
        """Write the card to a file."""
        Path(path).write_text(self.card(), encoding="utf-8")
        return Path(path)

    def save(self, path: str | Path) -> Path:
        """Write both models to a file: JSON, no pickle."""
        whole = replace(self._finding, arrays={**self._finding.arrays, "linked": json.dumps(self._told)})
        Path(path).write_bytes(whole.to_bytes())
        return Path(path)


def _drawn(release: Release, codes: Codes, places: range, generator: np.random.Generator) -> Drawn:
    cells = [spread_codes(codes[:, place], release.merges[place], generator) for place in places]
    return Drawn.of([release.fields[place] for place in places], cells, generator)


def load_linked(path: str | Path) -> Linked:
    """Two synthetic tables that `Linked.save` wrote.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "twins.json"
    >>> _ = path.write_text("{}")
    >>> load_linked(path)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tacit.errors.ParameterError: The 'path' parameter must be a file that Linked.save wrote. Got ...
    """
    content = Path(path).read_bytes()
    try:
        finding = Finding.from_bytes(content)
        told = json.loads(str(finding["linked"]))
        finding["release"], finding["children"]
        if [len(told[name]) for name in ("tables", "links", "texts")] != [2, 2, 2]:
            raise ValueError
        found = Linked(finding)
        over, under = found.parents.columns, found.children.columns
        if [shown for shown, _ in told["parents"]] != list(over[:-1]) or under[: len(over)] != over:
            raise ValueError
    except (ValueError, KeyError, TypeError):
        raise parameters.refuse("path", "a file that Linked.save wrote", str(path)) from None
    return found
