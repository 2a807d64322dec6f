"""A page: a template and its content, or a file; and a refusal as a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.doors.http.datasets import Seat
from tacit.doors.http.problems import content_of
from tacit.errors import TacitError


@dataclass(frozen=True, slots=True)
class Page:
    """A template and its content; or, with `raw`, a file; or, with `to`, another address of ours."""

    template: str
    content: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    raw: tuple[bytes, str, str] | None = None
    """Bytes, media type, file name."""
    to: str = ""


def sentence(refusal: TacitError, seat: Seat) -> str:
    """A refusal in its own words, as this person may read it."""
    return str(content_of(refusal, to_owner=seat.is_owner)["detail"])
