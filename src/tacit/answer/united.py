"""Several answers as one, one below the other (UNION ALL). Everything here is free.

Promise: it is made only of released answers and of what their plans say: the kinds of the columns, and the cost of all.
A value that has no noise (a key, a constant) in a column with noisy ones is exact; one whose error cannot be stated (a
quantile, a list) leaves its column without intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tacit import parameters
from tacit.answer.answer import Answer
from tacit.answer.arranged import arranged
from tacit.plan.answers.bends import HALF_A_STEP
from tacit.plan.answers.chosen import ROWS_BY_NOISE
from tacit.plan.answers.united import UnitedPlan


def united_answer(answers: Sequence[Answer], plan: UnitedPlan) -> Answer:
    """The rows of all answers, sorted and cut as the whole asks. They are in the order of the SELECTs."""
    columns = [_column(answers, place, kind) for place, kind in enumerate(plan.kinds)]
    whole = [_whole(answers, place, kind) for place, kind in enumerate(plan.kinds)]
    deviations = [_deviations(answers, plan, place, whole[place]) for place in range(len(plan.kinds))]
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
        _facts(answers, plan, chosen=candidates > 1),
        all(answer.repeated for answer in answers),
        tuple(candidates * each for each in among),
        tuple(_above(answers, place) for place in range(len(plan.kinds))),
        tuple(whole),
        tuple(_farthest(answers, place, rows) for place in range(len(plan.kinds))),
        united=True,
    )


def _whole(answers: Sequence[Answer], place: int, kind: str) -> int:
    """Whether the noise of a whole column is in whole numbers: the most careful of their laws, or 0."""
    own = [answer.whole[place] if answer.whole else 0 for answer in answers if answer.deviations[place] is not None]
    return max(own) if own and all(own) and kind == "integer" else 0


def _farthest(answers: Sequence[Answer], place: int, rows: Sequence[int]) -> tuple[float | None, ...] | None:
    """How far off each value can be at most, where that is known."""
    found: list[float | None] = []
    for answer in answers:
        own = answer.farthest[place] if answer.farthest else None
        found += [None] * len(answer) if own is None else own
    return None if all(each is None for each in found) else tuple(found[row] for row in rows)


def _above(answers: Sequence[Answer], place: int) -> int | None:
    """The number that counts of unknown keys are above; of several the largest, which is the more careful one."""
    found = [answer.above[place] for answer in answers if answer.above]
    return max((each for each in found if each is not None), default=None)


def _column(answers: Sequence[Answer], place: int, kind: str) -> list[Any]:
    values = [value for answer in answers for value in answer.columns[place]]
    return [_real(value) for value in values] if kind in ("real", "real[]") else values


def _real(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(map(_real, value))
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _deviations(answers: Sequence[Answer], plan: UnitedPlan, place: int, whole: int) -> list[float] | None:
    """Those of all rows. Next to others, noise in whole numbers reaches half a step farther than its deviation."""
    if all(answer.deviations[place] is None for answer in answers):
        return None
    found: list[float] = []
    for answer, untold in zip(answers, _untold(plan, place), strict=True):
        own = answer.deviations[place]
        if own is not None:
            alone = 0 if whole or not answer.whole else answer.whole[place]
            found += [each + HALF_A_STEP for each in own] if alone else own
        elif untold:
            return None
        else:
            found += [0.0] * len(answer)
    return found


def _untold(plan: UnitedPlan, place: int) -> Iterator[bool]:
    """For each SELECT, whether a column's value has chance in it that no deviation states: picks and ranks."""
    members = [(member, each) for family, each in plan.plans for member in family.members]
    for member, each in sorted(members, key=lambda pair: pair[0].place):
        output = each.outputs[member.columns[place]]
        yield output.picked or bool(output.formula.measures)


def _facts(answers: Sequence[Answer], plan: UnitedPlan, *, chosen: bool) -> dict[str, str]:
    first = answers[0].facts
    ranks = dict.fromkeys(answer.facts["chosen"] for answer in answers if "chosen" in answer.facts)
    said = (note for answer in answers for note in answer.facts.get("notes", "").split("\n") if note)
    notes = dict.fromkeys([*([ROWS_BY_NOISE] if chosen else []), *said])
    return {
        "unit": " and ".join(dict.fromkeys(answer.facts["unit"] for answer in answers)),
        "epsilon": parameters.as_text(plan.epsilon),
        "delta": parameters.as_text(plan.delta),
        "noise": "; ".join(dict.fromkeys(answer.facts["noise"] for answer in answers)),
        "rows_per_unit": str(max(int(answer.facts["rows_per_unit"]) for answer in answers)),
        "entry": first["entry"],
        "event": plan.event.to_json(),
        **({"chosen": "; ".join(ranks)} if ranks else {}),
        **({"notes": "\n".join(notes)} if notes else {}),
    }
