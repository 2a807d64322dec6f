"""Refusals on the wire: problem+json (RFC 9457), with the house's own sentences, and back to the same exceptions.

    {"type": "urn:tacit:error:BudgetExceeded", "title": "BudgetExceeded", "status": 402,
     "detail": "This question needs ...", "asked": "1/2", "remaining": "1/5"}

Promise: a refusal says the same as to a person with the files, and nothing more. Only the owner sees refusals that may
name a path of the server's disk. A mistake of the program says one fixed sentence, whatever it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from tacit import errors
from tacit.errors import BudgetExceeded, LedgerError, PolicyError, Stopped, TacitError
from tacit.parameters import as_text

MEDIA_TYPE: Final = "application/problem+json"
_URN: Final = "urn:tacit:error:"
_STATUS: Final = {
    "ParameterError": 400,
    "QuestionError": 400,
    "BudgetExceeded": 402,
    "Cancelled": 409,
    "Stopped": 409,
    "PolicyError": 409,
    "LedgerError": 503,
    "EngineError": 503,
}
BROKEN: Final = "This is a mistake of the server, and its log says where. Tell the owner what you asked."
_FOR_OWNERS: Final = "The ledger or the policy cannot be used now. The owner, asking the same, is told why."


class Problem(Exception):
    """A refusal of the door itself, and not of the house: no token, too long, too many at once."""

    def __init__(self, status: int, title: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.title, self.detail = status, title, detail
        self.headers = dict(headers or {})


def content_of(refusal: TacitError, *, to_owner: bool = True) -> dict[str, Any]:
    """A refusal of the house as problem+json."""
    name = type(refusal).__name__
    hidden = isinstance(refusal, (LedgerError, PolicyError)) and not isinstance(refusal, Stopped) and not to_owner
    content: dict[str, Any] = {
        "type": _URN + name,
        "title": name,
        "status": _STATUS.get(name, 400),
        "detail": _FOR_OWNERS if hidden else str(refusal),
    }
    if isinstance(refusal, BudgetExceeded):
        content |= {"asked": as_text(refusal.asked), "remaining": as_text(refusal.remaining)}
    return content


def door_content(problem: Problem) -> dict[str, Any]:
    """A refusal of the door as problem+json."""
    return {
        "type": "urn:tacit:door:" + problem.title.replace(" ", "-"),
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail,
    }


def refusal_of(content: Mapping[str, Any]) -> TacitError:
    """The exception that this problem was made from; any foreign problem becomes the root exception."""
    sentence, name = str(content.get("detail", "")), str(content.get("type", "")).removeprefix(_URN)
    if name == "BudgetExceeded":
        return BudgetExceeded(sentence, asked=Fraction(content["asked"]), remaining=Fraction(content["remaining"]))
    kind = getattr(errors, name, TacitError) if name in errors.__all__ else TacitError
    made: TacitError = kind(sentence)
    return made
