"""A specimen: one mistake that was made somewhere, in a mechanism that runs, next to the version without it.

Promise: a specimen's mechanism does nothing else wrong. Its noise comes from our own exact samplers wherever the
mistake is not the noise itself, and the sound twin makes the same claim about the same neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.verdicts import Claim
from tacit.mechanisms import Laplace
from tacit.parameters import Number


@dataclass(frozen=True, slots=True)
class Specimen:
    """A broken mechanism, what is wrong with it, its sound twin, and how many samples show it (or are affordable).

    >>> from tacit.audit import zoo
    >>> zoo.SPECIMENS[0].name, zoo.SPECIMENS[0].broken.epsilon
    ('float noise by inverse log', Fraction(1, 1))
    """

    name: str
    wrong: str
    broken: Claim
    sound: Claim
    samples: int = 20_000
    sound_samples: int = 20_000


def specimen(
    name: str,
    wrong: str,
    broken: Any,
    sound: Any,
    x: Any,
    neighbour: Any,
    epsilon: Number,
    delta: Number = 0,
    *,
    samples: int = 20_000,
    sound_samples: int | None = None,
) -> Specimen:
    """The usual kind: both mechanisms are called as `mechanism(x, size=n)` and claim the same."""
    first = Claim(broken, x, neighbour, epsilon, delta, name=name, vectorised=True)
    second = Claim(sound, x, neighbour, epsilon, delta, name=f"without: {name}", vectorised=True)
    return Specimen(name, wrong, first, second, samples, samples if sound_samples is None else sound_samples)


def noise(shape: Any, scale: Number) -> NDArray[np.int64]:
    """Exact whole Laplace noise of this scale."""
    return np.asarray(Laplace(1, scale=scale).release(np.zeros(shape, dtype=np.int64)))


def whole(value: int, scale: Number, size: int) -> NDArray[np.int64]:
    """`size` releases of one whole number with that noise."""
    return value + noise(size, scale)


def generator() -> np.random.Generator:
    """Float randomness, from the operating system's seed, for mechanisms that are wrong to use it."""
    return np.random.default_rng()
