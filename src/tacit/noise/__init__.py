"""Random bits and exact samplers. Nothing here knows about privacy.

Every sampler takes public parameters (rationals; a float is read as the rational it is), a size (None for one Python
number) and a source of bits, and returns draws whose distribution *is* the stated one: see `reals` for how.
"""

from __future__ import annotations

from tacit.noise.bernoulli import bernoulli, bernoulli_exp
from tacit.noise.beta import truncated_beta
from tacit.noise.binomial import binomial, multinomial
from tacit.noise.bits import BitSource, SecureBits, SeededBitsForTestsOnly, secure
from tacit.noise.gaussian import discrete_gaussian
from tacit.noise.heavy import cauchy_like, rounded_laplace, student_t
from tacit.noise.laplace import discrete_laplace, geometric
from tacit.noise.laplace_log_normal import laplace_log_normal
from tacit.noise.normal import rounded_normal
from tacit.noise.race import exponential_race, one_sided_race
from tacit.noise.staircase import optimal_inner_width, staircase
from tacit.noise.truncated import truncated_discrete_laplace, truncated_geometric
from tacit.noise.uniform import uniform_below

__all__ = [
    "BitSource",
    "SecureBits",
    "SeededBitsForTestsOnly",
    "bernoulli",
    "bernoulli_exp",
    "binomial",
    "cauchy_like",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential_race",
    "geometric",
    "laplace_log_normal",
    "multinomial",
    "one_sided_race",
    "optimal_inner_width",
    "rounded_laplace",
    "rounded_normal",
    "secure",
    "staircase",
    "student_t",
    "truncated_beta",
    "truncated_discrete_laplace",
    "truncated_geometric",
    "uniform_below",
]


def __dir__() -> list[str]:
    return __all__
