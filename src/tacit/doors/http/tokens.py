"""Tokens: who may come in. A token is a secret text that is shown once, when it is made.

    tacit-0f3c9a1b2d4e-kJ8...      the word tacit, the token's number, and 256 random bits

Promise: the file of tokens holds no secret, only scrypt hashes of them, and can be read by its owner alone. A token
belongs to one dataset, to one name and to one role, and has an end. One that was revoked is refused from the next
request on, even by a running server: it looks at the file before each request.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from tacit import parameters
from tacit.doors.http.roles import Role
from tacit.errors import PolicyError
from tacit.ledger import disk

LONGEST_DAYS: Final = 3_650
_COST: Final = {"n": 2**14, "r": 8, "p": 1, "dklen": 32}
_PREFIX: Final = "tacit"
OWNER: Final = "owner"
"""The name under which the owner asks, which no one else can have."""


@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of a token. `expires` is UTC."""

    id: str
    name: str
    role: Role
    created: str
    expires: str
    salt: str
    hash: str

    def is_over(self, now: datetime | None = None) -> bool:
        """Whether its time has passed."""
        return datetime.fromisoformat(self.expires) <= (now or datetime.now(UTC))

    def opens_with(self, secret: str) -> bool:
        """Whether this is its secret. Takes some 50 ms: a guess is meant to be slow."""
        return hmac.compare_digest(_hashed(secret, base64.b64decode(self.salt)), base64.b64decode(self.hash))


class TokenFile:
    """The tokens of one policy, in a file next to it: clinic.toml has clinic.tokens."""

    def __init__(self, policy: Path) -> None:
        self.policy = policy
        self.path = policy.with_suffix(".tokens")

    def all(self) -> tuple[Token, ...]:
        """Every token that was not revoked, expired ones too."""
        try:
            if self.path.stat().st_mode & 0o077:
                raise PolicyError(
                    f"The tokens in {self.path} may be read by others. Make the file yours alone: chmod 600 {self.path}"
                )
            content = json.loads(self.path.read_text(encoding="utf-8"))
            return tuple(Token(**{**each, "role": Role(each["role"])}) for each in content["tokens"])
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, KeyError, TypeError):
            raise PolicyError(f"The tokens in {self.path} cannot be read. Put back a copy, or make new ones.") from None

    def state(self) -> tuple[int, ...]:
        """A value that changes when the file does."""
        try:
            found = self.path.stat()
        except OSError:
            return ()
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode

    def add(self, name: str, role: Role, days: int) -> tuple[Token, str]:
        """A new token, and its text, which is not kept anywhere."""
        if not isinstance(name, str) or not 0 < len(name) <= 256 or not name.isprintable():
            raise parameters.refuse("name", "a printable text of 1 to 256 characters", name)
        if (name == OWNER) != (role is Role.OWNER):
            raise parameters.refuse("name", f"{OWNER!r} for the owner, and for nobody else", name)
        if parameters.whole("days", days, least=1) > LONGEST_DAYS:
            raise parameters.refuse("days", f"a whole number from 1 to {LONGEST_DAYS}", days)
        secret, salt, now = secrets.token_urlsafe(32), secrets.token_bytes(16), datetime.now(UTC)
        token = Token(
            secrets.token_hex(6),
            name,
            role,
            now.isoformat(timespec="seconds"),
            (now + timedelta(days=days)).isoformat(timespec="seconds"),
            base64.b64encode(salt).decode(),
            base64.b64encode(_hashed(secret, salt)).decode(),
        )
        with self._ours():
            self._write((*self.all(), token))
        return token, f"{_PREFIX}-{token.id}-{secret}"

    def revoke(self, identity: str) -> Token:
        """Take back the token of this number."""
        with self._ours():
            kept = self.all()
            found = [each for each in kept if each.id == identity]
            if not found:
                listed = ", ".join(each.id for each in kept) or "none"
                raise parameters.refuse("id", f"the number of a token (there are: {listed})", identity)
            self._write(tuple(each for each in kept if each.id != identity))
        return found[0]

    @contextmanager
    def _ours(self) -> Iterator[None]:
        """One change at a time: a lock on the policy's own file, which is never written here."""
        with open(self.policy, "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield

    def _write(self, tokens: tuple[Token, ...]) -> None:
        content: dict[str, Any] = {"tokens": [asdict(each) for each in tokens]}
        fresh = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}")
        descriptor = disk.open_file(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        try:
            disk.write(descriptor, (json.dumps(content, indent=1) + "\n").encode(), 0)
            disk.sync(descriptor)
        finally:
            os.close(descriptor)
        disk.rename(fresh, self.path)
        disk.sync_folder(self.path.parent)


class Keyring:
    """The tokens of one policy while a server runs: a text is hashed slowly once, and known from then on."""

    def __init__(self, file: TokenFile) -> None:
        self._file = file
        self._state: tuple[int, ...] | None = None
        self._tokens: dict[str, Token] = {}
        self._known: dict[bytes, Token] = {}
        self._key = secrets.token_bytes(32)

    def known(self, text: str) -> Token | None:
        """The token of this text, if it came in before and nothing has changed since."""
        self._look()
        found = self._known.get(self._digest(text))
        return None if found is None or found.is_over() else found

    def named(self, text: str) -> Token | None:
        """The token that this text claims to be; its secret is still to be compared."""
        self._look()
        word, _, rest = text.partition("-")
        identity = rest.partition("-")[0]
        found = self._tokens.get(identity) if word == _PREFIX else None
        return None if found is None or found.is_over() else found

    def opened(self, token: Token, text: str) -> bool:
        """Whether the text is the token's; slow."""
        state = self._state
        if not token.opens_with(text.split("-", 2)[-1]):
            return False
        if self._state == state:
            self._known[self._digest(text)] = token
        return True

    def valid(self, identity: str) -> Token | None:
        """The token of this number, while it is good: a session of the console asks for it at every request."""
        self._look()
        found = self._tokens.get(identity)
        return None if found is None or found.is_over() else found

    def _look(self) -> None:
        state = self._file.state()
        if state != self._state:
            tokens = {each.id: each for each in self._file.all()}
            self._state, self._tokens, self._known = state, tokens, {}

    def _digest(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode("utf-8", "replace"), key=self._key, digest_size=32).digest()


def _hashed(secret: str, salt: bytes) -> bytes:
    return hashlib.scrypt(secret.encode("utf-8", "replace"), salt=salt, **_COST)
