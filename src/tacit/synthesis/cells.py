"""The columns of a synthetic table: which cells each has, and how a cell is written. All of it is public.

Listed values and truth values are cells; whole numbers and dates between bounds are their own cells where they are few;
all else is cut into bins between the bounds. A value inside a bin is drawn evenly among those that the column can have.

Promise: cells follow from public facts alone (`statistics.domains`), so a row that comes or goes changes its own cell
of every table and nothing else. A column that may miss values, and is named in `nulls`, has one more cell for them,
whether any row misses one or not. Rows that miss a value in one of the other columns, or lie outside of the listed
values, are left out as a whole: all tables are about the same rows.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.errors import QuestionError
from tacit.plan.row_plan import Cut, Variable
from tacit.policy.dates import EPOCH
from tacit.statistics.domains import MOST_CELLS, Bins, Domain, domain_of, limits_of
from tacit.statistics.source import Source

_FEW: Final = 128  # up to this many whole numbers are cells of their own
_BINS: Final = 32
_MOST_COLUMNS: Final = 64
MISSING: Final = "missing"  # the name of a cell of missing values


@dataclass(frozen=True, slots=True)
class Field:
    """A column of the synthetic table.

    `values` are the cells as people write them; or `edges`, whole numbers of `step`, are where the bins begin, the last
    of them where the last bin ends (both ends included). Where `nullable`, a last cell stands for missing values.
    """

    name: str
    kind: str  # "integer", "real", "text", "boolean", "date" or "timestamp"
    values: tuple[Any, ...] | None = None
    edges: tuple[int, ...] = ()
    step: Fraction = Fraction(1)
    nullable: bool = False

    @property
    def known(self) -> int:
        """How many cells of values."""
        return len(self.edges) - 1 if self.values is None else len(self.values)

    @property
    def size(self) -> int:
        """How many cells."""
        return self.known + self.nullable

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each cell."""
        missing = (MISSING,) * self.nullable
        if self.values is not None:
            return tuple(str(each) for each in self.values) + missing
        shown = [str(self.value(edge)) for edge in self.edges]
        closing = ")" * (self.known - 1) + "]"
        return tuple(f"[{shown[place]}, {shown[place + 1]}{closing[place]}" for place in range(self.known)) + missing

    @property
    def listed(self) -> tuple[Any, ...]:
        """The cells as keys of a table: listed values as they are, None for missing ones, bins by their names."""
        if self.values is not None:
            return self.values + (None,) * self.nullable
        return self.labels

    def value(self, code: int) -> Any:
        """A whole number of steps as people write it."""
        if self.kind == "date":
            return EPOCH.date() + datetime.timedelta(days=code)
        if self.kind == "timestamp":
            return EPOCH + datetime.timedelta(microseconds=code)
        return int(code * self.step) if self.kind == "integer" else float(code * self.step)

    def inside(self, cells: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
        """For each cell one of the codes of its bin, each as likely as the others."""
        edges = np.array(self.edges, dtype=np.int64)
        ends = edges[1:].copy()
        ends[-1] += 1  # the last bin is closed
        held = np.minimum(cells, self.known - 1)  # a missing value has a code that is never read
        return generator.integers(edges[:-1][held], ends[held])

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        values = None if self.values is None else [_plain(each) for each in self.values]
        content = {
            "name": self.name,
            "kind": self.kind,
            "values": values,
            "edges": list(self.edges),
            "step": parameters.as_text(self.step),
        }
        return content | {"nullable": True} if self.nullable else content

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Field:
        """What `to_dict` wrote."""
        kind, values = str(content["kind"]), content["values"]
        read = {"date": datetime.date.fromisoformat, "timestamp": datetime.datetime.fromisoformat}.get(kind)
        if values is not None and read is not None:
            values = [read(each) for each in values]
        edges = tuple(int(each) for each in content["edges"])
        step = parameters.rational("step", content["step"])
        nullable = content.get("nullable", False) is True
        return cls(str(content["name"]), kind, None if values is None else tuple(values), edges, step, nullable)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime.date) else value


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns with their cells, and how an engine counts them."""

    fields: tuple[Field, ...]
    domains: tuple[Domain, ...]
    kept: frozenset[int] = frozenset()  # columns whose rare values stay apart
    bought: frozenset[int] = frozenset()  # columns whose edges stand for ones that are still to be bought

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each column has."""
        return tuple(each.size for each in self.fields)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(each.name for each in self.fields)

    def described(self) -> list[dict[str, Any]]:
        """What shapes the tables, as JSON: part of the key of a release."""
        return [each.to_dict() for each in self.fields]


