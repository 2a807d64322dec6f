"""Statistics whose memory may be read: an intruder who sees the state once learns no more than an answer tells.

Pan-privacy. A stream of users comes in; at one moment, which is not known here, an intruder may read all of the memory;
at the end there is one answer. Memory and answer together must be differentially private.
  * `Counter` hides events: neighbours differ by one occurrence.
  * `Density`, `Distinct` and `Cropped` hide users: neighbours differ by all occurrences of one user, however many.

Theorems. `state` is what the memory tells, `output` what the answer's own noise tells.
Counter. The memory is a count that began at discrete Laplace noise of scale 1/epsilon; the answer adds fresh noise of
that scale. It is epsilon-pan-private. Proof: an event before the intrusion moves memory and answer by the same 1,
which moving the first noise by 1 undoes; one after it moves the answer alone, which the second noise hides.
Bits. The memory of `Density` and `Distinct` is one bit for each listed user, or for each of m cells to which a keyed
hash sends users: at first 1 with probability 1/(1 + e), e = exp(state); whenever its user comes it is drawn anew, 1
with probability e/(1 + e). `Cropped` also has a counter for each user that begins uniform on 0, ..., t - 1 and goes
round; only when it passes 0 the bit is drawn anew. The answer is a sum of bits plus discrete Laplace noise of scale
1/output. They are (state + output)-pan-private. Proof: at the intrusion the user's memory is (c, b) with c uniform
whatever came, and b given c is one of the two coins, whose ratio is exp(state). Given the memory, the user's later
occurrences move the sum of bits by at most 1, so the answer's law changes by exp(output) at most. Other users' memory
has nothing to do with it. Estimates. If a share f of the bits were drawn anew, a bit is 1 with probability q + f (1 -
2 q), q = 1/(1 + e). For the cropped sum a user who came n times has passed 0 with probability min(n, t)/t.

What memory means. `memory` and `rounds` are all that is kept of the stream. Draws come straight from the operating
system (`ForgetfulBits`), so that no key is kept from which they could be computed again. Python does not wipe memory
that it frees: rows on their way in, and whatever the caller keeps of them, are the caller's.

Two intrusions are refused. Bits that changed between two looks were drawn anew in between, so their users came; bits
that did not change tell something as well. To hide that, all bits would have to be drawn anew all the time, which
forgets the stream (Dwork et al. show that no such estimator of density can be accurate).

Source: Dwork, Naor, Pitassi, Rothblum, Yekhanin 2010, "Pan-private streaming algorithms", sections 3 and 4 (density and
t-cropped mean; their coins are 1/2 and 1/2 + epsilon/4, ours the most different that the bound allows).
"""

from __future__ import annotations

import hashlib
import math
import secrets
import threading
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from tacit import noise, parameters
from tacit.errors import BudgetExceeded, ParameterError, TacitError
from tacit.loss.events import Pure
from tacit.mechanisms import RandomizedResponse
from tacit.noise.bits import ForgetfulBits
from tacit.parameters import Number
from tacit.streaming.heavy import as_text

_MOST_CELLS: Final = 1 << 26


class _Once:
    """An answer that leaves once, and the price of memory and answer together."""

    def __init__(self, epsilon: Number, intrusions: int) -> None:
        self.epsilon = parameters.price("epsilon", epsilon)
        if parameters.whole("intrusions", intrusions) > 1:
            raise ParameterError(
                f"The 'intrusions' parameter must be 0 or 1. Got {intrusions} instead. What changed in the memory "
                "between two looks tells who came in between, and hiding that would forget the stream. Begin a new "
                "statistic after an intrusion."
            )
        self._answered, self._turn = False, threading.Lock()

    @property
    def event(self) -> Pure:
        """What memory and answer tell together, at most."""
        return Pure(self.epsilon)

    def _leave(self) -> None:
        with self._turn:
            if self._answered:
                raise BudgetExceeded(
                    "This statistic was answered, and was paid for once. Begin another.",
                    asked=Fraction(1),
                    remaining=Fraction(0),
                )
            self._answered = True

    def __reduce__(self) -> NoReturn:
        raise TacitError("A pan-private statistic can be neither copied nor pickled: it is answered once.")


class Counter(_Once):
    """How often something happened. One event is hidden, even from an intruder who reads `memory` once.

    >>> Counter(epsilon=1).event.epsilon
    Fraction(1, 1)
    """

    def __init__(self, *, epsilon: Number, intrusions: int = 1, bits: noise.BitSource | None = None) -> None:
        super().__init__(epsilon, intrusions)
        self._bits = ForgetfulBits() if bits is None else bits
        self.memory = noise.discrete_laplace(1 / self.epsilon, None, self._bits)

    def add(self, events: int = 1) -> None:
        """Count this many events."""
        self.memory += parameters.whole("events", events)

    def answer(self) -> int:
        """The count, give or take two noises. Once."""
        self._leave()
        return self.memory + noise.discrete_laplace(1 / self.epsilon, None, self._bits)


