"""A column of numbers with public bounds, as moments need it: codes counted from the lower bound, and their width.

Promise: everything here is public. A column that is not a number between two known bounds is refused before anything
is paid, so that a row's codes lie in [0, width] whatever the data are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import QuestionError
from tacit.plan.row_plan import Variable
from tacit.statistics.source import Source

_WIDEST = 1 << 43  # sums of 2**40 squares stay within an engine's 128 bits
_LONGEST = 10**150  # a float holds its square


@dataclass(frozen=True, slots=True)
class Bounded:
    """Codes from `low` to `low + width`; a code times `step` is what is meant."""

    name: str
    low: int
    width: int
    step: Fraction

    @property
    def span(self) -> float:
        """The distance of the bounds."""
        return float(self.width * self.step)

    def value(self, share: float) -> float:
        """What lies at this share of the way from the lower bound to the upper one."""
        return float(self.low * self.step) + share * self.span

    def share(self, value: Fraction) -> float:
        """How far along the way from the lower bound to the upper one a value lies."""
        return float((value / self.step - self.low) / self.width)


def bounded(variable: Variable) -> Bounded:
    """The column, where it is a number (or a truth value) with bounds that are not one point."""
    if variable.meaning not in ("number", "boolean"):
        raise QuestionError(f"Column {variable.name!r} is a {variable.meaning}. This study needs numbers.")
    low, high = variable.low, variable.high
    if variable.meaning == "boolean":
        low, high = 0, 1
    if low is None or high is None:
        raise QuestionError(f"Column {variable.name!r} has no bounds. State them: between(low, high) in the policy.")
    if low >= high:
        raise QuestionError(f"Column {variable.name!r} can only be {low}: there is nothing to find out.")
    if high - low >= _WIDEST:
        hint = "Narrower bounds, or a coarser unit, leave room for exact sums of squares."
        raise QuestionError(f"Column {variable.name!r} reaches over {high - low:,} steps, of 2**43 allowed. {hint}")
    if (high - low) * variable.step > _LONGEST:
        raise QuestionError(f"Column {variable.name!r} has bounds more than 1e150 apart. Narrower ones are needed.")
    return Bounded(variable.name, low, high - low, variable.step)


def all_bounded(source: Source, least: int = 1) -> tuple[Bounded, ...]:
    """All columns of the source, at least this many, with different names."""
    found = tuple(bounded(each) for each in source.variables)
    if len(found) < least:
        raise QuestionError(f"This study needs at least {least} columns, and {len(found)} was given.")
    if len({each.name.casefold() for each in found}) != len(found):
        raise QuestionError(f"A column is named twice: {', '.join(each.name for each in found)}.")
    return found
