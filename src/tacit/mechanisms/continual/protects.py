"""Neighbouring streams: whose traces are hidden, and how far a unit can move one step.

    one_event()          one row at one step, added or removed
    any_window(30)       one row at each of up to 30 steps in a row (w-event privacy)
    one_user(12)         all that a user does, at most 12 times; the caller makes sure of that

Source: Dwork, Naor, Pitassi, Rothblum 2010 (event and user level); Kellaris, Papadopoulos, Xiao, Papadias 2014
(w-event).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit import parameters


@dataclass(frozen=True, slots=True)
class Protects:
    """Whose traces are hidden: a unit changes at most `times` steps, any two at least `apart` from each other.

    >>> one_event().words
    'one event'
    """

    times: int = 1
    apart: int = 1
    words: str = "one event"


@dataclass(frozen=True, slots=True)
class Change:
    """How far a unit can move the vector of one step: whole numbers, in L1 and L2 norm, in this many of its cells.

    >>> Change(l1=3, cells=2).l1
    3
    """

    l1: int = 1
    l2: Fraction = Fraction(1)
    cells: int = 1


def one_event() -> Protects:
    """Neighbours differ by one event: one row at one step.

    >>> one_event().times
    1
    """
    return Protects()


def any_window(steps: int) -> Protects:
    """w-event privacy: neighbours differ by one event at each of up to `steps` steps in a row.

    >>> any_window(30).times
    30
    """
    return Protects(parameters.whole("steps", steps, least=1), 1, f"whatever happens within {steps} steps in a row")


def one_user(times: int, *, apart: int = 1) -> Protects:
    """Neighbours differ by all that one user does, at most `times` times, each at least `apart` steps after the last.

    The caller makes sure that no user is counted more often.

    >>> one_user(12, apart=7).apart
    7
    """
    most = parameters.whole("times", times, least=1)
    distance = parameters.whole("apart", apart, least=1)
    return Protects(most, distance, f"all that one user does, at most {most} times, {distance} steps apart or more")
