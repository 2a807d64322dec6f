"""What a release of second moments gives, whichever way was taken."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.learning.columns import Reals


@dataclass(frozen=True, slots=True)
class Released:
    """Sums of products of (1, coordinates less the centre), the deviation of each one's noise, and the centre.

    `whole`: every row counts as it is between its bounds. Elsewhere rows are shrunk to a ball around the centre.
    """

    matrix: Reals
    deviations: Reals
    centre: Reals
    whole: bool
