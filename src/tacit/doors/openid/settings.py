"""Which provider, and the names and roles of its people here.

    issuer = "https://login.hospital.example"
    client_id = "tacit"
    secret_file = "openid.secret"                  # left out for a public client, which only PKCE protects
    address = "https://clinic.example:8400"        # where browsers find this server

    [people.clinic]                                # the name of a dataset
    "248289761001" = { name = "ana", role = "analyst" }

Promise: a person is known by a claim that the provider vouches for and never gives to anyone else: `sub`, or where
`claim = "email"` says so an address that the provider has verified. Only listed people are let in. The file is read
again when it changes, so that a person who is removed from it is out at the next request; while it cannot be read, no
one comes in this way.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from tacit.doors.http.datasets import Dataset
from tacit.doors.http.roles import Role
from tacit.doors.http.tokens import OWNER, Token
from tacit.errors import PolicyError, TacitError
from tacit.policy.check import did_you_mean

CLAIMS: Final = ("sub", "email")
_KEYS: Final = ("issuer", "client_id", "secret_file", "address", "claim", "label", "people")
_LONGEST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """The file, read and checked."""

    issuer: str
    client_id: str
    secret: str | None
    address: str | None
    claim: str
    label: str
    people: Mapping[str, Mapping[str, tuple[str, Role]]]
    """For each dataset: a value of the claim, and the name and role it stands for."""


def read(path: Path) -> Settings:
    """The settings in this file, or a sentence about what is wrong with them."""
    content = _content(path)
    for key in content:
        if key not in _KEYS:
            raise _wrong(path, f"{key!r}: there is no such key. Keys: {', '.join(_KEYS)}.{did_you_mean(key, _KEYS)}")
    issuer, client = _text(path, content, "issuer"), _text(path, content, "client_id")
    if not is_safe(issuer):
        raise _wrong(path, f"issuer: {issuer!r} must begin with https:// (or http:// on this machine).")
    claim = content.get("claim", "sub")
    if claim not in CLAIMS:
        raise _wrong(path, f"claim: {claim!r} is not one that a provider vouches for. Claims: {', '.join(CLAIMS)}.")
    address = _text(path, content, "address").rstrip("/") if "address" in content else None
    if address is not None and not is_safe(address):
        raise _wrong(path, f"address: {address!r} must begin with https:// (or http:// on this machine).")
    secret = _secret(path, _text(path, content, "secret_file")) if "secret_file" in content else None
    label = _text(path, content, "label") if "label" in content else urlsplit(issuer).netloc
    return Settings(issuer, client, secret, address, claim, label, _people(path, content.get("people", {})))


def is_safe(address: str) -> bool:
    """Whether the connection cannot be read on the way: TLS, or this machine."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        return False
    if (
        not host
        or parts.username is not None
        or parts.fragment
        or not address.isascii()
        or not address.isprintable()
        or " " in address
    ):
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_this_machine(host))


def is_this_machine(host: str) -> bool:
    """Whether a name is the loopback's."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class People:
    """The people, as the file lists them now."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings = read(path)
        """The settings at the start: the provider does not change while the server runs."""
        self._people = self.settings.people
        self._state = _state(path)

    def check(self, datasets: Iterable[Dataset]) -> None:
        """Refuse names of datasets and analysts that do not exist."""
        known = {each.name: each.curator.policy.analysts for each in datasets}
        for dataset, people in self._people.items():
            if dataset not in known:
                raise _wrong(self.path, f"people.{dataset}: no such dataset. Datasets: {', '.join(known)}.")
            for name, role in people.values():
                if role is Role.ANALYST and known[dataset] and name not in known[dataset]:
                    told = f"{name!r} needs a budget: [analysts.{name}] in the policy of {dataset}."
                    raise _wrong(self.path, f"people.{dataset}: {told}")

    def token(self, dataset: str, person: str) -> Token | None:
        """This person's token here: a name and a role, and no secret that opens it."""
        self._look()
        found = self._people.get(dataset, {}).get(person)
        if found is None:
            return None
        name, role = found
        number = hashlib.sha256(f"{self.settings.issuer} {person}".encode()).hexdigest()[:12]
        now = datetime.now(UTC)
        until = (now + timedelta(hours=8)).isoformat(timespec="seconds")
        return Token(f"openid-{number}", name, role, now.isoformat(timespec="seconds"), until, "", "")

    def has(self, dataset: str) -> bool:
        """Whether anyone is listed for this dataset."""
        self._look()
        return bool(self._people.get(dataset))

    def _look(self) -> None:
        state = _state(self.path)
        if state != self._state:
            try:
                self._people = read(self.path).people
            except TacitError:
                self._people = {}
            self._state = state


def _state(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode


def _content(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_mode & 0o022:
            raise PolicyError(f"{path} can be changed by others, who could let themselves in: chmod 644 {path}")
        with path.open("rb") as file:
            return tomllib.loads(file.read(_LONGEST).decode("utf-8"))
    except OSError as error:
        raise PolicyError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError as error:  # neither TOML nor UTF-8
        raise PolicyError(f"{path} is not TOML: {error}.") from None


def _secret(path: Path, name: str) -> str:
    file = path.parent / name
    try:
        if file.stat().st_mode & 0o077:
            raise PolicyError(f"The secret in {file} may be read by others. Make it yours alone: chmod 600 {file}")
        secret = file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise PolicyError(f"{file} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise PolicyError(f"{file} is not a text.") from None
    if not secret or not secret.isprintable():
        raise PolicyError(f"{file} must hold the client's secret, on one line.")
    return secret


def _people(path: Path, content: Any) -> dict[str, dict[str, tuple[str, Role]]]:
    if not isinstance(content, dict) or not content:
        raise _wrong(path, "people: nobody is listed. Give a section [people.DATASET].")
    found: dict[str, dict[str, tuple[str, Role]]] = {}
    for dataset, listed in content.items():
        if not isinstance(listed, dict):
            raise _wrong(path, f"people.{dataset}: a table of people is wanted.")
        found[dataset] = {person: _person(path, dataset, person, said) for person, said in listed.items()}
    return found


def _person(path: Path, dataset: str, person: str, said: Any) -> tuple[str, Role]:
    where = f"people.{dataset}.{person[:80]!r}"
    if not person or not isinstance(said, dict) or set(said) != {"name", "role"}:
        raise _wrong(path, f'{where}: something like {{ name = "ana", role = "analyst" }} is wanted.')
    name, role = said["name"], said["role"]
    if role not in set(Role):
        raise _wrong(path, f"{where}: the role must be one of {', '.join(Role)}. Got {role!r}.")
    if not isinstance(name, str) or not 0 < len(name) <= 256 or not name.isprintable():
        raise _wrong(path, f"{where}: the name must be a printable text of 1 to 256 characters.")
    if (name == OWNER) != (role == Role.OWNER):
        raise _wrong(path, f"{where}: the name {OWNER!r} is for the owner, and for nobody else.")
    return name, Role(role)


def _text(path: Path, content: Mapping[str, Any], key: str) -> str:
    found = content.get(key)
    if not isinstance(found, str) or not found or not found.isprintable():
        raise _wrong(path, f"{key}: a text is wanted. Got {found!r}.")
    return found


def _wrong(path: Path, what: str) -> PolicyError:
    return PolicyError(f"{path}: {what}")
