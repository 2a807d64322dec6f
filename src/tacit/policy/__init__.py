"""What the owner promised: units, bounds, public facts about columns, budgets, analysts."""

from tacit.policy.columns import Column, Facts, Kind, Outside, Scalar, anything, auto, between, date_between, one_of
from tacit.policy.policy import Policy, Source, Table
from tacit.policy.reading import CsvReading
from tacit.policy.units import ColumnUnit, PathUnit, Resolved, RowUnit, Unit

__all__ = [
    "Column",
    "ColumnUnit",
    "CsvReading",
    "Facts",
    "Kind",
    "Outside",
    "PathUnit",
    "Policy",
    "Resolved",
    "RowUnit",
    "Scalar",
    "Source",
    "Table",
    "Unit",
    "anything",
    "auto",
    "between",
    "date_between",
    "one_of",
]


def __dir__() -> list[str]:
    return __all__
