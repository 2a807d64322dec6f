"""One asker's answer out of the answer to several questions put together. Everything here is free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tacit.answer.answer import Answer
from tacit.answer.arranged import arranged
from tacit.plan.answers.chosen import ROWS_BY_NOISE
from tacit.plan.answers.united import spoken
from tacit.plan.plan import Plan
from tacit.question.shared_scan import Family, Member


def answers_of(plans: Sequence[tuple[Family, Plan]], payloads: Sequence[str], repeated: bool) -> tuple[Answer, ...]:
    """Every asker's answer, in the order of the questions, out of what was released for each plan."""
    answers: dict[int, Answer] = {}
    for (family, plan), payload in zip(plans, payloads, strict=True):
        names = tuple(output.name for output in plan.outputs)  # another asker may have given other names
        whole = Answer.from_bytes(payload.encode(), repeated=repeated).named(names, plan.notes)
        answers |= {member.place: member_answer(whole, family, member) for member in family.members}
    return tuple(answers[place] for place in sorted(answers))


def member_answer(answer: Answer, family: Family, member: Member) -> Answer:
    """The rows and columns that belong to one question, filtered, sorted and cut as it asked."""
    if len(family.members) == 1 and member.cell is None:
        return answer.named(member.names)
    keys = len(family.question.keys)
    rows = [row for row in range(len(answer)) if _belongs(answer, member, keys, row)]
    if member.having is not None:
        rows = [row for row in rows if answer.columns[member.having][row] is True]
    shown = arranged(answer.columns, rows, member.order, member.offset, member.limit)
    noisy = [place for place, each in enumerate(answer.deviations) if each is not None]
    chosen = member.having is not None or (len(shown) < len(rows) and any(key[0] in noisy for key in member.order))
    among = answer.among or (1,) * len(answer.names)
    above = answer.above or (None,) * len(answer.names)
    whole = answer.whole or (0,) * len(answer.names)
    most = answer.farthest or (None,) * len(answer.names)
    candidates = len(answer) if chosen else 1
    rows = shown
    facts = {**answer.facts, "notes": "\n".join(_notes(answer, member, chosen=chosen))}
    return Answer(
        member.names,
        tuple(answer.kinds[column] for column in member.columns),
        tuple(_taken(answer.columns[column], rows) for column in member.columns),
        tuple(_spread(answer, column, rows) for column in member.columns),
        answer.heavy_tailed,
        facts if facts["notes"] else {name: fact for name, fact in facts.items() if name != "notes"},
        answer.repeated,
        tuple(candidates * among[column] for column in member.columns),
        tuple(above[column] for column in member.columns),
        tuple(whole[column] for column in member.columns),
        tuple(None if (far := most[column]) is None else _taken(far, rows) for column in member.columns),
    )


def _notes(answer: Answer, member: Member, *, chosen: bool) -> Iterator[str]:
    """The notes of the answer about this question's columns, by their own names."""
    own = dict(zip((answer.names[column] for column in member.columns), member.names, strict=True))
    if chosen:
        yield ROWS_BY_NOISE
    said = answer.facts.get("notes", "")
    yield from spoken(said.split("\n") if said else (), own)


def _belongs(answer: Answer, member: Member, keys: int, row: int) -> bool:
    """Whether a row is of this question's level, and in its cell."""
    if any(bool(answer.columns[2 * key + 1][row]) != (key not in member.keys) for key in range(keys)):
        return False
    return member.cell is None or answer.columns[2 * member.cell[0]][row] == member.cell[1]


def _taken(column: tuple[Any, ...], rows: list[int]) -> tuple[Any, ...]:
    return tuple(column[row] for row in rows)


def _spread(answer: Answer, column: int, rows: list[int]) -> tuple[float, ...] | None:
    deviations = answer.deviations[column]
    return None if deviations is None else _taken(deviations, rows)
