"""What random layers draw: for each chunk from a fresh, secret state, and never from torch's own generator.

Dropout and moved copies (`augmented`) draw from a generator that the whole process shares. Anyone in the process may
set it, and how far it has come tells how many chunks there were, so what one step drew would depend on how many people
another step had. Here each chunk draws from a state of its own.

Promise: inside `drawn_from` torch draws from a state of 19,937 secret random bits; afterwards its state is what it was
before. So the draws of one chunk know nothing of other chunks, and who is there changes no one else's draws but for
their place. Assumption: numbers of the Mersenne Twister, which torch uses, are independent from place to place. Then
draws may be thought to belong to people and not to places, as the coupling of `floats` has it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import torch

from tacit.errors import TacitError
from tacit.noise import BitSource

_WORDS: Final = 624
_BEFORE: Final = 24
"""Bytes of a state before its words: the seed, how many words are left, a flag, and which word is next."""
_BYTES: Final = 5056
ALONE: Final = threading.RLock()
"""torch's generator and its settings are the whole process's, so runs in several threads take turns: a step each."""

if hasattr(os, "register_at_fork") and hasattr(ALONE, "_at_fork_reinit"):
    # the thread that held it does not exist in a child process, and nobody would ever let it go
    os.register_at_fork(after_in_child=ALONE._at_fork_reinit)


@contextmanager
def drawn_from(state: Any) -> Iterator[None]:
    """What torch draws inside begins at this state: the same state gives the same draws."""
    with ALONE:
        before = torch.random.get_rng_state()
        try:
            torch.random.set_rng_state(state)
            yield
        finally:
            torch.random.set_rng_state(before)


def secret_state(bits: BitSource) -> Any:
    """A state whose words are all random: the next draw stirs them."""
    state = torch.Generator().manual_seed(0).get_state()
    if state.numel() != _BYTES:
        raise TacitError(f"The random state of this torch has {state.numel()} bytes and not {_BYTES}: use torch 2.")
    words = bits.words(_WORDS) >> np.uint64(32)
    state[_BEFORE : _BEFORE + 8 * _WORDS] = torch.from_numpy(words.view(np.uint8))
    return state
