"""Random bits and exact samplers. Nothing here knows about privacy.

Every sampler takes public parameters (rationals; a float is read as the rational it is), a size (None for one Python
number) and a source of bits, and returns draws whose distribution *is* the stated one: see `reals` for how.
"""

from __future__ import annotations

from tacit.noise.bernoulli import bernoulli, bernoulli_exp
from tacit.noise.bits import BitSource, SecureBits, SeededBitsForTestsOnly, secure
from tacit.noise.gaussian import discrete_gaussian
from tacit.noise.laplace import discrete_laplace, geometric
from tacit.noise.race import exponential_race, one_sided_race
from tacit.noise.uniform import uniform_below

__all__ = [
    "BitSource",
    "SecureBits",
    "SeededBitsForTestsOnly",
    "bernoulli",
    "bernoulli_exp",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential_race",
    "geometric",
    "one_sided_race",
    "secure",
    "uniform_below",
]
