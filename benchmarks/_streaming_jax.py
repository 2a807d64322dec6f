"""Jax-privacy's buffered linear Toeplitz factorisations, in an environment of their own: error, buffers, seconds.

Each is optimised by its own code, for the largest or for the mean error, and then measured from the coefficients of its
two factors in float64: |c|^2 times the mean squared norm of the rows of B, as ours is.

python benchmarks/_streaming_jax.py max|mean STEPS      (JSON on standard output)
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

from jax_privacy.matrix_factorization import buffered_toeplitz  # noqa: E402 - float64 must be on before it loads


def squared_error(blt: Any, steps: int) -> float:
    """Both factors are Toeplitz: C has the coefficients of the strategy, B the running totals of its inverse's."""
    strategy = np.asarray(blt.toeplitz_coefs(steps), dtype=np.float64)
    decoder = np.cumsum(np.asarray(blt.inverse().toeplitz_coefs(steps), dtype=np.float64))
    return float(np.square(strategy).sum() * np.cumsum(np.square(decoder)).mean())


def measured(error: str, steps: int) -> dict[str, Any]:
    began = time.process_time()
    blt = buffered_toeplitz.optimize(n=steps, error=error)
    return {
        "buffers": len(blt.buf_decay),
        "seconds": time.process_time() - began,
        "error": squared_error(blt, steps),
    }


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], int(sys.argv[2]))))
