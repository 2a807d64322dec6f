"""Neural networks, trained privately: torch modules whose every step has exact noise, paid for before the first.

    model = neural.NeuralClassifier(module, epsilon=3, delta=1e-5)
    trainer = neural.PrivateTrainer(module, loss, optimiser, X, y, epsilon=3, delta=1e-5, rate=0.02, steps=1000)

In front `trainer` (every step of a run), `estimators` (the same as scikit-learn has it), `fitted` (files) and `floats`
(the theorem about rounding that sums are paid by). Behind, each standing on those before it: `people/` (who is in a
step), `gradients/` (each person's own), `sums/` (clipped, added up and noisy), `modules/` (what a module may be) and
`runs/` (what a run costs, and how it goes on).

torch is the extra `tacit[torch]`. A name is fetched from its file when it is first used.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tacit.learning.neural import features
    from tacit.learning.neural.estimators import NeuralClassifier, NeuralRegressor
    from tacit.learning.neural.fitted import load
    from tacit.learning.neural.people.augmented import Shifted
    from tacit.learning.neural.runs.corrected import CorrectedAdam
    from tacit.learning.neural.runs.progress import Log
    from tacit.learning.neural.trainer import PrivateTrainer

__all__ = [
    "CorrectedAdam",
    "Log",
    "NeuralClassifier",
    "NeuralRegressor",
    "PrivateTrainer",
    "Shifted",
    "features",
    "load",
]

# name -> the file that it lives in, or is
_HOME: Final = {
    "CorrectedAdam": "runs.corrected",
    "Log": "runs.progress",
    "NeuralClassifier": "estimators",
    "NeuralRegressor": "estimators",
    "PrivateTrainer": "trainer",
    "Shifted": "people.augmented",
    "features": "features",
    "load": "fitted",
}

if not TYPE_CHECKING:  # a type checker reads the imports above, and so still notices a misspelt name

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if importlib.util.find_spec("torch") is None:
            raise ImportError(f"tacit.learning.neural.{name} needs torch: pip install 'tacit[torch]'.")
        home = importlib.import_module(f"tacit.learning.neural.{_HOME[name]}")
        return home if name == _HOME[name] else getattr(home, name)

    def __dir__() -> list[str]:
        return __all__
