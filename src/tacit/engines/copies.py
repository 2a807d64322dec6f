"""What all working copies share, whatever the engine: how a build tells its progress, and what makes copies equal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Final, TypeAlias

from tacit.policy.policy import Policy

VERSION: Final = 4
"""Goes up when the same tables are copied otherwise than before, so that older copies are built again."""

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told the table that is next, the number of steps done, and of all steps."""


def digest(policy: Policy) -> str:
    """What the copy depends on in the policy: its tables, not its budgets."""
    tables = {
        name: {
            "source": asdict(table.source),
            "unit": [type(table.unit).__name__, asdict(table.unit) if table.unit is not None else None],
            "rows_per_unit": table.rows_per_unit,
            "columns": [asdict(column) for column in table.columns.values()],
            "public": table.public,
            "key": table.key,
        }
        for name, table in policy.tables.items()
    }
    content = json.dumps({"version": VERSION, "tables": tables}, sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()
