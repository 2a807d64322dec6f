"""Most of these tests need torch: `python3 go.py neural` runs them in an environment of their own.

Elsewhere only those that need none are there.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

WITHOUT_TORCH = {"test_floats.py", "test_pricing.py", "test_sampling.py"}
collect_ignore: list[str] = []

if importlib.util.find_spec("torch") is None:
    collect_ignore = [each.name for each in Path(__file__).parent.glob("test_*.py") if each.name not in WITHOUT_TORCH]
else:
    import torch

    torch.set_num_threads(1)
