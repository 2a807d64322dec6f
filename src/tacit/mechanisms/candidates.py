"""What a choice is made from, which must never come from the private data.

A selection protects *which* candidate is chosen, not which candidates there are: a candidate that exists only because
one person is in the data gives that person away when it is chosen. So candidates are public. A list, tuple, range or
text that the caller has written out counts as declared public. Containers that usually hold data (arrays, series,
columns of a table, sets, views of a dictionary, generators) are refused unless the caller says the words:
`declared_public(...)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tacit import parameters


@dataclass(frozen=True, slots=True)
class DeclaredPublic:
    """Candidates that the caller vouches for: they would be the same without any one person."""

    items: tuple[Any, ...]


def declared_public(candidates: Iterable[Any]) -> DeclaredPublic:
    """Vouch that `candidates` do not depend on private data: a catalogue, a code list, an earlier release.

    It exists so that a reader of the calling code sees the claim, and can check it.

    >>> from tacit.mechanisms import Exponential
    >>> Exponential(1, 5000).choose(declared_public(["a", "b"]), scores=[3, 1000])  # e**2490 to 1
    'b'
    """
    return DeclaredPublic(tuple(candidates))


def public_candidates(candidates: object) -> Sequence[Any]:
    """The candidates in order; refused unless they are written out or declared public."""
    found: Sequence[Any]
    if isinstance(candidates, DeclaredPublic):
        found = candidates.items
    elif isinstance(candidates, (list, tuple, range, str)):
        found = candidates
    else:
        raise parameters.refuse(
            "candidates",
            "a list, tuple or range that does not come from the data",
            f"a value of type {type(candidates).__name__}",
            "If they are public all the same, write declared_public(...) around them.",
        )
    if not len(found):
        raise parameters.refuse("candidates", "at least one candidate", "none")
    return found