class _Bits(_Once):
    """One bit for each cell. `state` is the part of epsilon that the memory may tell: half of it where left out."""

    def __init__(
        self, cells: int, epsilon: Number, state: Number | None, intrusions: int, bits: noise.BitSource | None
    ) -> None:
        super().__init__(epsilon, intrusions)
        told = self.epsilon / 2 if state is None else parameters.price("state", state)
        if not 0 < told < self.epsilon:
            raise parameters.refuse("state", f"above 0 and below epsilon, {parameters.as_text(self.epsilon)}", state)
        self.state, self.output = told, self.epsilon - told
        self._bits = ForgetfulBits() if bits is None else bits
        self._coin = RandomizedResponse(2, told)
        self.memory: NDArray[np.bool_] = self._drawn(np.zeros(cells, dtype=np.int64))

    def _drawn(self, came: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.asarray(self._coin.release(came, bits=self._bits), dtype=np.bool_)

    def _anew(self, cell: int) -> None:
        self.memory[cell] = bool(self._coin.release(1, bits=self._bits))

    def _share(self) -> float:
        """The share of cells that were drawn anew, estimated. Once."""
        self._leave()
        cells = len(self.memory)
        ones = int(self.memory.sum()) + noise.discrete_laplace(1 / self.output, None, self._bits)
        q = self._coin.other
        return (ones / cells - q) / (1 - 2 * q)

    def deviation(self) -> float:
        """At most the standard deviation of the estimated share: that of the coins, and the answer's noise."""
        cells = len(self.memory)
        e = math.exp(float(self.state))
        decay = math.exp(-float(self.output))
        coins = self._spread(e) / cells
        return math.sqrt(coins + 2 * decay / (1 - decay) ** 2 / cells**2) * (e + 1) / (e - 1)

    def _spread(self, e: float) -> float:
        """At most the variance of one bit: whether it was drawn anew is fixed, and both coins have this variance."""
        return e / (1 + e) ** 2


class Density(_Bits):
    """Which share of listed users came at least once.

    >>> seen = Density(["ana", "ben"], epsilon=1)
    >>> seen.add(["ana"])
    >>> seen.event.epsilon
    Fraction(1, 1)
    """

    def __init__(
        self,
        users: Sequence[Any],
        *,
        epsilon: Number,
        state: Number | None = None,
        intrusions: int = 1,
        bits: noise.BitSource | None = None,
    ) -> None:
        self._place = _places(users)
        super().__init__(len(self._place), epsilon, state, intrusions, bits)

    def add(self, users: Iterable[Any]) -> None:
        """Note that these users came. Users who are not listed count nowhere."""
        for user in users:
            place = _place_of(self._place, user)
            if place is not None:
                self._anew(place)

    def answer(self) -> float:
        """The share, between 0 and 1."""
        return min(max(self._share(), 0.0), 1.0)


class Distinct(_Bits):
    """How many different users came, of whom no list exists: users are hashed to cells, and filled cells counted.

    >>> seen = Distinct(1000, epsilon=1)
    >>> seen.add(["ana", "ben", "ana"])
    >>> seen.event.epsilon
    Fraction(1, 1)
    """

    def __init__(
        self,
        cells: int,
        *,
        epsilon: Number,
        state: Number | None = None,
        intrusions: int = 1,
        bits: noise.BitSource | None = None,
    ) -> None:
        many = parameters.whole("cells", cells, least=1)
        if many > _MOST_CELLS:
            raise parameters.refuse("cells", f"at most {_MOST_CELLS:,}", cells)
        self._key = secrets.token_bytes(16)
        super().__init__(many, epsilon, state, intrusions, bits)

    def add(self, users: Iterable[Any]) -> None:
        """Note that these users came."""
        for user in users:
            digest = hashlib.blake2b(as_text(user).encode("utf-8", "replace"), digest_size=8, key=self._key).digest()
            self._anew(int.from_bytes(digest, "big") % len(self.memory))

    def answer(self) -> float:
        """The number of different users: -m log(1 - filled share), at most as many as fill all cells but one."""
        cells = len(self.memory)
        share = min(max(self._share(), 0.0), 1 - 1 / cells) if cells > 1 else 0.0
        return -cells * math.log1p(-share)


class Cropped(_Bits):
    """How often listed users came in all, each counted at most `most` times.

    >>> seen = Cropped(["ana", "ben"], 3, epsilon=1)
    >>> seen.add(["ana", "ana"])
    >>> seen.event.epsilon
    Fraction(1, 1)
    """

    def __init__(
        self,
        users: Sequence[Any],
        most: int,
        *,
        epsilon: Number,
        state: Number | None = None,
        intrusions: int = 1,
        bits: noise.BitSource | None = None,
    ) -> None:
        self._place = _places(users)
        self.most = parameters.whole("most", most, least=1)
        super().__init__(len(self._place), epsilon, state, intrusions, bits)
        self.rounds: NDArray[np.int64] = np.asarray(
            noise.uniform_below(self.most, len(self._place), self._bits), dtype=np.int64
        )

    def add(self, users: Iterable[Any]) -> None:
        """Note that these users came. Users who are not listed count nowhere."""
        for user in users:
            place = _place_of(self._place, user)
            if place is None:
                continue
            self.rounds[place] = (self.rounds[place] + 1) % self.most
            if self.rounds[place] == 0:
                self._anew(place)

    def _spread(self, e: float) -> float:
        """Whether a bit was drawn anew depends on where its round began: no more than the variance of any bit."""
        return 0.25

    def answer(self) -> float:
        """The sum over users of min(times, most)."""
        return min(max(self._share(), 0.0), 1.0) * self.most * len(self.memory)


def _places(users: Sequence[Any]) -> dict[Any, int]:
    place = {user: number for number, user in enumerate(users)}
    if not place or len(place) != len(users):
        raise parameters.refuse("users", "different users, at least one", f"{len(users)} with repetitions")
    return place


def _place_of(places: dict[Any, int], user: Any) -> int | None:
    try:
        return places.get(user)
    except TypeError:  # a list, or something with a list inside: not a listed user
        return None
