"""What has been spent: append-only, hash-chained, durable before anything is released."""

from tacit.ledger.check import Report
from tacit.ledger.entry import Entry, Failed, Receipt
from tacit.ledger.ledger import Ledger, verify

__all__ = ["Entry", "Failed", "Ledger", "Receipt", "Report", "verify"]


def __dir__() -> list[str]:
    return __all__
