"""A curator at which everything stops where it would be paid for: for estimates.

Promise: the copy shares the policy, the ledger and the engine's fingerprint, and can neither charge nor run anything:
a purchase that reaches its till raises `Reached`, before a turn is taken or a row is read.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from tacit.curator.till import Compute, Purchase, Till
from tacit.loss.worth import AskedPrice

if TYPE_CHECKING:
    from tacit.curator.curator import Curator

Trial: TypeAlias = Callable[[Purchase, Compute], Any]


class Reached(Exception):  # no refusal: nothing is wrong
    """Something came to the till with this purchase; `tried` is what a trial made of it, where there was one."""

    def __init__(self, purchase: Purchase, tried: Any = None) -> None:
        super().__init__("A rehearsal was stopped before anything was paid.")
        self.purchase, self.tried = purchase, tried

    @property
    def asked(self) -> AskedPrice:
        """The price as it was asked for."""
        from fractions import Fraction

        said = self.purchase.asked or {}
        epsilon = said.get("epsilon")
        if epsilon is None:
            return AskedPrice.of(self.purchase.event)
        return AskedPrice(Fraction(epsilon), None, Fraction(said.get("delta") or 0))


class _Closed(Till):
    """A till that sells nothing."""

    def __init__(self, till: Till, trial: Trial | None) -> None:
        self._trial = trial
        self.ledger, self.engine = till.ledger, till.engine
        self._tables, self._enrolled = till._tables, till._enrolled

    def buy(self, purchase: Purchase, compute: Compute, *_: Any, **__: Any) -> NoReturn:
        """Nothing is sold."""
        raise Reached(purchase, None if self._trial is None else self._trial(purchase, compute))

    def open(self, purchase: Purchase, *_: Any, **__: Any) -> NoReturn:
        """Nothing is sold."""
        raise Reached(purchase)


def rehearsed(curator: Curator, trial: Trial | None = None) -> Curator:
    """The same curator, with a closed till. A trial may run the computation on something else."""
    dry = copy.copy(curator)
    dry._till = _Closed(curator._till, trial)
    return dry
