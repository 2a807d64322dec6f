"""What a filter has counted so far: sums in its own unit, exact, with one canonical JSON text.

A filter made of several rules keeps their sums side by side: the first in `loss` and `delta`, the others in `beside`.
None in `beside` means that a release was made for which that rule has no finite price, so that rule admits nothing any
more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

from tacit import parameters
from tacit.parameters import as_digits, as_text, refuse

_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True, repr=False)
class Spent:
    """A filter's state: the loss summed so far in the filter's own unit, and the sum of the deltas.

    >>> from tacit.loss import Budget, BasicFilter
    >>> Spent(Fraction(1, 2)).within(BasicFilter(Budget(1)).limit)
    True
    """

    loss: Fraction = _ZERO
    delta: Fraction = _ZERO
    beside: tuple[Spent | None, ...] = ()

    def __add__(self, other: Spent) -> Spent:
        beside = _each(lambda ours, theirs: ours + theirs, self.beside, other.beside)
        return Spent(self.loss + other.loss, self.delta + other.delta, beside)

    def __sub__(self, other: Spent) -> Spent:
        beside = _each(lambda ours, theirs: ours - theirs, self.beside, other.beside)
        return Spent(self.loss - other.loss, self.delta - other.delta, beside)

    @property
    def each(self) -> tuple[Spent | None, ...]:
        """The sums of the single rules."""
        return (replace(self, beside=()), *self.beside)

    def within(self, limit: Spent) -> bool:
        """Whether the sums of some rule, the loss and the deltas, are both at most that rule's limit."""
        pairs = zip(self.each, limit.each, strict=False)
        return any(
            ours.loss <= most.loss and ours.delta <= most.delta
            for ours, most in pairs
            if ours is not None and most is not None
        )

    def map(self, change: Callable[[Fraction], Fraction]) -> Spent:
        """The same change made to every sum."""
        beside = tuple(None if part is None else part.map(change) for part in self.beside)
        return Spent(change(self.loss), change(self.delta), beside)

    def positive(self) -> Spent:
        """Sums below zero become zero."""
        return self.map(lambda amount: max(amount, _ZERO))

    def __str__(self) -> str:
        parts = [part._amount() if part is not None else "no finite price" for part in self.each]
        if len(parts) == 1:
            return f"{parts[0].capitalize()}, counted in the filter's own unit."
        said = "; ".join(f"{part} by rule {number}" for number, part in enumerate(parts, start=1))
        return f"{said.capitalize()}; the rule that leaves most decides."

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<p>{self}</p>"  # made of numbers and these words alone

    def _amount(self) -> str:
        """Rounded up: spending is never shown too small."""
        return f"a loss of {as_digits(self.loss)}" + (f" and a delta of {as_digits(self.delta)}" if self.delta else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: rationals as text."""
        own: dict[str, Any] = {"loss": as_text(self.loss), "delta": as_text(self.delta)}
        if self.beside:
            own["beside"] = [None if part is None else part.to_dict() for part in self.beside]
        return own

    @classmethod
    def from_dict(cls, content: Any) -> Spent:
        """The state that `to_dict` wrote."""
        if not isinstance(content, dict) or set(content) - {"beside"} != {"loss", "delta"}:
            raise refuse("state", "an object with the keys 'delta' and 'loss', and maybe 'beside'", content)
        beside = content.get("beside", [])
        if not isinstance(beside, list):
            raise refuse("state", "one whose 'beside' is a list", content)
        parts = tuple(None if part is None else cls.from_dict(part) for part in beside)
        loss, delta = (parameters.non_negative(name, content[name]) for name in ("loss", "delta"))
        return cls(loss, delta, parts)


Parts: TypeAlias = tuple[Spent | None, ...]


def _each(combine: Callable[[Spent, Spent], Spent], left: Parts, right: Parts) -> Parts:
    """Rule by rule. None stays None; the state before the first release means that nothing was spent under any rule."""
    if not left and not right:
        return ()
    left, right = left or (NOTHING,) * len(right), right or (NOTHING,) * len(left)
    if len(left) != len(right):
        raise refuse("state", "one that counts by the same rules", (len(left), len(right)))
    return tuple(
        None if ours is None or theirs is None else combine(ours, theirs)
        for ours, theirs in zip(left, right, strict=True)
    )


NOTHING = Spent()
"""The state before the first release."""
