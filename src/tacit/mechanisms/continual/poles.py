"""Which matrix correlates the noise of running totals: a Toeplitz matrix of few numbers, near the best for its length.

The matrix C has ones on its diagonal and c(j) = sum over i of a_i t_i**j on its j-th subdiagonal: six poles t_i in
(0, 1) with positive weights a_i ("buffered linear Toeplitz"). With A the matrix of running totals, B = A C^-1 has
b(j) = b_0 + sum over i of b_i s_i**j on its j-th subdiagonal, where 1 > t_1 > s_1 > t_2 > s_2 > ... > 0: as c(x) =
prod (1 - s_i x) / prod (1 - t_i x), weights are products of differences of these numbers, all positive because they
interlace.

Noise z with the sensitivity of C x gives running totals an average variance of |c|^2 times the mean over steps of the
squared norms of the rows of B. The table holds, for 2^k steps, the logarithms of the gaps of -log(1 - pole), from t_1
to s_6, that make this product least (found by descent, then rounded to three digits; a rounded matrix is as good a
matrix). From 2^10 steps on lengths between are interpolated, within 1e-4 of the best found; shorter ones take the
nearest row, within 1.5 %. Nothing about privacy rests on the table: whatever the matrix is, its sensitivity is
computed.

Source: Dvijotham, McMahan, Pillutla, Steinke, Thakurta 2024 (few poles suffice); McMahan, Xu, Zhang 2024 (poles
fitted to a length); Fichtenberger, Henzinger, Upadhyay 2023 (the square root of A, which all of these approach).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

_SMOOTH: Final = 10
_GAPS: Final = {
    2: (-4.046, -2.013, -3.563, -2.764, -3.03, -3.362, -2.332, -3.943, -0.886, -4.003, -2.843, -2.435),
    3: (-0.299, -4.189, -2.242, -3.614, -2.999, -3.065, -3.509, -2.576, -3.796, -2.474, -3.544, -3.14),
    4: (0.021, -3.34, -2.751, -2.392, -3.55, -1.432, -3.7, -2.177, -3.056, -3.076, -2.004, -3.982),
    5: (0.185, -0.945, -3.412, -1.714, -2.82, -2.558, -2.19, -3.056, -1.844, -2.992, -2.309, -2.397),
    6: (0.24, -0.434, -2.315, -2.373, -1.344, -2.67, -1.827, -2.104, -2.435, -1.793, -2.01, -2.961),
    7: (0.271, -0.245, -0.926, -2.406, -1.555, -1.83, -2.149, -1.543, -2.094, -1.899, -1.591, -2.477),
    8: (0.285, -0.188, -0.543, -1.648, -1.832, -1.215, -1.611, -1.73, -1.455, -1.439, -1.584, -2.458),
    9: (0.294, -0.152, -0.355, -0.86, -1.603, -1.394, -1.165, -1.5, -1.392, -1.171, -1.377, -2.345),
    10: (0.3, -0.126, -0.257, -0.44, -0.626, -1.023, -1.513, -1.386, -1.128, -1.223, -1.594, -2.617),
    11: (0.301, -0.12, -0.243, -0.402, -0.517, -0.666, -0.811, -0.939, -1.03, -1.175, -1.526, -2.537),
    12: (0.302, -0.116, -0.229, -0.365, -0.436, -0.509, -0.565, -0.639, -0.748, -0.948, -1.345, -2.378),
    13: (0.305, -0.105, -0.202, -0.311, -0.347, -0.386, -0.413, -0.463, -0.553, -0.734, -1.116, -2.141),
    14: (0.31, -0.086, -0.161, -0.242, -0.258, -0.28, -0.296, -0.333, -0.407, -0.569, -0.932, -1.942),
    15: (0.319, -0.058, -0.111, -0.171, -0.175, -0.189, -0.2, -0.228, -0.29, -0.434, -0.777, -1.773),
    16: (0.331, -0.022, -0.056, -0.101, -0.101, -0.11, -0.117, -0.14, -0.191, -0.32, -0.644, -1.626),
    17: (0.347, 0.018, -0.001, -0.036, -0.033, -0.04, -0.045, -0.062, -0.106, -0.221, -0.526, -1.494),
    18: (0.365, 0.061, 0.053, 0.025, 0.029, 0.024, 0.02, 0.006, -0.03, -0.133, -0.421, -1.374),
    19: (0.386, 0.105, 0.105, 0.082, 0.086, 0.082, 0.079, 0.069, 0.038, -0.053, -0.325, -1.264),
    20: (0.409, 0.149, 0.155, 0.136, 0.139, 0.136, 0.134, 0.126, 0.1, 0.018, -0.238, -1.163),
    21: (0.432, 0.193, 0.202, 0.186, 0.189, 0.187, 0.185, 0.178, 0.157, 0.084, -0.157, -1.068),
    22: (0.457, 0.236, 0.247, 0.233, 0.236, 0.234, 0.233, 0.228, 0.209, 0.145, -0.082, -0.979),
    23: (0.482, 0.277, 0.29, 0.278, 0.28, 0.279, 0.278, 0.274, 0.259, 0.201, -0.013, -0.895),
    24: (0.508, 0.318, 0.331, 0.321, 0.323, 0.321, 0.321, 0.318, 0.305, 0.254, 0.052, -0.816),
    25: (0.533, 0.357, 0.37, 0.361, 0.363, 0.362, 0.362, 0.359, 0.348, 0.303, 0.113, -0.74),
    26: (0.558, 0.395, 0.408, 0.4, 0.401, 0.401, 0.4, 0.398, 0.389, 0.349, 0.171, -0.669),
    27: (0.584, 0.431, 0.444, 0.437, 0.438, 0.438, 0.438, 0.436, 0.428, 0.392, 0.225, -0.601),
    28: (0.609, 0.467, 0.479, 0.473, 0.474, 0.473, 0.473, 0.472, 0.465, 0.434, 0.277, -0.536),
    29: (0.633, 0.501, 0.512, 0.507, 0.508, 0.508, 0.508, 0.506, 0.501, 0.473, 0.325, -0.473),
    30: (0.657, 0.534, 0.545, 0.54, 0.541, 0.541, 0.541, 0.54, 0.535, 0.51, 0.372, -0.414),
    31: (0.681, 0.566, 0.576, 0.572, 0.573, 0.573, 0.572, 0.572, 0.568, 0.546, 0.416, -0.356),
    32: (0.705, 0.597, 0.606, 0.603, 0.603, 0.603, 0.603, 0.603, 0.6, 0.58, 0.458, -0.301),
}
LONGEST: Final = 1 << max(_GAPS)


@dataclass(frozen=True, slots=True)
class Poles:
    """The numbers of one matrix. Its poles and weights are exactly these doubles."""

    poles: tuple[float, ...]
    weights: tuple[float, ...]
    zeros: tuple[float, ...]  # s_i; with 1 in front they are the poles of B
    inverse: tuple[float, ...]  # b_0, b_1, ...

    def below(self, lags: Reals) -> Reals:
        """c(lag); 1 at lag 0."""
        powers = np.asarray(self.poles)[:, None] ** np.asarray(lags, dtype=np.float64)[None, :]
        return np.where(lags == 0, 1.0, np.asarray(self.weights) @ powers)

    def error_below(self, lags: Reals) -> Reals:
        """b(lag)."""
        powers = np.asarray((1.0, *self.zeros))[:, None] ** np.asarray(lags, dtype=np.float64)[None, :]
        return np.asarray(np.asarray(self.inverse) @ powers, dtype=np.float64)

    def inner(self, apart: Reals, steps: int) -> Reals:
        """At least the inner product of two columns this far apart, for a matrix of `steps` rows, before rounding.

        The first column of the two is the first of the matrix, which has the most rows: c(0) c(l) + sum c(j) c(j + l).
        """
        poles, weights = np.asarray(self.poles), np.asarray(self.weights)
        both = np.log(poles)[:, None] + np.log(poles)[None, :]
        sums = np.exp(both) * np.expm1((steps - 1) * both) / np.expm1(both)  # over j = 1, ..., steps - 1
        tails = weights[:, None] * poles[:, None] ** np.asarray(apart, dtype=np.float64)[None, :]
        return np.asarray(self.below(apart) + (weights @ sums) @ tails, dtype=np.float64)

    def variance(self, step: int) -> float:
        """The sum of squares of a row of B: how many times the noise's variance a total has after `step` steps."""
        poles, weights = np.asarray((1.0, *self.zeros)), np.asarray(self.inverse)
        both = np.log(poles)[:, None] + np.log(poles)[None, :]
        with np.errstate(invalid="ignore", divide="ignore"):
            sums = np.where(both == 0, float(step), np.expm1(step * both) / np.expm1(both))
        return float(weights @ sums @ weights)


