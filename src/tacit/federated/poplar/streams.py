"""Seeds of 16 bytes made long by AES-128 under a public key: faster than a hash, for the inner nodes of a tree only.

    block i of a seed s is h(s xor i), h(x) = AES(key, f(x)) xor f(x), f(low half, high half) = (high, high xor low)
    key = TurboSHAKE128(tag length (2 bytes) | tag | what it is bound to), domain byte 2, 16 bytes

The key is not secret. It is different for each report, because it is bound to a nonce that the client draws.

Source: draft-irtf-cfrg-vdaf-20, section 6.2.2; Guo, Katz, Wang, Weng, Yu 2020, section 4.2.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from tacit.federated.prio.fields import Field, Vector
from tacit.federated.prio.seeds import elements

SEED: Final = 16  # bytes
Bytes: TypeAlias = NDArray[np.uint8]


class Blocks:
    """The blocks that follow from seeds, for one tag and one nonce."""

    def __init__(self, tag: bytes, bound_to: bytes) -> None:
        try:
            from Crypto.Hash import TurboSHAKE128
        except ImportError:
            raise ImportError("Secret-shared reports need pycryptodome: pip install 'tacit[federated]'.") from None
        state: Any = TurboSHAKE128.new(domain=2, data=len(tag).to_bytes(2, "little") + tag + bound_to)
        # one block at a time under a public key: a permutation, not a way to hide a text
        self._permutation = Cipher(algorithms.AES128(bytes(state.read(SEED))), modes.ECB()).encryptor()  # noqa: S305

    def of(self, seeds: Bytes, count: int, first: int = 0) -> Bytes:
        """Blocks `first`, `first` + 1, ... of each seed: a table of seeds x count x 16 bytes."""
        halves = np.ascontiguousarray(seeds).view("<u8").reshape(-1, 1, 2)
        low = halves[:, :, 0] ^ np.arange(first, first + count, dtype=np.uint64)
        high = np.broadcast_to(halves[:, :, 1], low.shape)
        turned = np.stack([high, high ^ low], axis=2).astype("<u8").view(np.uint8)
        stirred = np.frombuffer(self._permutation.update(turned.tobytes()), dtype=np.uint8)
        return np.asarray(stirred.reshape(len(low), count, SEED) ^ turned.reshape(len(low), count, SEED))

    def stream(self, seed: bytes) -> Stream:
        """The blocks of one seed, read one after the other."""
        return Stream(self, seed)


class Stream:
    """The bytes that follow from one seed."""

    def __init__(self, blocks: Blocks, seed: bytes) -> None:
        self._blocks, self._seed, self._read = blocks, np.frombuffer(seed, dtype=np.uint8), 0

    def bytes(self, count: int) -> bytes:
        """The next bytes."""
        first, last = self._read // SEED, (self._read + count) // SEED
        made, start = self._blocks.of(self._seed, last - first + 1, first).tobytes(), self._read % SEED
        self._read += count
        return made[start : start + count]

    def vector(self, field: Field, length: int) -> Vector:
        """The next uniform field elements."""
        return elements(field, self.bytes, length)
