"""Means of weights over steps: they have less noise than the last weights, and cost nothing (post-processing).

"tail": the mean over the later half of the steps. "exponential": a mean in which a step counts for less the longer ago
it was, over about a tenth of the steps so far, at most the last thousand. None: the last weights.
"""

from __future__ import annotations

from typing import Any, Final

import torch

from tacit import parameters

TAIL: Final = "tail"
EXPONENTIAL: Final = "exponential"


def checked_averaging(kind: Any) -> str | None:
    """The kind of mean."""
    if kind not in (None, TAIL, EXPONENTIAL):
        raise parameters.refuse("averaging", f"{TAIL!r}, {EXPONENTIAL!r} or None", kind)
    return None if kind is None else str(kind)


class Average:
    """A mean of the weights of one module as it learns."""

    def __init__(self, module: Any, kind: str | None, steps: int) -> None:
        self._learns = [each for each in module.parameters() if each.requires_grad]
        self._kind, self._steps = kind, steps
        self._mean: list[Any] = []
        self._kept = 0

    def take(self, step: int) -> None:
        """The weights after this step, of 1, 2, ..."""
        if self._kind is None or (self._kind == TAIL and 2 * step <= self._steps):
            return
        self._kept += 1
        if not self._mean:
            self._mean = [each.detach().double().clone() for each in self._learns]
            return
        share = 1 / self._kept if self._kind == TAIL else max(10 / (10 + self._kept), 1e-3)
        for mean, each in zip(self._mean, self._learns, strict=True):
            mean.lerp_(each.detach().double(), share)

    def put(self) -> None:
        """The mean in place of the weights."""
        with torch.no_grad():
            for mean, each in zip(self._mean, self._learns, strict=False):
                each.copy_(mean.float())
