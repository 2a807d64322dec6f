"""Public features of images: `scattering`, on which a linear model learns at prices where networks cannot.

    X = features.scattering(images)            # n x 28 x 28 -> n x 81 x 7 x 7
    NeuralClassifier(nn.Sequential(nn.Flatten(), nn.Linear(3969, 10)), epsilon=3, ...).fit(X, y)

Theorem. Nothing here is learned: features are one fixed function of one image, whatever other images are in the data.
So the data of neighbours stay neighbours, and features cost nothing. The same holds for `groups`, which brings numbers
of one image to mean 0 and variance 1 within groups of channels. (Bringing each feature to the mean and variance that it
has over all people would have a price.)

Scattering of order 2. With Morlet wavelets psi at 2 scales and 8 angles, and a Gaussian window phi,
  S0 = x * phi,   S1 = |x * psi_1| * phi,   S2 = ||x * psi_1| * psi_2| * phi   for psi_2 coarser than psi_1,
taken at every fourth place: 1 + 16 + 64 channels. Edges are mirrored. A wavelet has mean 0: it is a wave under a
Gaussian, less as much of that Gaussian as makes its sum vanish.
Source: Bruna, Mallat 2013; Tramer, Boneh 2021 (private learning on such features, and normalisation in groups).
"""

from __future__ import annotations

import math
from functools import lru_cache, reduce
from typing import Any, Final

import numpy as np
import torch
from torch.nn import functional

from tacit import parameters

SCALES: Final = 2
ANGLES: Final = 8
_STEP: Final = 1 << SCALES
_WIDTH: Final = 0.8  # of the finest Gaussian, in pixels
_WAVE: Final = 3 * math.pi / 4  # of the finest wavelet, in radians a pixel
_PART: Final = 32
_NEVER_ZERO: Final = 1e-8
_LEAST_SIDE: Final = 2 * _STEP
CHANNELS: Final = 1 + SCALES * ANGLES + ANGLES**2 * SCALES * (SCALES - 1) // 2


def scattering(images: Any, groups: int | None = 27) -> Any:
    """Order-2 scattering of grey images (n x height x width, sides multiples of 4): n x 81 x height/4 x width/4.

    groups: into how many groups of channels the 81 are cut, each brought to mean 0 and variance 1 within one image;
    None leaves them as they are.
    """
    own = _images(images)
    if groups is not None and (parameters.whole("groups", groups, least=1) > CHANNELS or CHANNELS % groups):
        raise parameters.refuse("groups", f"a divisor of {CHANNELS}, or None", groups)
    parts = [_scattered(part) for part in own.split(_PART)]
    height, width = own.shape[1] // _STEP, own.shape[2] // _STEP
    found = torch.cat(parts) if parts else torch.zeros((0, CHANNELS, height, width))
    return found if groups is None or not len(found) else functional.group_norm(found, groups, eps=_NEVER_ZERO)


def _images(images: Any) -> Any:
    own = images.detach() if isinstance(images, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(images))
    if own.dim() == 4 and own.shape[1] == 1:
        own = own[:, 0]
    if own.dim() != 3 or own.shape[1] % _STEP or own.shape[2] % _STEP or min(own.shape[1:]) < _LEAST_SIDE:
        allowed = f"of the shape n x height x width, sides multiples of {_STEP} from {_LEAST_SIDE} on"
        raise parameters.refuse("images", allowed, f"the shape {tuple(own.shape)}")
    return own.float()


