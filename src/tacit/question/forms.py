"""What the record of a function is made of: how it is read, what it is on a row, and what it is on an answer.

Promise: mathematics and the parser's words alone. These descriptions know no table, no bounds and no price;
`plan.functions` is the one place that makes values and formulas of them. A function that no description here fits is
computed by the plan itself, and its record says by which name (`InPlan`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal as OneOf
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

Floats: TypeAlias = NDArray[np.float64]

# -- how it is read ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Nodes:
    """The parser has nodes for it, with its arguments in this order."""

    kinds: tuple[type[exp.Expr], ...]
    arguments: tuple[str, ...] = ("this",)


@dataclass(frozen=True, slots=True)
class ByName:
    """The parser knows its name alone."""


@dataclass(frozen=True, slots=True)
class OfBase:
    """A logarithm that can be written log(base, x), too: `question.rewritten` reads it."""

    base: int


@dataclass(frozen=True, slots=True)
class ReadIn:
    """It is written in several ways, and this file of the room reads them all."""

    file: str


Reading: TypeAlias = Nodes | ByName | OfBase | ReadIn

# -- what it is on a row, on an answer, or on both ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Curve:
    """A rising function f of one number, in floating point: an engine takes it on rows, numpy on answers.

    On a row the number is a whole number times the step of its grid. `step` says how f takes the product of both:
    as it is ("inside"), as f(a) f(b) ("multiplied"), or as f(a) + f(b) ("added").
    """

    node: type[exp.Expr]  # what engines call it
    of: Callable[[float | Fraction], float]  # the value at an exact number, for bounds
    values: Callable[[Floats], Floats]
    slopes: Callable[[Floats], Floats]
    domain: OneOf["every number", "from zero", "above zero"] = "every number"
    step: OneOf["inside", "multiplied", "added"] = "inside"
    times: float = 1.0  # f is this times what engines call `node`; only where the step is added
    flat: int | None = None  # below this number f is nearer to zero than any grid is fine, and is taken as it is here
    most: int | None = None  # above this number f is too large to be computed with, and refused


@dataclass(frozen=True, slots=True)
class Straight:
    """On an answer: a function of one number that is straight but for jumps, and how far it moves with the number.

    It moves as far as the number at the most ("slides"); by whole steps of 1/scale, so that far or up to a step more
    ("steps"); or from one sign to the other where the number passes zero ("flips").
    """

    values: Callable[[Floats, float], Floats]  # of numbers, and of the scale: 10 to the power of the decimals
    moves: OneOf["slides", "steps", "flips"]
    ranged: bool = False  # an interval of it is cut where the range of the number ends


@dataclass(frozen=True, slots=True)
class Outermost:
    """The least or the greatest of several that are not NULL."""

    node: type[exp.Least | exp.Greatest]


@dataclass(frozen=True, slots=True)
class Letters:
    """A text in other letters."""

    node: type[exp.Expr]
    word: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Trimmed:
    """On a row: a text without a character at one end of it, or at both (None)."""

    side: OneOf["LEADING", "TRAILING"] | None
    word: Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class CalendarPart:
    """On a row: a part of a date, by SQL's word for it; from `least` to `most`, or what the dates themselves span."""

    word: str
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class ClockPart:
    """On a row: a part of a time: it grows by one in so many microseconds, and is 0 again after so many turns."""

    microseconds: int
    turns: int


@dataclass(frozen=True, slots=True)
class InPlan:
    """The plan computes it under this name: on a row in that file of `plan.values`, on an answer in `plan.answers`."""

    name: str


OnRow: TypeAlias = Curve | Outermost | Letters | Trimmed | CalendarPart | ClockPart | InPlan
OnAnswer: TypeAlias = Curve | Straight | Outermost | Letters | InPlan

# -- curves ------------------------------------------------------------------------------------------------

LEAST_ROOT = 1e-9
"""Below this a root is taken for this much where its slope is asked for."""


def logarithm(base: float) -> Curve:
    """The logarithm to a base."""
    scale = 1.0 / math.log(base)
    return Curve(
        exp.Ln,
        lambda x: natural_logarithm(x) * scale,
        lambda x: np.log(x) * scale,
        lambda x: scale / np.where(x > 0, x, np.nan),
        domain="above zero",
        step="added",
        times=scale,
    )


def natural_logarithm(number: float | Fraction) -> float:
    """Also of fractions too large or too small for a float."""
    exact = Fraction(number)
    return math.log(exact.numerator) - math.log(exact.denominator)
