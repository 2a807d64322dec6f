"""A study written down without its price, for a publication that pays for several statistics at once.

    clinic.publish({"ages": planned(quartiles, "visits.age"), "visits": "SELECT count(*) FROM visits"}, epsilon=1)

Promise: a planned study is called once on a source that stops it where it would pay, which tells its price and reads no
row. Once that is paid it is called again, on rows that allow the very event that was charged and no other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, get_args, get_type_hints

from tacit import parameters
from tacit.curator import Curator, Rows
from tacit.curator.elsewhere import ElsewhereRows
from tacit.curator.joint import Part
from tacit.errors import QuestionError
from tacit.noise import secure
from tacit.statistics.finding import Finding
from tacit.statistics.prepaid import Prepaid, price_of
from tacit.statistics.source import CuratorSource, EngineRows, Source, source_of

_NOT_OPTIONS: Final = frozenset(
    {"data", "columns", "epsilon", "delta", "analyst", "bounds", "values"}
)  # these are given elsewhere


@dataclass(frozen=True, slots=True)
class Planned:
    """A study to be made later: which columns or rows, which options, but no price.

    >>> from tacit.statistics import mean
    >>> planned(mean, "visits.cost").of
    'visits.cost'
    """

    study: Callable[..., Finding]
    of: str | Sequence[str] | Rows | ElsewhereRows
    options: Mapping[str, Any]

    @property
    def label(self) -> str:
        """Its name where none is given."""
        study = getattr(self.study, "__name__", "study").replace("_", " ")
        if isinstance(self.of, (Rows, ElsewhereRows)):
            columns = ", ".join(each.name for each in self.of.plan.variables)
        else:
            columns = self.of if isinstance(self.of, str) else ", ".join(map(str, self.of))
        return f"{study} of {columns}".capitalize()

    def part(self, curator: Curator, name: str, epsilon: Fraction, delta: Fraction, level: Fraction) -> Part:
        """Its part of a joint release, priced for this epsilon and delta, with intervals of this level."""
        options = dict(self.options)
        rows = options.pop("rows_per_unit", None)
        if isinstance(self.of, ElsewhereRows):
            raise QuestionError(f"{name!r} is about rows that lie elsewhere.")
        source = source_of(self.of) if isinstance(self.of, Rows) else source_of(curator, self.of, rows_per_unit=rows)
        if not isinstance(source, CuratorSource) or source.rows.curator is not curator:
            raise QuestionError(f"{name!r} is about the rows of another curator.")
        asking: dict[str, Any] = {**options, "epsilon": epsilon}
        known = _options(self.study) or ()
        asking |= {"delta": delta} if delta and "delta" in known else {}
        asking |= {"level": level} if "level" in known else {}

        def study(data: Source) -> Finding:
            return self.study(data, **asking)

        asked, price = price_of(source, None, study)

        def compute(run: Any, receipt: Any) -> str:
            opened, entry = EngineRows(source.rows.plan, run), str(receipt.sequence)
            allowance = Prepaid(source, opened, secure(), price.epsilon, price.delta, only=price.event, entry=entry)
            return study(allowance).to_bytes().decode()

        rows_asked = {"rows": source.rows.plan.text, "rows_per_unit": source.rows_per_unit}
        return Part({**asked, "name": name, **rows_asked}, price, compute)

    def read(self, text: str, *, repeated: bool) -> Finding:
        """The finding that its part released."""
        return Finding.from_bytes(text.encode(), repeated=repeated)


def planned(study: Callable[..., Finding], of: str | Sequence[str] | Rows | ElsewhereRows, **options: Any) -> Planned:
    """A study for `Curator.publish`: `planned(median, "visits.age")`. Its epsilon and delta are given there.

    >>> from tacit.statistics import median
    >>> planned(median, "visits.age").label
    'Median of visits.age'
    """
    for name in ("epsilon", "delta", "level", "analyst"):
        if name in options:
            raise parameters.refuse(name, "given to publish, for all statistics together", options[name])
    known = _options(study)
    for name in options:
        if known is not None and name not in known:
            listed = ", ".join(sorted(known - _NOT_OPTIONS))
            raise parameters.refuse(f"option of {getattr(study, '__name__', 'the study')}", f"one of {listed}", name)
    return Planned(study, of, options)


def _options(study: Callable[..., Finding]) -> frozenset[str] | None:
    """The names of a study's options, those of a typed record of options too; None where any name is allowed."""
    known = inspect.signature(study).parameters.values()
    names = {each.name for each in known if each.kind is not inspect.Parameter.VAR_KEYWORD}
    for each in known:
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            record = get_args(get_type_hints(study).get(each.name))
            if not record:
                return None
            names |= set(record[0].__annotations__)
    return frozenset(names)
