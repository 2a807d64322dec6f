"""Questions and studies released together: planned first, one charge, then everything is computed and stored as one.

Theorem. Separate releases about the same units cost, together, the composition of their events, which is charged before
any of them runs. The shares of epsilon and delta add up to what was asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from tacit import parameters
from tacit.answer import Answer
from tacit.answer.leaves import Run
from tacit.answer.members import answers_of
from tacit.answer.nested import is_nested
from tacit.curator.asking_all import FamilyPlans, plan_together
from tacit.curator.expressions import sql_of
from tacit.curator.keys import Price, key_of
from tacit.curator.studies import release
from tacit.errors import QuestionError
from tacit.loss.events import Composed
from tacit.question import read
from tacit.question.stack import room

if TYPE_CHECKING:
    from tacit.curator.curator import Curator
    from tacit.ledger import Receipt

Compute: TypeAlias = "Callable[[Run, Receipt], str]"


@dataclass(frozen=True, slots=True)
class Part:
    """A study that is part of a joint release: what it asks, what it costs, and how its text is made once paid."""

    asked: Mapping[str, Any]
    price: Price
    compute: Compute


@dataclass(frozen=True, slots=True)
class Joint:
    """The outcome: answers to the questions, texts of the studies, the ledger's entry."""

    answers: tuple[Answer, ...]
    texts: tuple[str, ...]
    entry: str
    event: str
    repeated: bool


def release_jointly(
    curator: Curator,
    questions: Sequence[object],
    parts: Sequence[Part],
    epsilon: Fraction,
    delta: Fraction,
    analyst: str | None = None,
) -> Joint:
    """All of it for one charge of (epsilon, delta), which the parts share; or the stored outcome."""
    left = (epsilon - sum(each.price.epsilon for each in parts), delta - sum(each.price.delta for each in parts))
    if left[0] < 0 or left[1] < 0:
        allowed = f"together at most ({float(epsilon):g}, {float(delta):g})"
        raise parameters.refuse("epsilon and delta of the studies", allowed, (float(left[0]), float(left[1])))
    with room():
        together = FamilyPlans(())
        if questions:
            together = plan_together([read(sql_of(each)) for each in questions], curator.policy, *left)
        for _, plan in together.plans:
            nested = [output for output in plan.outputs if is_nested(output.kind)]
            if nested:  # refused here, before anything is paid: computations on answers take single values
                raise QuestionError(
                    "A publication holds single values, and a column of lists or maps was asked for. "
                    "Give each quantile a column of its own; for a histogram, GROUP BY the bins."
                )
        keyed = [key_of(plan, []) for _, plan in together.plans]
        asked = {"study": "publish", "questions": keyed, "studies": [dict(each.asked) for each in parts]}
        event = Composed((together.event, *(each.price.event for each in parts)))

        def compute(run: Run, receipt: Receipt) -> bytes:
            answers = [curator._released(plan, run, receipt).decode() for _, plan in together.plans]
            texts = [each.compute(run, receipt) for each in parts]
            made = {"answers": answers, "texts": texts, "entry": str(receipt.sequence), "event": event.to_json()}
            return json.dumps(made).encode()

        stored, repeated = release(curator, asked, Price(event, epsilon, delta), compute, analyst)
    content = json.loads(stored)
    answers = answers_of(together.plans, content["answers"], repeated)
    return Joint(answers, tuple(content["texts"]), content["entry"], content["event"], repeated)
