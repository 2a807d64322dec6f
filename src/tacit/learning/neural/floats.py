"""What floating point does to a sum of clipped gradients, as a theorem; its bounds are paid for in the sensitivity.

Setting. A step draws a Poisson sample of people, puts it in a uniformly random order and cuts it into chunks of one
fixed shape, the last one padded. Where a chunk is one block, the last one may have fewer places instead: the least of a
few public numbers that is enough. For each layer torch computes what a person feeds it, a, and the slope of that
person's loss there, b, in float32. These bits *define* the person's gradient: the real numbers sum over t of b_t (x)
a_t for a layer in `forms.Ghost` or `forms.RankOne`, and the computed tensor itself in `forms.PerPerson`.

Assumption (company). A person's a, b and computed tensors, and the bounds of their norms, depend on that person's rows,
on the public weights and on the shape of full chunks: not on who else is in the chunk, nor on the place in it, nor on
how many places a last chunk has. Fast kernels do not promise it: some round the last numbers of a tensor in another
way, some round by where a result lies in memory. Places that come in whole vectors for each of torch's threads, as many
as the run began with, and results that begin at lines of the cache, keep it for most modules; before a run is paid for,
`rehearsal` compares bits on made-up people (removed, replaced, everyone in several places and in fewer) for this very
module on this very machine, and refuses where it does not hold. `exact=True` needs no such assumption of kernels: there
each person is computed alone.
Assumption (arithmetic). Products and sums in float32 are rounded as IEEE 754 says, in any order, fused or not; float32
that the hardware shortens (bfloat16, TF32) is refused by `single_precision`.

Theorem. Let u = 2**-24 and g(k) = k u/(1 - k u). Clipping multiplies a person by c, with c |gradient| <= C for the
*exact* norm of the gradient so defined (norms: below). Chunks are cut into blocks of equal length by their public size
alone; k = `TOGETHER` blocks in a row are added in float32 (a group), groups and a few chunks at a time
(`chunks_together`, a span) in float64. What one person's group adds, and what is lost in float64 over the span, differ
from the real sum of c gradient, blocks without that person taken as they were computed, by at most E C in L2 norm,
E = E1 + E2,
  E1 = g(P + 2) P + 1.01 u P (2 + ... + k)   for layers summed in float32 in blocks of at most P people (`RankOne`,
                                             `PerPerson`),
  E2 = sum over layers summed in float64 of  2**-52 (n T + 2) n / sqrt(e)   (`Ghost`, `Lookup`; n people, T positions).
n counts all people of a span. A block in which no person changed has the same bits as before, and its own error does
not count.
Proof. A sum of m products in any order is off by at most g(m) times the sum of their sizes, entry by entry (Higham
2002, chapter 3); the norm over all entries of the sum of sizes is at most the sum over people of |a| |b| c, which is
c |gradient| <= C for one position (Minkowski over layers), and c M in general, M = sum over t of |a_t| |b_t|. Computed
norms are at least sqrt(e) M there, so c M <= C/sqrt(e). There c b is rounded to float32 as well, which is taken as part
of the gradient: it moves it by at most u M, and |g| + u M <= sqrt(|g|**2 + e M**2), the bound of the norm, for M >= |g|
and 16 u <= e <= 1. In float32 two more roundings are those of c b, and of the groups' sum: m groups in float64 add
m**2 k P 2**-52 C in all, below 2**-24 P C as a span has at most 2**12 blocks. Adding the jth block of a group rounds a
sum of norm at most j P C (1 + g(P + 2)) and a little, entry by entry: at most 1.01 u j P C.
Then each span's sum is rounded to whole numbers of a grid, and spans are added exactly.

Random layers draw for each chunk from a fresh state that knows nothing of who is there (`people.chances`), so what they
draw may be taken to belong to people instead of places: it is coupled, as the orders are. (No draw is shared by several
people: `modules.draws`.) Who fails, so that they count as nothing, is found with the same draws as those of the others'
sum (`summing`), so it follows from a person's own rows and draws. Where somebody counts as nothing, tensors of the
whole chunk are written anew (`Form.without`), in one layout and with the same numbers.

Corollary (sensitivity). Adding one person to a sample leaves, up to a coupling of the random orders, everyone in place
but one: the new person takes a uniformly random place, and the person who stood there moves to the end. So at most two
blocks change, in at most two groups and two spans (the last block changes anyway, so it may be of another size then),
and the sums on the grid differ by at most
    S = units C (1 + 4 E + 2**-30) + 2 sqrt(d)
in L2 norm, d coordinates, as rounding to whole numbers moves each of two spans by at most 1 an entry. The mechanism is
a mixture over orders, and mixtures that are coupled like this are no easier to tell apart than the worst pair
(divergences are jointly convex).

Norms. The squared norm of m float32 numbers is computed within a factor 1 + g(m + 2), and not below by more than
m 2**-126 for numbers that vanish; with positions, |sum of b_t (x) a_t|**2 is summed from inner products that are off by
at most g(.) |a_t| |a_s| |b_t| |b_s|, so adding e M**2 with e = (d + p + 16) u gives an upper bound (but for T 2**-63,
where both a and b all but vanish; such a gradient is below C whatever its weight, as T <= 2**40). c is computed from
upper bounds and rounded down. A person whose norm is not finite counts as nothing; so no number above 2**64 is left,
and what vanishes below 2**-126 in a product is below 2**-50 in all: the 2**-30 above covers it, as C >= 2**-16.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from tacit.errors import TacitError
from tacit.loss.numbers.rounding import dyadic_up, sqrt_up

BLOCK: Final = 256
"""People whose gradients are added in float32: the error grows with the square of it."""
TOGETHER: Final = 4
"""Blocks that are added in float32: adding them in float64 one by one would take a tenth of a large step."""
UNIT: Final = 2.0**-24
DOUBLE: Final = 2.0**-52
VANISHING: Final = 2.0**-50
"""More than the root of what can vanish below 2**-126, for vectors of up to 2**24 numbers."""
DOWN: Final = 1.0 - 2.0**-22
"""Weights are multiplied by this before they are rounded to float32: it outweighs rounding up."""
_SLACK: Final = Fraction(1, 1 << 30)
_SPAN: Final = 8
_MOST_BLOCKS: Final = 1 << 12
_GRID_BITS: Final = 20
_ROUNDING_SHARE: Final = 2.0**-8
_MOST_ROUNDINGS: Final = 1 << 22
"""Far below 1/u, where the bounds would lose their meaning, and within what `VANISHING` is for."""


def gamma(roundings: int) -> float:
    """The relative error of this many roundings in float32, at most."""
    if roundings > _MOST_ROUNDINGS:
        raise TacitError(
            f"A layer adds {roundings:,} numbers for one result, which leaves float32 no correct digit. "
            f"Layers may add at most {_MOST_ROUNDINGS:,}."
        )
    return roundings * UNIT / (1.0 - roundings * UNIT)


def block_of(people: int) -> int:
    """How many people are added in float32: equal parts of a chunk, at most `BLOCK`."""
    return -(-people // -(-people // BLOCK))


def block_error(people: int) -> float:
    """E1: of sums in float32 over blocks and groups, in units of the clipping norm."""
    block = block_of(people)
    together = min(TOGETHER, -(-people // block))
    return gamma(block + 2) * block + 1.01 * UNIT * block * (together * (together + 1) // 2 - 1)


def chunks_together(people: int) -> int:
    """How many chunks of this many people are a span: added in float64 before they are rounded to the grid."""
    return max(1, min(_SPAN, _MOST_BLOCKS // -(-people // BLOCK)))


def spread(inner: int, outer: int) -> float:
    """e: what is added to a squared norm, in units of M**2."""
    return (inner + outer + 16) * UNIT


def double_error(people: int, positions: int, e: float) -> float:
    """E2 of one layer, for chunks of this many people."""
    people *= chunks_together(people)
    return DOUBLE * (people * positions + 2) * people / math.sqrt(e)


def norm_factor(numbers: int) -> float:
    """The factor for a computed norm of this many numbers, before `VANISHING` is added."""
    return 1.0 + 1.01 * gamma(numbers + 4)


def units_for(clip: Fraction, multiplier: Fraction, coordinates: int) -> int:
    """How many steps of the grid make 1, as an exponent of two.

    The noise is about 2**20 steps wide, or wider where rounding so many coordinates would cost more than 1/256.
    """
    width = max(2.0**_GRID_BITS, 2.0 * math.sqrt(coordinates) * float(multiplier) / _ROUNDING_SHARE)
    return math.floor(math.log2(width / float(clip * multiplier)))


def sensitivity(clip: Fraction, error: float, coordinates: int, exponent: int) -> Fraction:
    """S of the corollary, in steps of the grid."""
    units = Fraction(2) ** exponent
    grown = 1 + 4 * dyadic_up(Fraction(error)) + _SLACK
    return units * clip * grown + 2 * sqrt_up(Fraction(coordinates))
