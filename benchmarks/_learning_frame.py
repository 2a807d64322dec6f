"""What a line of the learning benchmark is. Files `_learning_models_*.py` beside this one have `ENTRIES`, a tuple.

A peer's part is in `_learning_peers_*.py`, with `PEERS`: a mapping from (model, data) to a function of a split and an
epsilon that gives the score. Those files are imported by diffprivlib's own Python and must not import tacit.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from _learning_data import Split

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
DELTA = 1e-5


@dataclass(frozen=True, slots=True)
class Entry:
    """A model on a data set: how well it does with privacy, how well scikit-learn does without, and the bars."""

    model: str
    data: str
    score: Callable[[Split, float], float]  # fit on split.train at this epsilon (and DELTA), score on split.test
    plain: Callable[[Split], float]  # the same without privacy
    bars: Mapping[float, float] = field(default_factory=dict)  # by epsilon; none: shown, and only peers are a bar
    measure: str = "accuracy"
    lower_is_better: bool = False
    epsilons: tuple[float, ...] = EPSILONS

    @property
    def name(self) -> str:
        """How it is asked for and kept."""
        return f"{self.model}/{self.data}"


def bars(*figures: float | None) -> dict[float, float]:
    """The bars at 0.1, 0.3, 1, 3 and 10, in this order; None where there is none."""
    return {epsilon: figure for epsilon, figure in zip(EPSILONS, figures, strict=True) if figure is not None}


def gathered(kind: str, attribute: str) -> list[Any]:
    """That attribute of every file of a kind, "models" or "peers", in the order of their names."""
    files = sorted(Path(__file__).parent.glob(f"_learning_{kind}_*.py"))
    return [getattr(importlib.import_module(file.stem), attribute) for file in files]
