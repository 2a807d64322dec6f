"""The calendar of the grid: dates are days since 1970-01-01, and times are microseconds since its midnight in UTC."""

from __future__ import annotations

import datetime
from typing import Final

EPOCH: Final = datetime.datetime(1970, 1, 1)
"""Where both begin. Like every time that leaves it has no zone; times that come in as UTC say so."""
DAY: Final = 86_400_000_000
"""A day in microseconds."""
FIRST_DAY: Final = (datetime.date.min - EPOCH.date()).days
LAST_DAY: Final = (datetime.date.max - EPOCH.date()).days
"""The ends of Python's own calendar, which holds the years 1 to 9999."""
