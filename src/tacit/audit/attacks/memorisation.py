"""Memorisation: a small language model that was trained on secrets completes them.

People write one line each: half of them ordinary words, half a sentence with a number that no one else knows
("my code bq is 4821"). A model of characters learns to continue the text. The attacker has the model and the words
around a number, ranks all numbers by how likely the model finds them, and names the first.

Exposure (Carlini, Liu, Erlingsson, Kos, Song 2019) is log2(how many numbers there are) - log2(the rank of the true
one): it goes from 0 to the number of its bits, with median 1 bit where the model knows nothing.

Private version: the same model by `learning.neural.PrivateTrainer`, where all of a person's characters are sampled and
clipped together. Ceiling: numbers are drawn uniformly, and changing one is one removal and one addition. Needs torch.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.audit.attacks.attempt import Attempt, Rates, attempted, ceiling, replacing
from tacit.parameters import Number

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_ALPHABET: Final = " " + _LETTERS + "0123456789"
_WORDS: Final = ["the", "cat", "saw", "a", "dog", "on", "our", "way", "home", "and", "it", "ran", "to", "me"]
_SEEN: Final = 14  # characters that the model sees before the one that it names
_WIDTH: Final = 8
_HIDDEN: Final = 96
_LEARNING_RATE: Final = 0.004
_SHARE: Final = 0.5  # of people in a private step

Codes = NDArray[np.int64]


def memorisation(
    epsilon: Number = 1,
    delta: Number = "1e-6",
    *,
    people: int = 120,
    digits: int = 4,
    steps: int = 300,
    seed: int = 1,
) -> Attempt:
    """Have a language model complete the secret numbers in the lines that it was trained on.

    >>> from tacit.audit import attacks
    >>> attacks.memorisation in attacks.ATTACKS  # it needs torch; the others do not
    False
    """

    def run() -> Rates:
        import torch

        rng = np.random.default_rng(seed)
        secrets = rng.integers(0, 10**digits, people // 2)
        lines, begun = _lines(rng, people, secrets, digits)
        contexts, following, whose = windows(lines)
        exposures = []
        for private in (False, True):
            torch.manual_seed(seed)
            module = _module()
            if private:
                _train_privately(module, contexts, following, whose, people, epsilon, delta, steps)
            else:
                _train(module, contexts, following, steps)
            exposures.append(_exposures(module, begun, secrets, digits))
        bits = digits * math.log2(10)
        named = [float(np.mean(each >= bits - 1e-9)) for each in exposures]
        words = (
            f"Median exposure {np.median(exposures[0]):.1f} bits of {bits:.1f} after plain training, "
            f"{np.median(exposures[1]):.1f} after private training; {people} lines, half of them with a secret."
        )
        return Rates(named[0], named[1], 10.0**-digits, len(secrets), words)

    return attempted(
        "memorisation",
        f"complete a secret number of {digits} digits",
        run,
        epsilon=epsilon,
        delta=delta,
        most=lambda budget: ceiling(replacing(budget), candidates=10**digits),
    )


def _lines(rng: np.random.Generator, people: int, secrets: Any, digits: int) -> tuple[list[str], list[str]]:
    """Everyone's line, and the beginnings of lines with a secret."""
    begun = [f"my code {_LETTERS[place // 26]}{_LETTERS[place % 26]} is " for place in range(len(secrets))]
    lines = [f"{start}{secret:0{digits}d}" for start, secret in zip(begun, secrets, strict=True)]
    length = len(lines[0])
    others = people - len(lines)
    lines += [" ".join(rng.choice(_WORDS, 8))[:length].ljust(length) for _ in range(others)]
    return lines, begun


def coded(text: str) -> list[int]:
    """Characters as whole numbers."""
    return [_ALPHABET.index(each) for each in text]


def windows(lines: list[str]) -> tuple[Codes, Codes, Codes]:
    """The characters before each character, the character, and the person whose line it is."""
    rows, following, whose = [], [], []
    for person, line in enumerate(lines):
        own = coded(line.rjust(len(line) + _SEEN))
        for place in range(_SEEN, len(own)):
            rows.append(own[place - _SEEN : place])
            following.append(own[place])
            whose.append(person)
    return np.array(rows), np.array(following), np.array(whose)


def _module() -> Any:
    from torch import nn

    size = len(_ALPHABET)
    return nn.Sequential(
        nn.Embedding(size, _WIDTH),
        nn.Flatten(),
        nn.Linear(_SEEN * _WIDTH, _HIDDEN),
        nn.Tanh(),
        nn.Linear(_HIDDEN, size),
    )


def _loss(output: Any, target: Any) -> Any:
    from torch.nn import functional

    return functional.cross_entropy(output, target, reduction="none")


def _train(module: Any, contexts: Codes, following: Codes, steps: int) -> None:
    import torch

    optimiser = torch.optim.Adam(module.parameters(), lr=_LEARNING_RATE)
    inputs, target = torch.from_numpy(contexts), torch.from_numpy(following)
    for _ in range(steps):
        optimiser.zero_grad()
        _loss(module(inputs), target).mean().backward()
        optimiser.step()


def _train_privately(
    module: Any,
    contexts: Codes,
    following: Codes,
    whose: Codes,
    people: int,
    epsilon: Number,
    delta: Number,
    steps: int,
) -> None:
    import torch

    from tacit.learning.neural import PrivateTrainer

    optimiser = torch.optim.Adam(module.parameters(), lr=_LEARNING_RATE)
    own: dict[str, Any] = {"units": whose, "rows_per_unit": int(np.bincount(whose).max()), "size": people}
    price: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rate": _SHARE, "steps": steps}
    PrivateTrainer(module, _loss, optimiser, contexts, following, **price, **own).fit()


def _exposures(module: Any, begun: list[str], secrets: Any, digits: int) -> NDArray[np.float64]:
    """For each secret, log2 of how many numbers there are over its rank: those that the model finds likelier, and 1."""
    found = []
    for start, secret in zip(begun, secrets, strict=True):
        scores = likelihoods(module, start, digits)
        rank = 1 + int(np.count_nonzero(scores > scores[secret]))
        found.append(math.log2(10**digits / rank))
    return np.array(found)


def likelihoods(module: Any, start: str, digits: int) -> NDArray[np.float64]:
    """The log of the probability that the model gives each number after these words."""
    import torch

    zero = _ALPHABET.index("0")
    known = np.array([coded(start.rjust(_SEEN))])
    total = np.zeros(1)
    for _ in range(digits):
        with torch.no_grad():
            own = torch.log_softmax(module(torch.from_numpy(known[:, -_SEEN:])).double(), dim=1)[:, zero : zero + 10]
        total = (total[:, None] + own.numpy()).reshape(-1)
        following = np.tile(np.arange(zero, zero + 10), len(known))[:, None]
        known = np.hstack([np.repeat(known, 10, axis=0), following])
    return np.asarray(total)
