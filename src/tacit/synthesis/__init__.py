"""Synthetic data: one release, then any number of questions.

    twin = synthesis.mst(clinic.rows("SELECT age, sex, ward FROM people"), epsilon=1, delta=1e-6)
    twin.sample(10_000).to_pandas()          # rows with the same columns, free
    twin.marginal("sex", "ward")             # the model's table, with intervals where it was measured

A method takes rows of a curator, or arrays with public facts, and is charged once, before it sees an exact number.
"""

from __future__ import annotations

from tacit.synthesis.aim import aim
from tacit.synthesis.best import best
from tacit.synthesis.drawn import Drawn
from tacit.synthesis.evaluating import evaluate
from tacit.synthesis.independent import independent
from tacit.synthesis.linked.linking import linked
from tacit.synthesis.linked.twins import Linked, load_linked
from tacit.synthesis.mst import mst
from tacit.synthesis.mwem import mwem
from tacit.synthesis.residual import residual
from tacit.synthesis.small import small_database
from tacit.synthesis.synthetic import Synthetic, load

__all__ = [
    "Drawn",
    "Linked",
    "Synthetic",
    "aim",
    "best",
    "evaluate",
    "independent",
    "linked",
    "load",
    "load_linked",
    "mst",
    "mwem",
    "residual",
    "small_database",
]


def __dir__() -> list[str]:
    return __all__
