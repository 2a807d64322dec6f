"""The wire between the curator's process and its worker: a length, then that many bytes of JSON and of words.

Promise: only whole numbers, text, true, false, null, lists and objects travel; nothing on it can run code. A message
longer than `LONGEST` is refused before it is read. A long column of numbers travels as the eight bytes of each, behind
the JSON, where {"words": [start, count]} stands in its place: a tenth of the work of writing and reading digits.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, BinaryIO, Final

if TYPE_CHECKING:  # a worker with short results never loads numpy, which takes longest to load
    import numpy as np
    import numpy.typing as npt

HEADER: Final = struct.Struct(">Q")
LONGEST: Final = 2**30


def pack(message: Any) -> bytes:
    """The bytes of a message."""
    columns: list[npt.NDArray[np.int64]] = []

    def apart(column: Any) -> dict[str, list[int]]:
        import numpy as np

        if not isinstance(column, np.ndarray) or column.dtype != np.int64 or column.ndim != 1:
            raise TypeError("not a column of whole numbers")
        start = sum(each.size for each in columns)
        columns.append(column)
        return {"words": [start, column.size]}

    text = json.dumps(message, separators=(",", ":"), allow_nan=False, default=apart).encode()
    body = b"".join([HEADER.pack(len(text)), text, *(column.astype("<i8").tobytes() for column in columns)])
    if len(body) > LONGEST:
        raise ValueError("message too long")
    return HEADER.pack(len(body)) + body


def length(header: bytes) -> int:
    """How many bytes follow this header."""
    (size,) = HEADER.unpack(header)
    if size > LONGEST:
        raise ValueError("message too long")
    return int(size)


def unpack(body: bytes) -> dict[str, Any]:
    """The message in these bytes. Any other bytes are a ValueError."""
    try:
        end = HEADER.size + length(body[: HEADER.size])
        message = json.loads(body[HEADER.size : end], object_hook=lambda found: _with_words(found, body, end))
    except (TypeError, struct.error, RecursionError):
        raise _no_message() from None
    if end > len(body) or not isinstance(message, dict):
        raise _no_message()
    return message


def _with_words(found: dict[str, Any], body: bytes, end: int) -> Any:
    if found.keys() != {"words"}:
        return found
    start, count = found["words"]
    if type(start) is not int or type(count) is not int or not 0 <= start <= start + count <= (len(body) - end) // 8:
        raise _no_message()
    import numpy as np

    return np.frombuffer(body, dtype="<i8", count=count, offset=end + 8 * start).astype(np.int64, copy=False)


def _no_message() -> ValueError:
    return ValueError("not a message")


def receive(incoming: BinaryIO) -> dict[str, Any] | None:
    """The next message on a worker's side; None when the other end has closed."""
    header = incoming.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    return unpack(incoming.read(length(header)))


def send(outgoing: BinaryIO, message: dict[str, Any]) -> None:
    """Send a worker's reply; one that is too long is a failure like any other."""
    try:
        packed = pack(message)
    except (ValueError, TypeError, MemoryError):
        packed = pack({"failed": True})
    outgoing.write(packed)
    outgoing.flush()


def key(value: Any) -> int | str | None:
    """A key of a result as it travels, or a TypeError."""
    if isinstance(value, bool):
        return int(value)
    if value is None or isinstance(value, (int, str)):
        return value
    raise TypeError("a key is a whole number, text or NULL")


def measure(value: Any) -> int:
    """A measure of a result as it travels, or a TypeError. The sum of no values is NULL in SQL and 0 here."""
    if value is None:
        return 0
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise TypeError("a measure is a whole number")