@lru_cache(maxsize=64)
def poles_for(steps: int) -> Poles:
    """The matrix for running totals over this many steps."""
    place = min(max(math.log2(max(steps, 1)), min(_GAPS)), max(_GAPS))
    if place < _SMOOTH:
        gaps = np.asarray(_GAPS[round(place)])
    else:
        low = min(int(place), max(_GAPS) - 1)
        part = place - low
        gaps = (1 - part) * np.asarray(_GAPS[low]) + part * np.asarray(_GAPS[low + 1])
    logs = np.cumsum(np.exp(gaps)[::-1])[::-1]
    rest = np.exp(-logs)  # 1 - pole: t_1, s_1, t_2, ...
    over, under = rest[0::2], rest[1::2]
    ends = np.concatenate([[0.0], under])
    return Poles(
        tuple(float(1 - each) for each in over),
        tuple(float(each) for each in _residues(over, under)),
        tuple(float(1 - each) for each in under),
        tuple(float(each) for each in _residues(ends, over)),
    )


def _residues(poles: Reals, zeros: Reals) -> Reals:
    """The weights of prod (1 - zero x) / prod (1 - pole x), both given by how far they are from 1."""
    own = 1 - poles
    above = np.prod((zeros[None, :] - poles[:, None]) / own[:, None], axis=1)
    others = (poles[None, :] - poles[:, None]) / own[:, None]
    np.fill_diagonal(others, 1.0)
    return np.asarray(above / np.prod(others, axis=1), dtype=np.float64)
