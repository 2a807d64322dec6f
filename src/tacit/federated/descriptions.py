"""What the parties of a protocol agree on, as one public text: how it is written, and how it is read again.

Promise: there is one text for one description, so that its digest stands for it. A text of another version, with a
field too many or too few, or in another form than the one it is written in, is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeVar

from tacit.errors import TacitError
from tacit.federated.refusals import Refused

VERSION: Final = 1


class Described(Protocol):
    """Anything that has such a text."""

    def to_json(self) -> str:
        """The public description: one text."""
        ...


D = TypeVar("D", bound=Described)


def description(content: Mapping[str, Any]) -> str:
    """The one text of this content."""
    return json.dumps({"version": VERSION, **content}, sort_keys=True, separators=(",", ":"))


def described(text: str, name: str, make: Callable[[dict[str, Any]], D]) -> D:
    """The object that a text of this `name` describes; any other text is refused."""
    try:
        content = json.loads(text)
        version = content.pop("version")
        if version != VERSION:
            raise Refused(f"This description has version {version!r}; {VERSION} is known here.")
        if not isinstance(content["name"], str):
            raise TypeError
        found = make(content)
    except TacitError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError):
        raise Refused(f"The text is not the description of {name}.") from None
    if found.to_json() != text:
        raise Refused(
            f"The text is not the description of {name}: it has another form than the one it is written in. "
            "Write it with to_json()."
        )
    return found
