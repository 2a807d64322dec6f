"""The nearest matrices that a covariance, or a correlation, can be.

Theorem. Among positive-semidefinite matrices the nearest to a symmetric one, in the Frobenius norm, has the same
eigenvectors and the eigenvalues cut off at zero. As the exact matrix is positive semidefinite and the set convex, the
projection is never farther from it than the noisy one was. Post-processing: it costs nothing.

Source: Higham 1988.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def nearest_positive(matrix: Reals) -> Reals:
    """The positive-semidefinite matrix nearest to a symmetric one (or to each of a stack of them)."""
    values, vectors = np.linalg.eigh((matrix + np.swapaxes(matrix, -1, -2)) / 2)
    made = (vectors * np.maximum(values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return np.asarray((made + np.swapaxes(made, -1, -2)) / 2)


def within(matrix: Reals, most: Reals) -> Reals:
    """The matrix with rows and columns scaled down so that no diagonal entry exceeds `most`: it stays positive."""
    diagonal = np.einsum("...ii->...i", matrix)
    scale = np.sqrt(np.where(diagonal > most, most / np.maximum(diagonal, 1e-300), 1.0))
    return np.asarray(matrix * scale[..., :, None] * scale[..., None, :])


def correlations(matrix: Reals) -> Reals:
    """Covariances over the deviations; 0 for a column without variance, and 1 on the diagonal."""
    deviations = np.sqrt(np.maximum(np.einsum("...ii->...i", matrix), 0.0))
    scale = np.where(deviations > 0, 1 / np.maximum(deviations, 1e-300), 0.0)
    found = np.clip(matrix * scale[..., :, None] * scale[..., None, :], -1.0, 1.0)
    places = np.arange(matrix.shape[-1])
    found[..., places, places] = 1.0
    return np.asarray(found)
