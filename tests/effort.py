"""How many examples property tests try: in a default run 40 of a hundred, which takes minutes less.

`TACIT_EXAMPLES=100` is the long form, and more is allowed. Every run tries the same
examples; the soaks look for new ones.
"""

from __future__ import annotations

import os

EXAMPLES = int(os.environ.get("TACIT_EXAMPLES", "40"))
"""For a test that says nothing else."""


def tried(examples: int) -> int:
    """What this many examples of the long form are in this run."""
    return max(1, examples * EXAMPLES // 100)
