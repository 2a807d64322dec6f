"""Who is who, and the secrets that only two parties share.

Every party has an identity, an X25519 key; before a round, everyone agrees on a list of the public halves (the
`Setup`). Two identities make a secret without sending anything, and from it come keys for one round, two parties and
one purpose each: BLAKE2b with the secret as its key.

    authenticated   a tag of 16 bytes, keyed BLAKE2b: only these two parties can make it. Both can, so it convinces the
                    other and no third party, and no third party needs to be convinced here. A long
                    text (a masked vector) is tagged by its SHA-256, which processors compute three times as fast.
    sealed          ChaCha20-Poly1305 under a key of its own for each message

Signatures would do the same and cost a hundred times as much to check (125 microseconds against 1).
"""

from __future__ import annotations

import hashlib
import hmac
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from tacit.federated.refusals import Refused

KEY = 32  # bytes of a public key and of every secret
TAG = 16
_LONG = 4096  # bytes from which a text is tagged by its hash
_MOST_KNOWN = 1 << 16  # secrets that are kept in memory


class Identity:
    """A party's own key. Its bytes are a secret; `public` is for everyone.

    >>> len(Identity().public)
    32
    """

    def __init__(self, secret: bytes | None = None) -> None:
        self._key = X25519PrivateKey.generate() if secret is None else X25519PrivateKey.from_private_bytes(secret)
        self.public = self._key.public_key().public_bytes_raw()
        self._known: dict[bytes, bytes] = {}

    @property
    def secret(self) -> bytes:
        """The secret bytes, which make the same identity again."""
        return self._key.private_bytes_raw()

    def with_other(self, public: bytes) -> bytes:
        """The secret that only this party and the owner of a public key know."""
        try:
            return self._key.exchange(_read(public))
        except ValueError:
            raise Refused("A public key is not one that a secret can be made with.") from None

    def known_with(self, public: bytes) -> bytes:
        """The same, computed once: for parties who meet in round after round."""
        if public not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[public] = self.with_other(public)
        return self._known[public]

    def __repr__(self) -> str:
        return f"Identity({self.public.hex()})"


@lru_cache(maxsize=4096)  # a server meets the same keys again and again
def _read(public: bytes) -> X25519PublicKey:
    return X25519PublicKey.from_public_bytes(public)


def derived(secret: bytes, purpose: bytes, *bound_to: bytes) -> bytes:
    """A key for one purpose. Everything it is bound to has a fixed length, so that no two of them run together."""
    return hashlib.blake2b(b"".join(bound_to), key=secret, person=purpose, digest_size=KEY).digest()


def tag(key: bytes, *text: bytes | memoryview) -> bytes:
    """The tag of this text, which only the two who know the key can make."""
    if sum(map(len, text)) < _LONG:
        return hashlib.blake2b(b"".join(text), key=key, person=b"tacit agg tag", digest_size=TAG).digest()
    state = hashlib.sha256()
    for each in text:
        state.update(each)
    return hashlib.blake2b(state.digest(), key=key, person=b"tacit agg long", digest_size=TAG).digest()


def is_tag(found: bytes, key: bytes, *text: bytes | memoryview) -> bool:
    """Whether this is the tag of the text."""
    return hmac.compare_digest(found, tag(key, *text))


def sealed(key: bytes, text: bytes, bound_to: bytes) -> bytes:
    """A text that only those who know the key can read. The key is used for one text: its nonce is always the same."""
    return ChaCha20Poly1305(key).encrypt(bytes(12), text, bound_to)


def unsealed(key: bytes, text: bytes, bound_to: bytes) -> bytes:
    """The text again; refused if a bit of it, or of what it is bound to, has changed."""
    try:
        return ChaCha20Poly1305(key).decrypt(bytes(12), text, bound_to)
    except InvalidTag:
        raise Refused("A sealed text is not the one that was sent to this client.") from None
