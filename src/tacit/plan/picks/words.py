"""What a pick does and how far it may be off, in words: in ranks, because the meaning of a rank depends on the data."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tacit.mechanisms import Extreme, Mode, Quantiles
from tacit.plan.picks.part import PickMechanism, PickPart


def pick_sentences(part: PickPart, mechanism: PickMechanism) -> Iterator[str]:
    """The plan's sentences about a pick."""
    spent = f"epsilon {float(mechanism.epsilon):.4g}"
    if isinstance(mechanism, Mode):
        how_many = "one" if mechanism.most == 1 else f"{mechanism.most}, one after the other,"
        yield f"mode: {how_many} of {mechanism.points:,} known values is chosen by how often it occurs ({spent})."
    elif isinstance(mechanism, Extreme):
        side = "above" if mechanism.greatest else "below"
        yield (
            f"{part.kind}: the value that about {mechanism.rank:,} rows lie {side} (half of the rows, where there are "
            f"fewer than twice as many) is chosen from {mechanism.points:,} points ({spent}). The very last row of a "
            f"table cannot be shown."
        )
    else:
        shares = ", ".join(f"{float(share):g}" for share in mechanism.shares)
        yield (
            f"quantile {shares}: a point of the column's grid of {mechanism.points:,} is chosen by its rank ({spent}); "
            f"percentile_cont is answered by such a point as well."
        )
        if mechanism.together:
            yield (
                f"The {len(mechanism.shares)} quantiles are chosen one inside the other, in {mechanism.levels} steps: "
                f"that costs as much as {mechanism.levels} of them apart."
            )
    yield f"In 95 of 100 cases, of this {part.kind}: {off_by(mechanism, part.step, part.columns[0].meaning)}."


def off_by(mechanism: PickMechanism, step: Fraction | None, meaning: str = "number") -> str:
    """How far a pick may be off, at worst; `step` is that of its grid, where that does not distinguish all values."""
    most = max(mechanism.errors("0.95"))
    if isinstance(mechanism, Mode):
        return f"the chosen value has at most {most:,} rows fewer than the most frequent one"
    if isinstance(mechanism, Quantiles) and len(mechanism.shares) > 1:
        return f"all of their ranks are within {most:,} rows of the wanted ones{alike(step, meaning)}"
    return f"its rank is within {most:,} rows of the wanted one{alike(step, meaning)}"


_UNITS = {"date": (1, " days"), "timestamp": (10**6, " seconds")}
"""For dates and times: how many steps of their codes make one of these."""


def alike(step: Fraction | None, meaning: str = "number") -> str:
    """Which different values a choice by rank takes for one, in words: those within a step of its grid.

    A rank is promised on the grid. None: the grid distinguishes all values, and there is nothing to say.
    """
    if step is None:
        return ""
    codes, unit = _UNITS.get(meaning, (1, ""))
    return f", where values within the same step of {float(step / codes):.3g}{unit} count as equal"
