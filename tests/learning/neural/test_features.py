"""Scattering against convolutions written out in space, and that it is a function of one image alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from tacit.errors import ParameterError
from tacit.learning.neural import features


def images(many: int = 3, side: int = 12) -> Any:
    return torch.rand(many, side, side, generator=torch.Generator().manual_seed(many))


def written_out(image: Any) -> Any:
    """The definition, without Fourier transforms: every convolution is a double sum on the mirrored image."""
    step = 2**features.SCALES
    edged = np.pad(np.asarray(image, dtype=np.float64), step, mode="reflect")
    side = len(edged)

    def around(own: Any, kernel: Any) -> Any:
        """The circular convolution."""
        found = np.zeros(own.shape, dtype=np.complex128)
        for y in range(len(own)):
            for x in range(len(own)):
                found += kernel[y, x] * np.roll(own, (y, x), (0, 1))
        return found

    deviation = 0.8 * 2 ** (features.SCALES - 1)
    rounds = range(-3, 4)
    away = np.array([sum(math.exp(-((p + r * side) ** 2) / (2 * deviation**2)) for r in rounds) for p in range(side)])
    window = np.outer(away, away) / away.sum() ** 2
    waves = [[features.wavelet(side, side, s, a) for a in range(features.ANGLES)] for s in range(features.SCALES)]
    first = [[np.abs(around(edged, each)) for each in row] for row in waves]
    second = [np.abs(around(own, each)) for own in first[0] for each in waves[1]]
    fine = [around(each, window).real[::step, ::step] for each in (edged, *first[0])]
    # moduli of the coarser scale are taken at every second place
    coarse = [around(each[::2, ::2], 4 * window[::2, ::2]).real[::2, ::2] for each in (*first[1], *second)]
    return np.array([each[1:-1, 1:-1] for each in fine + coarse])


def test_scattering_is_its_definition() -> None:
    own = images(1)
    found = features.scattering(own, groups=None)[0].numpy()
    expected = written_out(own[0])
    assert found.shape == expected.shape == (81, 3, 3)
    assert np.abs(found - expected).max() < 1e-5


@pytest.mark.parametrize("scale", [0, 1])
@pytest.mark.parametrize("angle", [0, 3, 7])
def test_a_wavelet_has_mean_zero_and_its_own_frequency(scale: int, angle: int) -> None:
    own = features.wavelet(64, 64, scale, angle)
    assert abs(own.sum()) < 1e-12
    spectrum = np.abs(np.fft.fft2(own))
    y, x = np.unravel_index(spectrum.argmax(), spectrum.shape)
    turned = angle * math.pi / 8
    wave = 3 * math.pi / 4 / 2**scale * 64 / (2 * math.pi)
    for found, expected in ((x, wave * math.cos(turned)), (y, wave * math.sin(turned))):
        assert abs((found - expected + 32) % 64 - 32) <= 2


def test_an_image_has_its_features_whoever_else_is_there() -> None:
    own = images(5)
    whole = features.scattering(own)
    for place in range(5):
        assert torch.allclose(features.scattering(own[place : place + 1])[0], whole[place], atol=1e-5)


def test_groups_have_mean_0_and_variance_1_within_an_image() -> None:
    found = features.scattering(images(2, 28)).reshape(2, 27, -1)
    assert torch.allclose(found.mean(dim=2), torch.zeros(2, 27), atol=1e-4)
    assert torch.allclose(found.var(dim=2, unbiased=False), torch.ones(2, 27), atol=0.05)


@pytest.mark.parametrize(
    ("shape", "groups"), [((2, 10, 12), 27), ((2, 3, 12, 12), 27), ((2, 4, 4), 27), ((2, 12, 12), 5)]
)
def test_what_is_no_grey_image_is_refused(shape: tuple[int, ...], groups: int) -> None:
    with pytest.raises(ParameterError):
        features.scattering(torch.zeros(shape), groups)
