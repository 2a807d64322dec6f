"""The two directions of a pair of neighbours.

In "remove" P is the output with the unit and Q the one without it; in "add" they are swapped.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

Direction: TypeAlias = Literal["remove", "add"]

OTHER: dict[Direction, Direction] = {"remove": "add", "add": "remove"}
