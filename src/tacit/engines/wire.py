"""The wire between the curator's process and its worker: a length, then that many bytes of JSON.

Promise: only whole numbers, text, true, false, null, lists and objects travel; nothing on it can run code. A message
longer than `LONGEST` is refused before it is read.
"""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO, Final

HEADER: Final = struct.Struct(">Q")
LONGEST: Final = 2**30


def pack(message: Any) -> bytes:
    """The bytes of a message."""
    body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    if len(body) > LONGEST:
        raise ValueError("message too long")
    return HEADER.pack(len(body)) + body


def length(header: bytes) -> int:
    """How many bytes follow this header."""
    (size,) = HEADER.unpack(header)
    if size > LONGEST:
        raise ValueError("message too long")
    return int(size)


def unpack(body: bytes) -> Any:
    """The message in these bytes."""
    return json.loads(body)


def receive(incoming: BinaryIO) -> dict[str, Any] | None:
    """The next message on a worker's side; None when the other end has closed."""
    header = incoming.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    message: dict[str, Any] = unpack(incoming.read(length(header)))
    return message


def send(outgoing: BinaryIO, message: dict[str, Any]) -> None:
    """Send a worker's reply; one that is too long is a failure like any other."""
    try:
        packed = pack(message)
    except (ValueError, MemoryError):
        packed = pack({"failed": True})
    outgoing.write(packed)
    outgoing.flush()
