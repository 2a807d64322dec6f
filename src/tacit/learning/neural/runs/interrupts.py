"""Ctrl-C waits for the end of a step.

An interrupt in the middle of a step would leave it half done: paid, its noise drawn, layers with forward passes that
are not theirs, torch without gradients. Here it is put off until the step is over, and then does what it always does.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Inside, an interrupt is only noted; elsewhere than in the main thread there are none."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    noted: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: noted.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if noted:
            before(*noted[0])


@contextmanager
def put_back_torch() -> Iterator[None]:
    """Whatever happens inside, torch's switches are as they were: what takes long may be interrupted at any moment."""
    slopes, fast = torch.is_grad_enabled(), torch.backends.mha.get_fastpath_enabled()
    try:
        yield
    finally:
        torch.set_grad_enabled(slopes)
        torch.backends.mha.set_fastpath_enabled(fast)
