"""What models draw, seen while they are fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit.mechanisms import Gaussian


def gaussian_draws(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that grows with each Gaussian release: its event, and how many numbers got noise."""
    drawn: list[Any] = []
    release = Gaussian.release

    def watched(self: Gaussian, values: Any, **options: Any) -> Any:
        drawn.append((self.event, np.size(values)))
        return release(self, values, **options)

    monkeypatch.setattr(Gaussian, "release", watched)
    return drawn
