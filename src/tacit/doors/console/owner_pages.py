"""Pages for the owner: the policy, checked while it is written, and who may come in.

Promise: nothing here changes the policy. A text is checked as `tacit check` would check it, against the sources that
the policy's file names and no others, and is forgotten. A token that is made here is shown once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tacit import parameters
from tacit.answer.shown import safe
from tacit.curator import check_text
from tacit.doors.console.page import Page, sentence
from tacit.doors.http.datasets import Seat
from tacit.doors.http.replies import Request
from tacit.doors.http.roles import Role
from tacit.doors.http.tokens import TokenFile
from tacit.errors import TacitError

_LONGEST: Final = 150_000


def policy(seat: Seat, request: Request) -> Page:
    """The policy as its file has it."""
    return Page("policy.html", {"text": seat.dataset.path.read_text(encoding="utf-8")})


def checked(seat: Seat, request: Request) -> Page:
    """Whether a text would be a consistent policy."""
    text = request.query.get("text", "")[:_LONGEST]
    template = "policy_check.html" if request.query.get("part") else "policy.html"
    try:
        found = check_text(text, seat.dataset.path)
    except TacitError as refusal:
        return Page(template, {"text": text, "refusal": sentence(refusal, seat)})
    said = f"It holds together: {len(found.tables)} tables, budget epsilon {found.budget.epsilon}."
    return Page(template, {"text": text, "sound": said})


def people(seat: Seat, request: Request) -> Page:
    """Analysts with their budgets, and tokens."""
    return _people(seat)


def add(seat: Seat, request: Request) -> Page:
    """Make a token, and show it once."""
    name, role, days = (request.query.get(each, "").strip()[:256] for each in ("name", "role", "days"))
    try:
        if role not in set(Role):
            raise parameters.refuse("role", f"one of {', '.join(Role)}", role)
        known = seat.curator.policy.analysts
        if role == Role.ANALYST and known and name not in known:
            raise parameters.refuse("name", f"one of the policy's analysts ({', '.join(known)})", name)
        long = int(days) if days.isascii() and days.isdigit() and len(days) < 6 else 0
        _, text = TokenFile(seat.dataset.path).add(name, Role(role), long)
    except TacitError as refusal:
        return _people(seat, {"refusal": sentence(refusal, seat)})
    return _people(seat, {"made": text, "whose": name})


def revoke(seat: Seat, request: Request) -> Page:
    """Take a token back."""
    try:
        gone = TokenFile(seat.dataset.path).revoke(request.query.get("id", "")[:40])
    except TacitError as refusal:
        return _people(seat, {"refusal": sentence(refusal, seat)})
    return _people(seat, {"gone": f"The token of {gone.name} ({gone.role}) is revoked, from the next request on."})


def _people(seat: Seat, more: Mapping[str, Any] | None = None) -> Page:
    tokens = [
        {
            "id": each.id,
            "name": safe(each.name),
            "role": str(each.role),
            "made": each.created[:10],
            "until": each.expires[:10],
            "over": each.is_over(),
            "own": each.id == seat.token.id,
        }
        for each in TokenFile(seat.dataset.path).all()
    ]
    analysts = [
        {"name": safe(name), "sentence": str(seat.curator.budget(name))} for name in seat.curator.policy.analysts
    ]
    content = {"tokens": tokens, "analysts": analysts, "roles": [str(each) for each in Role]}
    return Page("people.html", {**content, **(more or {})})


PAGES: Final = {
    "page_policy": policy,
    "page_policy_checked": checked,
    "page_people": people,
    "page_people_add": add,
    "page_people_revoke": revoke,
}
