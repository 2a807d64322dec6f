"""What a person gets to see: answers, estimates, and how a budget stands. Made of released and public numbers only.

In the examples `clinic` is a curator of one table, `visits`, with the columns day, ward and charge.
"""

from tacit.answer.answer import Answer
from tacit.answer.estimate import Estimate, reasons
from tacit.answer.standing import Standing

__all__ = ["Answer", "Estimate", "Standing", "reasons"]


def __dir__() -> list[str]:
    return __all__
