"""Several answers as one, one below the other (UNION ALL). Everything here is free.

Promise: made of released answers only, and of what their plans say: which kinds the columns have, and what all of it
cost. A value that has no noise (a key, a constant) beside noisy ones of the same column is off by nothing; one whose
distance cannot be told (a quantile, a list) leaves its column without intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tacit import parameters
from tacit.answer.answer import Answer
from tacit.answer.arranged import arranged
from tacit.plan.answers.united import UnitedPlan


def united_answer(answers: Sequence[Answer], plan: UnitedPlan) -> Answer:
    """The rows of all answers, sorted and cut as the whole asks. They are in the order of the SELECTs."""
    columns = [_column(answers, place, kind) for place, kind in enumerate(plan.kinds)]
    deviations = [_deviations(answers, plan, place) for place in range(len(plan.kinds))]
    order = [(each.place, each.descending, each.nulls_first) for each in plan.question.order]
    size = sum(len(answer) for answer in answers)
    rows = arranged(columns, list(range(size)), order, plan.question.offset, plan.question.limit)
    noisy = any(deviations[each.place] is not None for each in plan.question.order)
    candidates = size if noisy and len(rows) < size else 1
    among = [max(answer.among[place] if answer.among else 1 for answer in answers) for place in range(len(plan.kinds))]
    return Answer(
        plan.names,
        plan.kinds,
        tuple(tuple(column[row] for row in rows) for column in columns),
        tuple(None if each is None else tuple(each[row] for row in rows) for each in deviations),
        any(answer.heavy_tailed for answer in answers),
        _facts(answers, plan),
        all(answer.repeated for answer in answers),
        tuple(candidates * each for each in among),
        tuple(_above(answers, place) for place in range(len(plan.kinds))),
    )


def _above(answers: Sequence[Answer], place: int) -> int | None:
    """The least that a count of unknown keys is above; the largest of several, which takes more of them for unsure."""
    found = [answer.above[place] for answer in answers if answer.above]
    return max((each for each in found if each is not None), default=None)


def _column(answers: Sequence[Answer], place: int, kind: str) -> list[Any]:
    values = [value for answer in answers for value in answer.columns[place]]
    return [_real(value) for value in values] if kind in ("real", "real[]") else values


def _real(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(map(_real, value))
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _deviations(answers: Sequence[Answer], plan: UnitedPlan, place: int) -> list[float] | None:
    if all(answer.deviations[place] is None for answer in answers):
        return None
    found: list[float] = []
    for answer, untold in zip(answers, _untold(plan, place), strict=True):
        own = answer.deviations[place]
        if own is not None:
            found += own
        elif untold:
            return None
        else:
            found += [0.0] * len(answer)
    return found


def _untold(plan: UnitedPlan, place: int) -> Iterator[bool]:
    """Of each SELECT, whether chance is part of a column's value in a way that no deviation tells: picks and ranks."""
    members = [(member, each) for family, each in plan.plans for member in family.members]
    for member, each in sorted(members, key=lambda pair: pair[0].place):
        output = each.outputs[member.columns[place]]
        yield output.picked or bool(output.formula.measures)


def _facts(answers: Sequence[Answer], plan: UnitedPlan) -> dict[str, str]:
    first = answers[0].facts
    chosen = dict.fromkeys(answer.facts["chosen"] for answer in answers if "chosen" in answer.facts)
    notes = dict.fromkeys(note for answer in answers for note in answer.facts.get("notes", "").split("\n") if note)
    return {
        "unit": " and ".join(dict.fromkeys(answer.facts["unit"] for answer in answers)),
        "epsilon": parameters.as_text(plan.epsilon),
        "delta": parameters.as_text(plan.delta),
        "noise": "; ".join(dict.fromkeys(answer.facts["noise"] for answer in answers)),
        "rows_per_unit": str(max(int(answer.facts["rows_per_unit"]) for answer in answers)),
        "entry": first["entry"],
        "event": plan.event.to_json(),
        **({"chosen": "; ".join(chosen)} if chosen else {}),
        **({"notes": "\n".join(notes)} if notes else {}),
    }
