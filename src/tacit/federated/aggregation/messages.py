"""What travels: one layout for all messages, with a version, a kind, a round, a sender, a receiver and a tag.

    "tacit agg" | version 1 | kind 1 | round 16 | sender 4 | receiver 4 | body | tag 16          (bytes)

A body is a sequence of fields whose lengths follow from the round and the kind, so every message has one text. The tag
is that of sender and receiver for this round. A message that is not exactly the expected one is refused before anything
of it is used: another version, kind, round, sender, receiver, length or a single changed bit.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from enum import IntEnum
from typing import Final

import numpy as np

from tacit.federated.aggregation.keys import TAG, is_tag, tag
from tacit.federated.refusals import Refused

SERVER: Final = 0xFFFFFFFF
_MAGIC: Final = b"tacit agg"
_VERSION: Final = 2
_HEAD: Final = struct.Struct(">9sBB16sII")


class Kind(IntEnum):
    """The messages of a round in their order; odd ones go to the server, even ones come from it."""

    ADVERTISE = 1  # a mask key, and a tag of it for each neighbour
    KEYS = 2  # the mask keys of neighbours, with their tags
    SHARES = 3  # for each neighbour, sealed: a share of both secrets
    SHARED = 4  # who shared; what they sealed for this client
    SAW_SHARED = 5  # for each neighbour, a tag of who shared
    SHARED_BY_ALL = 6  # the neighbours' tags
    MASKED = 7  # the input under its masks
    SURVIVED = 8  # who sent a masked input
    SAW_SURVIVED = 9
    SURVIVED_FOR_ALL = 10
    REVEALED = 11  # for each neighbour, a share of one of its secrets; for those who vanished, the mask with it too


def tagged(kind: Kind, round_digest: bytes, sender: int, receiver: int, body: bytes, key: bytes) -> bytes:
    """A message."""
    head = _HEAD.pack(_MAGIC, _VERSION, kind, round_digest, sender, receiver)
    return head + body + tag(key, head, body)


def sender_of(message: bytes) -> int:
    """The sender that a message names; nothing is checked yet."""
    _long_enough(message)
    sender: int = _HEAD.unpack_from(message)[4]
    return sender


def _long_enough(message: bytes) -> None:
    if not isinstance(message, bytes) or len(message) < _HEAD.size + TAG:
        raise Refused("The message is too short to be one.")


def read(message: bytes, kind: Kind, round_digest: bytes, sender: int, receiver: int, key: bytes) -> bytes:
    """The body of a message, if it is exactly the one expected."""
    _long_enough(message)
    magic, version, found_kind, found_round, found_sender, found_receiver = _HEAD.unpack_from(message)
    if (magic, version) != (_MAGIC, _VERSION):
        raise Refused(f"The message is not one of this protocol in version {_VERSION}.")
    if found_round != round_digest:
        raise Refused("The message belongs to another round.")
    if (found_sender, found_receiver) != (sender, receiver):
        raise Refused("The message is from or for somebody else.")
    if found_kind != kind:
        raise Refused(f"The message is out of order: {_name(found_kind)} came where {kind.name} is expected.")
    if not is_tag(message[-TAG:], key, memoryview(message)[:-TAG]):
        raise Refused("The message is not what its sender wrote.")
    return message[_HEAD.size : -TAG]


def _name(kind: int) -> str:
    return Kind(kind).name if kind in Kind.__members__.values() else f"kind {kind}"


def whole(body: bytes, size: int, count: int, head: int = 0) -> bytes:
    """A body of a head and exactly `count` fields of one size."""
    if len(body) != head + size * count:
        raise Refused(f"The message's body must have {head + size * count} bytes. Got {len(body)} instead.")
    return body


def number(client: int) -> bytes:
    """The number of a client, as written before a field about it; fields are in ascending order of these numbers."""
    return client.to_bytes(4, "big")


def read_numbered(body: bytes, size: int, allowed: Iterable[int]) -> dict[int, bytes]:
    """Fields of one size, each after its client's number, in ascending order, for some of the allowed clients."""
    if len(body) % (4 + size):
        raise Refused("The message's body has a broken length.")
    found = [
        (int.from_bytes(body[at : at + 4], "big"), body[at + 4 : at + 4 + size]) for at in range(0, len(body), 4 + size)
    ]
    clients = [client for client, _ in found]
    if clients != sorted(set(clients)) or not set(clients) <= set(allowed):
        raise Refused("The message's body names clients twice, in disorder, or that do not belong here.")
    return dict(found)


def set_of(clients: Iterable[int], many: int) -> bytes:
    """A set of clients, as one bit for each client."""
    size = (many + 7) // 8
    bits = np.zeros(8 * size, dtype=np.uint8)
    bits[8 * size - 1 - np.fromiter(clients, dtype=np.int64)] = 1  # the first client is the last bit
    return np.packbits(bits).tobytes()


def read_set(text: bytes, many: int) -> frozenset[int]:
    """The set that `set_of` wrote."""
    bits = np.unpackbits(np.frombuffer(text, dtype=np.uint8))[::-1]
    if len(text) != (many + 7) // 8 or bits[many:].any():
        raise Refused("The message's set of clients is not one of this round.")
    return frozenset(np.flatnonzero(bits).tolist())
