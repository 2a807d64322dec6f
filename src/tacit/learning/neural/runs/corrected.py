"""`CorrectedAdam`: Adam that knows how much of a gradient's square is noise.

    optimiser = neural.CorrectedAdam(module.parameters(), lr=0.005)

Adam divides by the root of the mean square of gradients. With noisy gradients, most of that square is the variance of
the noise, which is public: the trainer writes it into the optimiser before each step, and the optimiser subtracts it.
What is left may be negative by chance, so it is at least `floor` times the noise's variance. All of it is
post-processing.
Source: Tang, Shpilevskiy, Lecuyer 2023 (DP-AdamBC).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from tacit import parameters


class CorrectedAdam(torch.optim.Optimizer):
    """lr: the length of a step. betas: as Adam has them. floor: the least share of the noise that counts as signal."""

    def __init__(
        self, params: Iterable[Any], lr: float = 0.005, betas: tuple[float, float] = (0.9, 0.999), floor: float = 0.1
    ) -> None:
        parameters.positive("lr", lr)
        parameters.positive("floor", floor)
        if not all(0 <= each < 1 for each in betas):
            raise parameters.refuse("betas", "two numbers from 0 to below 1", betas)
        super().__init__(params, {"lr": lr, "betas": tuple(betas), "floor": floor, "noise_variance": 0.0})

    def step(self, closure: Callable[[], float] | None = None) -> None:
        """One step along the present gradients."""
        with torch.no_grad():
            for group in self.param_groups:
                for each in group["params"]:
                    if each.grad is not None:
                        _moved(each, self.state[each], group)


def _moved(parameter: Any, own: dict[str, Any], group: dict[str, Any]) -> None:
    """One step of one parameter, with its memory."""
    slow, slower = group["betas"]
    if not own:
        own["step"] = 0
        own["mean"], own["square"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
    own["step"] += 1
    own["mean"].lerp_(parameter.grad, 1 - slow)
    own["square"].mul_(slower).addcmul_(parameter.grad, parameter.grad, value=1 - slower)
    noise = group["noise_variance"]
    signal = own["square"] / (1 - slower ** own["step"]) - noise
    signal.clamp_(min=max(group["floor"] * noise, 1e-16))
    parameter.addcdiv_(own["mean"], signal.sqrt_(), value=-group["lr"] / (1 - slow ** own["step"]))
