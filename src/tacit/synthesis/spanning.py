"""A spanning tree of pairs, grown by one private choice at a time, that prefers columns in the middle of the tree.

Theorem. Each choice is the exponential mechanism among the pairs that connect two parts of the tree so far, by scores
that a unit moves by at most their sensitivity: the given scores plus a bonus that is added here, which follows from
earlier choices and from the released number of rows alone. So each choice costs what the exponential mechanism costs,
whatever was chosen before it, and what is added costs nothing.

What is added. A pair counts for more than itself. In a tree, two columns depend on each other through all the pairs
between them, and each step loses something: say that a share FADING of the dependence is left. A pair (a, b) with score
s then carries about s * reach(a) * reach(b) between both parts, where reach(a) is the sum of FADING ** steps over all
columns of a's part. The logarithm of that product has no bounded sensitivity; to first order around a typical score
s0 it is the score plus s0 * (log reach(a) + log reach(b)), up to a constant. s0 is TYPICAL of the number of rows.
Without it, a pair that hangs on a leaf wins or loses against one in the middle by chance when both depend equally.

Neighbours: one unit's rows, added or removed. Assumptions: the sensitivity of the choice is that of the scores.
Source: McKenna, Miklau, Sheldon 2021 for the choices; what is added is argued here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from tacit.mechanisms import Exponential
from tacit.noise import BitSource
from tacit.synthesis import scoring
from tacit.synthesis.model.tables import Columns

# Round numbers from the middle of ranges in which neither matters much (0.5 to 0.8, 0.02 to 0.08), found on Adult; on
# eight other tables they are never worse than adding nothing.
_FADING: Final = 0.5
_TYPICAL: Final = 0.03


def chosen_tree(
    choice: Exponential, scores: Mapping[Columns, int], columns: int, total: float, bits: BitSource
) -> list[Columns]:
    """Pairs one by one, each among those that connect two parts. total: the released number of rows."""
    steps = np.where(np.eye(columns, dtype=bool), 0.0, math.inf)  # between columns, through chosen pairs
    pairs: list[Columns] = []
    while len(pairs) < columns - 1:
        left = [(a, b) for a, b in scores if math.isinf(steps[a, b])]
        central = _central(steps, total)
        own = [scores[a, b] + central[a] + central[b] for a, b in left]
        a, b = left[int(choice.choose(list(range(len(left))), scores=own, bits=bits))]
        pairs.append((a, b))
        steps = np.minimum(steps, np.minimum(*(steps[:, [c]] + 1 + steps[[d], :] for c, d in ((a, b), (b, a)))))
    return pairs


def _central(steps: np.ndarray[tuple[int, ...], np.dtype[np.float64]], total: float) -> list[int]:
    """What each column adds to the scores of its pairs, in whole numbers of 1/GRID."""
    reach = (_FADING**steps).sum(axis=1)
    return [round(scoring.GRID * _TYPICAL * total * math.log(own)) for own in reach]
