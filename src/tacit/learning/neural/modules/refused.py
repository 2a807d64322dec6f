"""Layers that mix people, or remember them, are refused by name, with advice on what to use instead.

Promise: a module is looked at before anything is paid. A layer is refused if it is known to break "a person's gradient
depends on that person alone": statistics over the batch, running statistics kept outside the noise, weights changed
while looking things up. Other layers are tried on made-up people (`rehearsal`).
"""

from __future__ import annotations

import os
from typing import Any, Final

import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.utils._device import DeviceContext
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from tacit import parameters
from tacit.errors import TacitError

_ONEDNN: Final = ("ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE")
"""Variables of the environment by which oneDNN may shorten the numbers that it multiplies."""

_EVERYWHERE: Final = (
    "_global_forward_hooks", "_global_forward_pre_hooks", "_global_backward_hooks", "_global_backward_pre_hooks",
)  # fmt: skip


def refuse_mixing(module: Any) -> None:
    """Refuse a module with a layer that mixes people."""
    if not isinstance(module, nn.Module):
        raise parameters.refuse("module", "a torch.nn.Module", type(module).__name__)
    refuse_watchers()
    for name, each in (*module.named_parameters(), *module.named_buffers()):
        if is_lazy(each):
            raise TacitError(f"{name!r} of the module has no size yet. Run one row through it first: module(row).")
    for name, layer in module.named_modules():
        where = f"{type(layer).__name__}{f' ({name!r})' if name else ''}"
        if isinstance(layer, nn.modules.batchnorm._BatchNorm) and not isinstance(
            layer, (nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)
        ):
            raise TacitError(
                f"{where} takes means over the batch, so one person moves everybody's gradient. "
                "Use GroupNorm, LayerNorm or InstanceNorm."
            )
        if getattr(layer, "track_running_stats", False):
            raise TacitError(
                f"{where} keeps running statistics of the rows, which no noise protects. Use track_running_stats=False."
            )
        if isinstance(layer, (nn.Embedding, nn.EmbeddingBag)):
            if layer.max_norm is not None:
                raise TacitError(f"{where} has max_norm, which rewrites weights for the rows it meets. Leave it out.")
            if layer.scale_grad_by_freq:
                raise TacitError(f"{where} has scale_grad_by_freq, which counts tokens over the batch. Leave it out.")
        if _hooks(layer):
            raise TacitError(f"{where} has hooks, which see people's rows. Take them off, or put them into forward.")
    for name, each in module.named_parameters():
        if each._backward_hooks:
            raise TacitError(f"Parameter {name!r} has hooks, which see people's gradients. Take them off.")
        if type(each) is not nn.Parameter:
            raise TacitError(f"Parameter {name!r} is a {type(each).__name__}, whose code would see rows.")
    if not any(each.requires_grad for each in module.parameters()):
        raise TacitError("The module has no parameter that learns. Leave requires_grad on for some of them.")


def refuse_watchers() -> None:
    """Refuse whatever torch would tell of every module, every operation, or every tensor that is kept for slopes."""
    if any(getattr(nn.modules.module, kind, None) for kind in _EVERYWHERE):
        raise TacitError("torch has hooks on all modules, which would see people's rows. Take them off.")
    modes = [*torch.overrides._get_current_function_mode_stack(), *_get_current_dispatch_mode_stack()]
    if any(type(each) is not DeviceContext for each in modes):
        raise TacitError(
            "A mode of torch is on, which would see every operation on people's rows. Train outside of it."
        )
    try:
        with torch.autograd.graph.disable_saved_tensors_hooks("saved"):
            pass
    except RuntimeError:
        raise TacitError("torch has hooks on saved tensors, which would see people's rows. Take them off.") from None


def single_precision(module: Any) -> None:
    """Refuse arithmetic whose error is not bounded here: anything but float32 that is really float32."""
    for name, each in module.named_parameters():
        if each.dtype != torch.float32:
            allowed = "float32: the error of other arithmetic is not bounded here"
            raise parameters.refuse(f"dtype of parameter {name!r}", allowed, str(each.dtype), "Use module.float().")
        if each.device.type != "cpu":
            raise parameters.refuse(f"device of parameter {name!r}", "the processor", str(each.device))
    found = _shortened()
    if found is not None:
        hint = 'Use torch.set_float32_matmul_precision("highest"), and leave every other setting of it as torch has it.'
        raise parameters.refuse("precision of products", "float32 that is not shortened", found, hint)
    if torch.is_autocast_enabled("cpu"):
        raise TacitError("torch.autocast is on. Mixed precision has no bound here: train outside of it.")
    if float((torch.full((1,), 1e-40) * 1.0)[0]) == 0.0:
        raise TacitError(
            "The processor takes the smallest numbers of float32 for 0, which has no bound here. "
            "Use torch.set_flush_denormal(False), and no library that was built with -ffast-math."
        )


def _shortened() -> str | None:
    """What float32 is shortened to in products: by either of the settings that torch has for it, or by oneDNN's own."""
    own = torch.backends.mkldnn
    for place in (torch.backends, own, *(getattr(own, kind, None) for kind in ("matmul", "conv", "rnn"))):
        found = str(getattr(place, "fp32_precision", "none"))
        if found not in ("none", "ieee"):
            return found
    for name in _ONEDNN:
        if os.environ.get(name, "STRICT").upper() != "STRICT":
            return f"{name}={os.environ[name]}"
    try:
        older = str(torch.get_float32_matmul_precision())
    except RuntimeError:  # it raises where one of the newer settings differs from it
        return "set in two ways that differ"
    return None if older == "highest" else older


def _hooks(layer: Any) -> bool:
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return any(getattr(layer, kind, None) for kind in kinds)
