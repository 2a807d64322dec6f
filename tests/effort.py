"""How many examples property tests try: in a default run 40 of a hundred, which takes minutes less.

`TACIT_EXAMPLES=100` is the long form, and more is allowed. Every run tries the same
examples; the soaks look for new ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")
LONG = 100
EXAMPLES = int(os.environ.get("TACIT_EXAMPLES", "40"))
"""For a test that says nothing else."""


def every(step: int, cases: Iterable[T], first: int = 0) -> list[T]:
    """One of `step` of these cases, beginning with the `first`; in the long form all of them.

    For lists of which each case asks the same of the code with another text: what is left still has every kind.
    """
    return list(cases) if EXAMPLES >= LONG else list(cases)[first::step]


def tried(examples: int) -> int:
    """What this many examples of the long form are in this run."""
    return max(1, examples * EXAMPLES // LONG)
