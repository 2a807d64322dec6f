"""The settings files of `tacit federate`: TOML, every key known, paths relative to the file.

federation = "hospitals.json"      # what all parties agree on
key = "hospital-07.key"            # this party's secret; tacit federate key makes it
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tacit import parameters
from tacit.errors import ParameterError

if TYPE_CHECKING:  # every command reads this module, and few read a key
    from tacit.federated.aggregation.keys import Identity

_WORDS: Final = {Path: "a path", str: "a text", float: "a number", int: "a whole number", list: "a list"}


@dataclass(frozen=True, slots=True)
class Key:
    """A setting: its kind and its default. `...` where it must be given."""

    kind: type
    default: Any = ...


PARTY: Final = {"host": Key(str, "127.0.0.1"), "port": Key(int), "certificate": Key(Path, None)}
SERVED: Final = {**PARTY, "certificate_key": Key(Path, None), "token": Key(Path, None), "folder": Key(Path)}
PRICE: Final = {"epsilon": Key(float), "delta": Key(float, 0.0)}


def read_settings(path: Path, known: Mapping[str, Key]) -> dict[str, Any]:
    """The settings of a file, or a refusal that names what is wrong."""
    try:
        found = tomllib.loads(path.read_text())
    except OSError as failure:
        raise ParameterError(f"{path} cannot be read: {failure.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as failure:
        raise ParameterError(f"{path.name} is no TOML: {failure}.") from None
    unknown = sorted(set(found) - set(known))
    if unknown:
        raise ParameterError(f"{path.name} has the unknown setting {unknown[0]!r}. Settings: {', '.join(known)}.")
    return {name: _one(path, name, key, found.get(name, ...)) for name, key in known.items()}


def _one(path: Path, name: str, key: Key, value: Any) -> Any:
    if value is ...:
        if key.default is ...:
            raise ParameterError(f"{path.name} lacks the setting {name!r}: {_WORDS[key.kind]}.")
        return key.default
    if key.kind is Path and isinstance(value, str):
        return path.absolute().parent / value
    if key.kind is float and type(value) in (int, float):
        return value
    if type(value) is not key.kind:
        raise parameters.refuse(f"{path.name}: {name}", _WORDS[key.kind], value)
    return value


def read_text(path: Path) -> str:
    """A text file, or a refusal."""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as failure:
        raise ParameterError(f"{path} cannot be read: {getattr(failure, 'strerror', None) or 'no text'}.") from None


def read_secret(path: Path) -> bytes:
    """A secret of 32 bytes, written as hexadecimal digits."""
    from tacit.federated.aggregation.keys import KEY

    try:
        secret = bytes.fromhex(read_text(path).strip())
    except ValueError:
        secret = b""
    if len(secret) != KEY:
        raise ParameterError(f"{path.name} is no key: {2 * KEY} hexadecimal digits. Make one: tacit federate key.")
    return secret


def read_identity(path: Path) -> Identity:
    """The identity of a key file."""
    from tacit.federated.aggregation.keys import Identity

    return Identity(read_secret(path))


def write_secret(path: Path, secret: bytes) -> None:
    """A new file that its owner alone can read."""
    from tacit.ledger import disk

    try:
        descriptor = disk.open_file(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        raise ParameterError(f"{path} is there already, and a key is not written over. Take another name.") from None
    try:
        disk.write(descriptor, (secret.hex() + "\n").encode(), 0)
        disk.sync(descriptor)
    finally:
        os.close(descriptor)
