"""Seeds made long: TurboSHAKE128 turns a seed into other seeds and into vectors of field elements.

    stream = tag length (2 bytes) | tag | seed length (1 byte) | seed | what it is bound to    with domain byte 1

Elements are read one after the other, of as many bits as the modulus has; a number that is not below the modulus is
skipped, so they are uniform.
TurboSHAKE128 (RFC 9861) comes from the extra `tacit[federated]` (pycryptodome).

Source: draft-irtf-cfrg-vdaf-20, section 6.2.
"""

from __future__ import annotations

from collections.abc import Callable

from tacit.federated.prio.fields import Field, Vector

SEED = 32  # bytes


class Stream:
    """The bytes that follow from a seed, a tag (what they are for) and what they are bound to."""

    def __init__(self, seed: bytes, tag: bytes, bound_to: bytes) -> None:
        try:
            from Crypto.Hash import TurboSHAKE128
        except ImportError:
            raise ImportError("Secret-shared reports need pycryptodome: pip install 'tacit[federated]'.") from None
        head = len(tag).to_bytes(2, "little") + tag + len(seed).to_bytes(1, "little") + seed
        self._state = TurboSHAKE128.new(domain=1, data=head + bound_to)

    def bytes(self, count: int) -> bytes:
        """The next bytes."""
        return bytes(self._state.read(count))

    def vector(self, field: Field, length: int) -> Vector:
        """The next uniform field elements."""
        return elements(field, self.bytes, length)


def elements(field: Field, stream: Callable[[int], bytes], length: int) -> Vector:
    """The first uniform field elements of a stream of bytes."""
    found, bits = list[int](), (1 << field.modulus.bit_length()) - 1
    while len(found) < length:
        drawn = field.read(stream(field.size * (length - len(found))))
        found += [each & bits for each in drawn if each & bits < field.modulus]
    return field.vector(found)


def derived(seed: bytes, tag: bytes, bound_to: bytes) -> bytes:
    """A new seed."""
    return Stream(seed, tag, bound_to).bytes(SEED)


def expanded(field: Field, seed: bytes, tag: bytes, bound_to: bytes, length: int) -> Vector:
    """A vector."""
    return Stream(seed, tag, bound_to).vector(field, length)
