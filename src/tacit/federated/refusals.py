"""How a party of a federation says no: what arrived is not what the protocol allows at this place.

A `Refused` changes nothing: the party that raises it stays in its state, and the right message can still come.
"""

from __future__ import annotations

from tacit.errors import TacitError


class Refused(TacitError, ValueError):
    """A message, a measurement or a report is refused; the sentence says why. Nothing was changed or sent.

    >>> from tacit import federated
    >>> federated.Collection.from_json("{}")
    Traceback (most recent call last):
    ...
    tacit.federated.refusals.Refused: The text is not the description of a collection.
    """


class Ended(Refused):
    """A round is over without a result, and nothing was learned: too few stayed, or their shares do not fit.

    >>> issubclass(Ended, Refused)
    True
    """


def of_length(name: str, text: bytes, length: int) -> None:
    """Refuse a text that does not have this many bytes."""
    if len(text) != length:
        raise Refused(f"The {name} must have {length} bytes. Got {len(text)} instead.")
