"""The tree of refusals."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest

from tacit import errors


def test_every_refusal_is_a_tacit_error_and_is_named_in_the_tree() -> None:
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, errors.TacitError)
        assert errors.__doc__ is not None
        assert name in errors.__doc__


def test_a_parameter_error_is_also_a_value_error() -> None:
    assert issubclass(errors.ParameterError, ValueError)


def test_a_spent_budget_carries_its_numbers_across_processes() -> None:
    spent = errors.BudgetExceeded("too much", asked=Fraction(1, 2), remaining=Fraction(1, 5))
    copy = pickle.loads(pickle.dumps(spent))
    assert type(copy) is errors.BudgetExceeded
    assert (str(copy), copy.asked, copy.remaining) == ("too much", Fraction(1, 2), Fraction(1, 5))


def test_a_spent_budget_cannot_be_raised_without_its_numbers() -> None:
    with pytest.raises(TypeError):
        errors.BudgetExceeded("too much")  # type: ignore[call-arg]
