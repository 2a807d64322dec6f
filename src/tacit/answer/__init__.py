"""What people see: answers, estimates, and the state of a budget. Made of released and public numbers only."""

from tacit.answer.answer import Answer
from tacit.answer.estimate import Estimate, reasons
from tacit.answer.standing import Standing

__all__ = ["Answer", "Estimate", "Standing", "reasons"]


def __dir__() -> list[str]:
    return __all__
