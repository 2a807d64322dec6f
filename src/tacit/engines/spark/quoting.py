"""Names and values as Spark SQL text. Whatever a text holds, the parser sees only its hexadecimal digits.

Promise: no value can end its literal early, because how Spark reads backslashes and quotes depends on settings
(`escapedStringLiterals`, variable substitution) while a literal of bytes depends on none.
"""

from __future__ import annotations

import math
from typing import Final

from tacit.errors import EngineError

WIDE: Final = "DECIMAL(38, 0)"
"""The type of numbers beyond 64 bits: every whole number of at most 38 digits, exactly."""


def identifier(*parts: str) -> str:
    """A quoted, possibly qualified name."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def text(value: str) -> str:
    """A string constant."""
    return f"CAST(X'{hexadecimal(value)}' AS STRING)"


def hexadecimal(value: str) -> str:
    """A text's UTF-8 bytes in hexadecimal digits."""
    try:
        return value.encode().hex().upper()
    except UnicodeEncodeError:
        raise EngineError("A text that is not Unicode (half of a surrogate pair) cannot be used.") from None


def whole(value: int) -> str:
    """An integer constant of 64 bits."""
    return f"CAST({value:d} AS BIGINT)"


def double(value: float) -> str:
    """A double constant that reads back as the same double."""
    if math.isinf(value):
        return f"CAST('{'-' if value < 0 else ''}Infinity' AS DOUBLE)"
    return f"CAST('{value!r}' AS DOUBLE)"
