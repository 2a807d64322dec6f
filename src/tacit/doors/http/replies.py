"""What a handler gets and gives: the readable part of a request, and the reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.answer import Answer


@dataclass(frozen=True, slots=True)
class Request:
    """What a handler may know of a request."""

    body: bytes = b""
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    progress: Callable[[float], None] | None = None
    """Called with the share that is done, where someone is to be told."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What is sent: JSON, and where the reply is one released table, the table, to be sent in other forms."""

    content: Any
    table: Answer | None = None
