"""The ledger of a policy: where it and its head lie, and how its owner looks at it without asking a question.

The head is kept apart from the ledger, in a folder of the owner's own, so that an older copy put back is noticed. For a
ledger in a database it has the same name on every host, and it contains no password.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from tacit import parameters
from tacit.errors import LedgerError, PolicyError
from tacit.ledger import Entry, Ledger, Report, verify
from tacit.policy import Policy

_VARIABLE: Final = "postgres:$"
_WHERE: Final = ("host", "hostaddr", "port", "dbname", "options", "service")


def open_ledger(policy: Policy) -> Ledger:
    """The ledger of this policy, which must exist. No data is opened.

    >>> from tacit.curator import check_policy
    >>> with open_ledger(check_policy("clinic.toml")) as ledger:
    ...     ledger.entries()[0].kind
    'registered'
    """
    path = ledger_of(policy)
    return Ledger.open(path, head=head_of(path))


def resume_ledger(
    policy: Policy, analyst: str | None = None, entry: int | None = None
) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
    """The owner's word that failures were looked at. No data is opened.

    Gives the charges that were cut off, of which it was not known yet that they failed, and what was recorded.

    >>> from tacit.curator import check_policy
    >>> resume_ledger(check_policy("clinic.toml"))  # nothing failed
    ((), ())
    """
    with open_ledger(policy) as ledger:
        return ledger.settle(), ledger.resume(analyst, entry)


def verify_ledger(policy: Policy) -> Report:
    """What a full check of the ledger finds, even where it is too damaged to be opened.

    >>> from tacit.curator import check_policy
    >>> verify_ledger(check_policy("clinic.toml")).sound
    True
    """
    path = ledger_of(policy)
    return verify(path, head=head_of(path))


def adopt_ledger(
    policy: Policy, *, moved_from: str | os.PathLike[str] | None = None, head_lost: bool = False
) -> Ledger:
    """The owner's word about a ledger that would otherwise be refused; recorded in it for ever. No data is opened.

    Without options: the file at the policy's place was put there by the owner, and is complete. `moved_from`: it used
    to lie at that path, from where its head is fetched. `head_lost`: there is no head any more, and nothing is missing.

    >>> from tacit.curator import check_policy
    >>> with adopt_ledger(check_policy("clinic.toml")) as ledger:
    ...     ledger.entries()[-1].kind
    'moved'
    """
    path = ledger_of(policy)
    head = head_of(path)
    if head_lost:
        if moved_from is not None:
            raise parameters.refuse("moved_from", "left out where the head is lost", os.fspath(moved_from))
        return Ledger.vouch(path, head=head)
    if moved_from is None:
        return Ledger.adopt(path, head=head)
    before = head_of(Path(moved_from))
    if head.exists() or not before.exists():
        raise LedgerError(
            f"The head of the ledger at {os.fspath(moved_from)} should be at {before}, and none at {head} yet. "
            "Adopt without moved_from where the head is in place, or with head_lost where there is none any more."
        )
    os.replace(before, head)
    try:
        return Ledger.adopt(path, head=head)
    except BaseException:
        os.replace(head, before)
        raise


def ledger_of(policy: Policy) -> Path | str:
    """Where the policy says that its ledger lies: a path, or the address of a database."""
    if policy.ledger is None:
        raise PolicyError('The policy keeps its ledger in memory. Name a file for it: ledger = "spent.ledger".')
    if not policy.ledger.startswith(("postgres:", "postgresql:")):
        return Path(policy.directory) / policy.ledger
    if not policy.ledger.startswith(_VARIABLE):
        return policy.ledger
    name = policy.ledger.removeprefix(_VARIABLE)
    address = os.environ.get(name, "")
    if not address.startswith(("postgres://", "postgresql://")):
        raise PolicyError(
            f"The policy's ledger is {policy.ledger!r}, and the environment variable {name} holds no address. "
            "Set it to one like postgresql://user@host/database."
        )
    return address


def head_of(ledger: Path | str) -> Path:
    """Where the head of the ledger at this path or address is kept."""
    state = Path(os.environ.get("TACIT_STATE") or Path.home() / ".local" / "state" / "tacit")
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        raise LedgerError(
            f"The folder for ledger heads cannot be made: {state}. Name another one in TACIT_STATE."
        ) from None
    name = _without_user(ledger) if isinstance(ledger, str) else str(ledger.resolve())
    return state / (hashlib.sha256(name.encode()).hexdigest()[:32] + ".head")


def _without_user(address: str) -> str:
    """Which server, database and schema: the same for every role, and whatever its password is."""
    parts = urlsplit(address)
    server = parts.netloc.rpartition("@")[2]
    chosen = sorted((name, value) for name, value in parse_qsl(parts.query) if name in _WHERE)
    return f"postgresql://{server}{parts.path}?{urlencode(chosen)}"