def _scattered(images: Any) -> Any:
    """One part of the images. A coarser scale is kept at fewer places: it has no detail in between."""
    height, width = images.shape[1] + 2 * _STEP, images.shape[2] + 2 * _STEP
    waves = _waves(height, width)
    edged = functional.pad(images[:, None], (_STEP,) * 4, mode="reflect")
    plain = torch.fft.fft2(edged)
    orders: list[list[Any]] = [[_smooth(edged, 1)], [], []]
    for fine in range(SCALES):
        first = _through(plain, waves[fine], 1 << fine)
        orders[1].append(_smooth(first, 1 << fine))
        for coarse in range(fine + 1, SCALES):
            bank = _fold(waves[coarse], 1 << fine) * (1 << fine) ** 2  # on a coarser grid a sum has fewer terms
            spectra = torch.fft.fft2(first)
            for angle in range(ANGLES):
                second = _through(spectra[:, angle, None], bank, 1 << (coarse - fine))
                orders[2].append(_smooth(second, 1 << coarse))
    return torch.cat([each for order in orders for each in order], dim=1)


def _through(spectrum: Any, filters: Any, step: int) -> Any:
    """The modulus of what filters let through, at every `step`-th place."""
    return torch.fft.ifft2(_fold(spectrum * filters, step)).abs()


def _smooth(own: Any, step: int) -> Any:
    """The mean under the window, at every fourth place, from values at every `step`-th place; without the edges."""
    down, across = (_window(size * step, step) for size in own.shape[-2:])
    return down @ (own @ across.T)


def _fold(spectrum: Any, step: int) -> Any:
    """The spectrum of every `step`-th place: frequencies that look alike there are added up."""
    if step == 1:
        return spectrum
    height, width = spectrum.shape[-2] // step, spectrum.shape[-1] // step
    rows = reduce(torch.add, [spectrum[..., start : start + height, :] for start in range(0, step * height, height)])
    return reduce(torch.add, [rows[..., start : start + width] for start in range(0, step * width, width)]) / step**2


@lru_cache(maxsize=8)
def _waves(height: int, width: int) -> list[Any]:
    """Spectra of the wavelets, by scale."""
    return [
        torch.stack([_spectrum(wavelet(height, width, scale, angle)) for angle in range(ANGLES)])
        for scale in range(SCALES)
    ]


@lru_cache(maxsize=32)
def _window(length: int, step: int) -> Any:
    """The Gaussian window along one side: a row for each place that is kept, a number for each place that it sees."""
    places = np.arange(length)
    width = _WIDTH * 2 ** (SCALES - 1)
    own = sum(np.exp(-((places + length * turn) ** 2) / (2 * width**2)) for turn in range(-3, 4))
    own = step * own / own.sum()
    kept = np.arange(_STEP, length - _STEP, _STEP)
    return torch.from_numpy(own[(kept[:, None] - np.arange(0, length, step)) % length].astype(np.float32))


def wavelet(height: int, width: int, scale: int, angle: int) -> Any:
    """A Morlet wavelet in space, around place (0, 0) of a grid without edges."""
    turned = angle * math.pi / ANGLES
    deviation, wave = _WIDTH * 2**scale, _WAVE / 2**scale
    slim = 4 / ANGLES
    bell = _gaussian(height, width, deviation, turned, slim)
    moving = _gaussian(height, width, deviation, turned, slim, wave)
    area = 2 * math.pi * deviation**2 / slim
    return (moving - moving.sum() / bell.sum() * bell) / area


def _gaussian(height: int, width: int, deviation: float, turned: float, slim: float, wave: float = 0.0) -> Any:
    """A wave under a Gaussian that is `slim` times as steep across its direction, on a grid without edges."""
    total = np.zeros((height, width), dtype=np.complex128)
    for round_y in range(-2, 3):
        for round_x in range(-2, 3):
            y, x = np.mgrid[:height, :width] + np.array([round_y * height, round_x * width])[:, None, None]
            along = x * math.cos(turned) + y * math.sin(turned)
            across = y * math.cos(turned) - x * math.sin(turned)
            total += np.exp(-(along**2 + (slim * across) ** 2) / (2 * deviation**2) + 1j * wave * along)
    return total


def _spectrum(filtered: Any) -> Any:
    """The spectrum, which is real, as a wavelet is its own mirror image conjugated."""
    return torch.from_numpy(np.fft.fft2(filtered).real.astype(np.float32))