def layout_of(
    source: Source,
    bins: Mapping[str, Bins] | int | None,
    values: Any = None,
    cuts: Mapping[str, Collection[int]] | None = None,
    nulls: Any = None,
) -> Layout:
    """The cells of a source's columns. `bins`: how many, or edges, for one column or another, or a number for all.

    `cuts` are more places where bins begin, as codes. `nulls` are columns that have a cell for missing values.
    """
    variables = source.variables
    if len({each.name.casefold() for each in variables}) != len(variables):
        raise QuestionError(f"A column is named twice: {', '.join(each.name for each in variables)}.")
    if len(variables) > _MOST_COLUMNS:
        raise parameters.refuse("columns", f"at most {_MOST_COLUMNS}", len(variables))
    chosen = _chosen(variables, bins)
    made = [_made(each, chosen.get(each.name), _listed_values(values, each.name)) for each in variables]
    for place, (field, _) in enumerate(made):
        inside = {cut for cut in (cuts or {}).get(field.name, ()) if field.values is None and _begins(field, cut)}
        if inside:
            edges = [field.value(edge) for edge in sorted({*field.edges, *inside})]
            made[place] = _binned(variables[place], domain_of(variables[place], edges))
    for place in _nullable(variables, nulls):
        field, domain = made[place]
        made[place] = replace(field, nullable=True), domain.with_missing(variables[place])
    return Layout(tuple(field for field, _ in made), tuple(domain for _, domain in made))


def recut(layout: Layout, place: int, variable: Variable, domain: Domain) -> Layout:
    """The layout with other bins in one column."""
    field, own = _binned(variable, domain)
    if layout.fields[place].nullable:
        field, own = replace(field, nullable=True), own.with_missing(variable)
    fields, domains = list(layout.fields), list(layout.domains)
    fields[place], domains[place] = field, own
    return replace(layout, fields=tuple(fields), domains=tuple(domains))


def _nullable(variables: Sequence[Variable], nulls: Any) -> list[int]:
    """The columns that get a cell for missing values: all that may miss one, or those that are named."""
    able = {each.name.casefold(): place for place, each in enumerate(variables) if each.nullable}
    if nulls is None or isinstance(nulls, bool):
        return list(able.values()) if nulls else []
    found = []
    for name in [nulls] if isinstance(nulls, str) else nulls:
        if str(name).casefold() not in able:
            names = ", ".join(variables[place].name for place in able.values()) or "none of these columns"
            raise parameters.refuse("nulls", f"True, or columns that may miss values ({names})", name)
        found.append(able[str(name).casefold()])
    return found


def _begins(field: Field, cut: int) -> bool:
    """Whether a bin can begin at this code: not where the first one does, nor at the end of the last."""
    return field.edges[0] < cut < field.edges[-1]


def _chosen(variables: Sequence[Variable], bins: Any) -> dict[str, Bins]:
    if bins is None:
        return {}
    if isinstance(bins, Mapping):
        known = {each.name: each for each in variables}
        for name in bins:
            if name not in known:
                raise parameters.refuse("bins", f"a mapping from columns: {', '.join(known)}", name)
        return dict(bins)
    count = parameters.whole("bins", bins, least=1)
    return {each.name: count for each in variables if each.values is None and is_wide(each)}


def is_wide(variable: Variable) -> bool:
    """Whether a column of numbers has too many for a cell each."""
    low, high = limits_of(variable)
    return variable.rounded or high - low >= _FEW


def _listed_values(values: Any, name: str) -> tuple[Any, ...] | None:
    """Values as the caller's arrays have them: codes know them as texts."""
    given = values.get(name) if isinstance(values, Mapping) else values
    return None if given is None else tuple(given)


def _made(variable: Variable, bins: Bins, written: tuple[Any, ...] | None) -> tuple[Field, Domain]:
    if variable.values is None and variable.meaning == "text":
        hint = "State them: one_of(...) in the policy, or values= with arrays."
        raise QuestionError(f"Column {variable.name!r} is a text without listed values. {hint}")
    if bins is None and variable.values is None and is_wide(variable):
        low, high = limits_of(variable)
        bins = min(_BINS, high - low + 1)
    domain = domain_of(variable, bins)
    if domain.size > MOST_CELLS:
        raise parameters.refuse(f"cells of {variable.name!r}", f"at most {MOST_CELLS:,}", domain.size)
    if domain.edges is not None:
        return _binned(variable, domain)
    labels = domain.labels if written is None else written
    return Field(variable.name, _kind_of(variable, labels), tuple(labels)), domain


def _binned(variable: Variable, domain: Domain) -> tuple[Field, Domain]:
    assert isinstance(domain.asked, Cut)
    low, high = limits_of(variable)
    edges = [min(max(edge, low), high + 1) for edge in domain.asked.edges]
    edges[-1] -= 1  # the domain's last edge is one beyond the last code
    if any(low >= high for low, high in itertools.pairwise((*edges[:-1], edges[-1] + 1))):
        hint = "Use fewer bins."
        raise parameters.refuse(f"bins of {variable.name!r}", "such that each holds a value", domain.size, hint)
    return Field(variable.name, _kind_of(variable, None), None, tuple(edges), variable.step), domain


def _kind_of(variable: Variable, labels: Sequence[Any] | None) -> str:
    if variable.meaning in ("boolean", "date", "timestamp"):
        return variable.meaning
    if variable.meaning == "text":
        kinds = {type(each) for each in labels or ()}
        if kinds == {bool}:
            return "boolean"
        if kinds == {int}:
            return "integer"
        return "real" if kinds and kinds <= {int, float} else "text"
    whole = not variable.rounded and variable.step.denominator == 1
    return "integer" if whole else "real"
