"""Augmentation multiplicity: each row of a person counts as the mean over several moved copies of it.

    PrivateTrainer(..., augment=neural.Shifted(copies=4, pixels=2, flip=False))

Theorem. A copy is made from one row and from draws that no row decides, place by place; a person's gradient is the sum
over their rows of the mean over copies, clipped as one. So it is a function of that person's rows and of such draws,
and costs what the run costs without copies. Copies that mix rows (mixup) are not offered.
Source: De, Berrada, Hayes, Smith, Balle 2022.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn import functional

from tacit import parameters
from tacit.learning.neural.people.batches import Chunk


@dataclass(frozen=True, slots=True)
class Shifted:
    """Copies of images, each moved by up to `pixels` in both directions, edges filled with 0; half of them mirrored."""

    copies: int = 4
    pixels: int = 2
    flip: bool = False

    def __post_init__(self) -> None:
        parameters.whole("copies", self.copies, least=1)
        parameters.whole("pixels", self.pixels, least=0)

    def still(self, chunk: Chunk) -> Chunk:
        """Copies that are not moved: they have the same shape, and are the same each time."""
        rows = [each.repeat_interleave(self.copies, dim=0) for each in (*chunk.inputs, chunk.target, chunk.weights)]
        return replace(chunk, inputs=tuple(rows[:-2]), target=rows[-2], weights=rows[-1] / self.copies)

    def moved(self, chunk: Chunk) -> Chunk:
        """Copies that are moved."""
        made = self.still(chunk)
        return replace(made, inputs=(self._moved(made.inputs[0]), *made.inputs[1:]))

    def must_fit(self, inputs: tuple[Any, ...]) -> None:
        """Refuse arrays that are not images."""
        if inputs[0].dim() < 3 or not inputs[0].dtype.is_floating_point:
            raise parameters.refuse("augment", "for images: numbers in rows and columns", tuple(inputs[0].shape[1:]))

    def _moved(self, images: Any) -> Any:
        high, wide = images.shape[-2:]
        rows = len(images)
        flat = images.reshape(rows, -1, high, wide)
        edge = self.pixels
        padded = functional.pad(flat, (edge, edge, edge, edge))
        ys = torch.randint(0, 2 * edge + 1, (rows, 1)) + torch.arange(high)
        xs = torch.randint(0, 2 * edge + 1, (rows, 1)) + torch.arange(wide)
        if self.flip:
            xs = torch.where(torch.randint(0, 2, (rows, 1)) == 1, xs.flip(1), xs)
        own = torch.arange(rows)[:, None, None, None]
        channels = torch.arange(flat.shape[1])[None, :, None, None]
        return padded[own, channels, ys[:, None, :, None], xs[:, None, None, :]].reshape(images.shape)
