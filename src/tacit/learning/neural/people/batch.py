"""The people of one step, in the hands of somebody who writes their own loop.

Promise: who they are does not show, and they can be used once, by the step that they were chosen for: another run, or
another step, has chosen people in its own way, which its price counts on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.errors import TacitError


class Batch:
    """The people of one step of one run: private, and used once."""

    __slots__ = ("_chosen", "_step")

    def __init__(self, chosen: NDArray[np.int64], step: tuple[object, int]) -> None:
        self._chosen: NDArray[np.int64] | None = chosen
        self._step = step

    def __repr__(self) -> str:
        return "Batch(of a private size)"

    def _taken(self, step: tuple[object, int]) -> NDArray[np.int64]:
        if self._chosen is None:
            raise TacitError("This batch was used before. A step has a batch of its own.")
        if self._step != step:
            raise TacitError("This batch is of another step or another run, which chose people in its own way.")
        chosen, self._chosen = self._chosen, None
        return chosen
