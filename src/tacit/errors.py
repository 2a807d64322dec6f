"""Every refusal of the house.

    TacitError
    |-- ParameterError     a public number or option is out of range (also a ValueError)
    |-- PolicyError        the owner's promise does not hold together
    |-- QuestionError      the question cannot be answered as it was asked
    |-- BudgetExceeded     the answer would cost more than is left; carries .asked and .remaining
    |-- LedgerError        what is spent could not be recorded, or the record is not what it was
    |   `-- Stopped        an answer failed after it was paid for, and the owner has not looked yet
    |-- Cancelled          the asker took it back before it was charged
    `-- EngineError        the place where the rows live did not do its part

An error says what was wrong, the value found, what is allowed, and how to mend it. It never
carries anything that was computed from private rows.
"""

from __future__ import annotations

from fractions import Fraction

__all__ = [
    "BudgetExceeded",
    "Cancelled",
    "EngineError",
    "LedgerError",
    "ParameterError",
    "PolicyError",
    "QuestionError",
    "Stopped",
    "TacitError",
]


class TacitError(Exception):
    """The root of every refusal.

    >>> import tacit
    >>> try:
    ...     tacit.Budget(-1)
    ... except TacitError as refusal:
    ...     print(refusal)
    The 'epsilon' parameter must be a finite number of at least 0. Got -1 instead.
    """


class ParameterError(TacitError, ValueError):
    """A public parameter is out of range. Nothing was released and nothing was charged.

    >>> issubclass(ParameterError, ValueError)
    True
    """


class PolicyError(TacitError):
    """The policy contradicts itself, or the tables it speaks of.

    >>> import tacit
    >>> tacit.between(3, 1).column("age", "integer")
    Traceback (most recent call last):
    ...
    tacit.errors.PolicyError: Column 'age': The lower bound must not be above the upper. Got 3 and 1 instead.
    """


class QuestionError(TacitError):
    """The question is outside the language, or asks for what may not leave.

    >>> from tacit.question import read
    >>> read("SELECT * FROM visits")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tacit.errors.QuestionError: '*' stands for whole rows (line 1, column 8). Name what you want to know, ...
    """


class LedgerError(TacitError):
    """The ledger is full, locked, damaged, older than its head, or another one. Nothing was released.

    >>> issubclass(Stopped, LedgerError)
    True
    """


class Stopped(LedgerError):
    """Something failed after it was paid for, and the owner has not looked yet. Nothing was charged.

    >>> issubclass(Stopped, LedgerError)
    True
    """


class Cancelled(TacitError):
    """The asker took it back in time. Nothing was charged and nothing was read.

    >>> issubclass(Cancelled, TacitError)
    True
    """


class EngineError(TacitError):
    """The engine refused, timed out or ran out of room. Its own words are never shown.

    >>> issubclass(EngineError, TacitError)
    True
    """


class BudgetExceeded(TacitError):
    """The budget does not cover the question. `asked` and `remaining` are in the budget's own unit.

    >>> refusal = BudgetExceeded("0.2 is left.", asked=Fraction(1, 2), remaining=Fraction(1, 5))
    >>> refusal.asked - refusal.remaining
    Fraction(3, 10)
    """

    def __init__(self, message: str, *, asked: Fraction, remaining: Fraction) -> None:
        super().__init__(message)
        self.asked = asked
        self.remaining = remaining

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only fields do not survive the default exception pickling across processes.
        return (_rebuild_budget_exceeded, (str(self), self.asked, self.remaining))


def _rebuild_budget_exceeded(message: str, asked: Fraction, remaining: Fraction) -> BudgetExceeded:
    return BudgetExceeded(message, asked=asked, remaining=remaining)
