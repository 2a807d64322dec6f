"""A report of an audit, signed: what was tried, what was found, when, and with which version.

Promise: a report that `check_report` returns is, byte for byte, what the holder of the key signed (Ed25519). Only you
can say whether you trust that holder: give `check_report` the public key that you know. A report holds figures from
made-up rows only.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.audit.verdicts import Verdict
from tacit.errors import TacitError

_FORMAT: Final = "tacit audit report 1"


@dataclass(frozen=True, slots=True)
class Tried:
    """One claim: what was asked, what it claims, what was found, and what that means."""

    name: str
    epsilon: float
    delta: float
    outcome: str
    found: float
    event: str
    draws: int
    hits: int
    other_hits: int
    confidence: float
    seconds: float
    needed: int | None = None
    """How many samples would settle an inconclusive one; None where it is settled, or where that is not known."""

    @classmethod
    def of(cls, verdict: Verdict) -> Tried:
        """The finding of a verdict."""
        bound = verdict.bound
        return cls(
            verdict.name,
            verdict.epsilon,
            verdict.delta,
            verdict.outcome,
            bound.epsilon,
            bound.event,
            bound.draws,
            bound.hits,
            bound.other_hits,
            bound.confidence,
            bound.seconds,
            verdict.needed,
        )


@dataclass(frozen=True, slots=True)
class Report:
    """An audit of a policy's questions, `confidence` for all that was `tried` together.

    >>> report = Report("clinic", "0.1.0", "2026-01-01", 1000, 0.999, 1.5, ())
    >>> Report.from_json(report.to_json()) == report
    True
    """

    policy: str
    version: str
    made: str
    samples: int
    confidence: float
    seconds: float
    tried: tuple[Tried, ...]

    @property
    def violated(self) -> tuple[Tried, ...]:
        """The claims that do not hold."""
        return tuple(each for each in self.tried if each.outcome == "violated")

    def to_json(self) -> str:
        """Canonical text: what is signed."""
        content = {"format": _FORMAT, **asdict(self)}
        return json.dumps(content, sort_keys=True, ensure_ascii=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """What `to_json` wrote."""
        content = json.loads(text)
        if content.pop("format", None) != _FORMAT:
            raise TacitError(f"This is no {_FORMAT!r}.")
        return cls(**{**content, "tried": tuple(Tried(**each) for each in content["tried"])})

    def __str__(self) -> str:
        lines = [f"{each.outcome:<12}  {each.found:6.3f} of {each.epsilon:.3f}  {each.name}" for each in self.tried]
        bad = len(self.violated)
        said = (
            f"{len(self.tried)} claims tried, {bad} violated, with confidence {self.confidence:.7g} for all together."
        )
        return "\n".join([*lines, said, *self._open()])

    def _open(self) -> Iterator[str]:
        """What "inconclusive" means, and what would settle it."""
        unsettled = [each for each in self.tried if each.outcome == "inconclusive"]
        if not unsettled:
            return
        yield (
            f"Inconclusive ({len(unsettled)}): nothing speaks against the claim, but {self.samples:,} samples are too "
            "few to tell a mechanism that keeps it from one that breaks it by a tenth."
        )
        known = [each.needed for each in unsettled if each.needed is not None]
        if known:
            most = "all of them" if len(known) == len(unsettled) else f"{len(known)} of them"
            samples = _round_up(max(known))
            hours = self.seconds * samples / self.samples / 3600
            takes = f"about {hours:.1f} hours" if hours > 1 else f"about {max(60 * hours, 1):.0f} minutes"
            yield f"--samples {samples} would settle {most} ({takes} on this machine)."
        if len(known) < len(unsettled):
            yield f"{len(unsettled) - len(known)} would need more samples than can be drawn."


def _round_up(count: int) -> int:
    """Rounded up to two digits, so that it is easy to type."""
    unit = int(10 ** max(len(str(count)) - 2, 0))
    return -(-count // unit) * unit


def sign_report(report: Report, key: str | os.PathLike[str] | None = None) -> str:
    """The signed report as text. `key` is a private key file (PEM), made if there is none; without it a fresh key.

    >>> report = Report("clinic", "0.1.0", "2026-01-01", 1000, 0.999, 1.5, ())
    >>> check_report(sign_report(report)) == report
    True
    """
    private = Ed25519PrivateKey.generate() if key is None else _key_of(Path(key))
    text = report.to_json()
    public = private.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    signed = {
        "report": text,
        "public_key": public.hex(),
        "signature": base64.b64encode(private.sign(text.encode())).decode(),
    }
    return json.dumps(signed, indent=2) + "\n"


def check_report(signed: str, public_key: str | None = None) -> Report:
    """The report, if its signature holds and, where you name one, it was made with the key you know (hex).

    >>> report = Report("clinic", "0.1.0", "2026-01-01", 1000, 0.999, 1.5, ())
    >>> check_report(sign_report(report).replace("clinic", "another"))
    Traceback (most recent call last):
    ...
    tacit.errors.TacitError: The report is not what was signed: its signature does not hold.
    """
    try:
        content: dict[str, Any] = json.loads(signed)
        text, found = content["report"], content["public_key"]
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(found))
        signature = base64.b64decode(content["signature"], validate=True)
    except (ValueError, KeyError, TypeError, binascii.Error):
        raise TacitError(
            "This is no signed audit report: its report, public_key or signature cannot be read."
        ) from None
    if public_key is not None and public_key.strip().lower() != found.lower():
        raise TacitError(f"The report is signed with the key {found}, not with {public_key.strip()}.")
    try:
        key.verify(signature, text.encode())
    except InvalidSignature:
        raise TacitError("The report is not what was signed: its signature does not hold.") from None
    return Report.from_json(text)


def _key_of(path: Path) -> Ed25519PrivateKey:
    if path.exists():
        try:
            key = serialization.load_pem_private_key(path.read_bytes(), password=None)
        except (ValueError, TypeError):
            raise TacitError(f"{path} holds no private key in PEM form without a password.") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise TacitError(f"{path} holds another kind of key. An Ed25519 key is needed.")
        return key
    made = Ed25519PrivateKey.generate()
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    text = made.private_bytes(serialization.Encoding.PEM, *form)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text)
    return made
