"""Rule: the plan in plain words, one numbered sentence for each decision."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from tacit.mechanisms import Gaussian, KeySelection
from tacit.plan.answers.floats import as_float
from tacit.plan.deviation import deviation
from tacit.plan.draft import Draft, Part, changed
from tacit.plan.meanings import meanings
from tacit.plan.picks.words import pick_sentences
from tacit.plan.together import Together
from tacit.policy import ColumnUnit, RowUnit


def explain(draft: Draft) -> Draft:
    """The sentences, written when they are read: most plans are carried out and never explained."""
    return changed(draft, told=partial(_numbered, draft))


def _numbered(draft: Draft) -> tuple[str, ...]:
    return tuple(f"{n}. {text}" for n, text in enumerate(_sentences(draft), start=1))


def _sentences(draft: Draft) -> Iterator[str]:
    question = draft.question
    yield from _sources(draft)
    if draft.where is not None:
        yield "WHERE is decided row by row; where it could fail it is NULL, and the row is left out."
    yield from _keys(draft)
    for place, (part, each, mechanism) in enumerate(
        zip(draft.parts, draft.sensitivities, draft.mechanisms, strict=True)
    ):
        if part.together is not None:
            if part.together.places[0] == place:
                yield _together(draft, part.together)
            continue
        law = "Gaussian" if isinstance(mechanism, Gaussian) else "Laplace"
        shared = " It is the noise of the rule for keys, paid for once." if isinstance(mechanism, KeySelection) else ""
        spread = deviation(mechanism) * as_float(part.step)
        yield (
            f"Measure m{place} ({_words(part)}): {each.reason}; one unit changes it by at most "
            f"{_number(each.l1 * part.step)} in all and {_number(each.linf * part.step)} in one cell. "
            f"{law} noise of standard deviation {spread:.6g} is added to every cell.{shared}"
        )
    for pick_part, pick in zip(draft.pick_parts, draft.pick_mechanisms, strict=True):
        yield from pick_sentences(pick_part, pick)
    for output in draft.outputs:
        if len(output.formula.measures) > 1:
            used = ", ".join(f"m{place}" for place in sorted(output.formula.measures))
            yield f"Output {output.name!r} is computed from the noisy {used}; that costs nothing more."
    if draft.summary is not None:
        empty = ", also those in which nothing was found: leave them out with WHERE" if draft.cells is not None else ""
        yield f"The rows of this answer are added up once more, all that it shows{empty}; that costs nothing."
    if draft.having is not None or draft.order or question.limit is not None or question.offset:
        yield "HAVING, ORDER BY, LIMIT and OFFSET look at noisy values only, and cost nothing."
    yield from meanings(draft.question)
    yield from (f"{said}." for said in draft.notes)
    yield _work(draft)


def _together(draft: Draft, bundle: Together) -> str:
    """Measures that are released together: their parts, and what noise each gets from that of the parts."""
    first = bundle.places[0]
    members = [(place, draft.parts[place]) for place in bundle.places]
    listed = ", ".join(f"m{place} ({_words(part)})" for place, part in members)
    noise = deviation(draft.mechanisms[first])
    spreads = ", ".join(f"{noise * bundle.spread(place) * float(part.step):.6g}" for place, part in members)
    rows = draft.block(members[0][1]).rows_per_unit
    unit = f"a unit has at most {rows:,} rows" if rows > 1 else "a unit has one row"
    return (
        f"Measures {listed} are released together, as {len(members)} parts of which every row adds the same to all "
        f"together and nothing negative to any ({members[1][1].reason}); {unit}. Laplace noise on each part gives "
        f"them standard deviations of {spreads} in every cell, for one price."
    )


def _sources(draft: Draft) -> Iterator[str]:
    assert draft.joined is not None
    tables = list(draft.tables)
    units = [draft.policy.unit_of(table).unit for table in tables]
    if isinstance(units[0], RowUnit):
        who, them = "each single row", "it"
    else:
        whose = next((each.column for each in units if isinstance(each, ColumnUnit)), None)
        who = "all rows of one unit" + ("" if whose is None else f" (all that have one {whose!r})") + " together"
        them = "them"
    yield (
        f"What is protected: {who}. Whoever sees the answer can hardly tell {_named(tables)} from the same "
        f"without {them}; epsilon says how hardly."
    )
    if len(draft.joined.places) == 1 and draft.joined.places[0].table is not None:
        rows, promised = draft.rows_per_unit, draft.joined.places[0].table.rows_per_unit
        if rows < promised:
            yield f"Of each unit at most {rows:,} rows are read, {promised:,} being allowed: less noise, and less data."
        elif promised > 1:
            yield f"Of each unit at most {rows:,} rows are read; fewer (tacit_rows_per_unit) mean less noise."
        return
    for place in draft.joined.places:
        if place.rows is None:
            most = place.met
            times = "so the join adds no noise" if most == 1 else f"which multiplies the rows of a unit by {most:,}"
            yield f"Each row meets at most {most:,} row{'s' * (most > 1)} of the public {place.shown!r}, {times}."
        else:
            yield f"{place.shown!r} has at most {place.rows:,} row{'s' * (place.rows > 1)} of each unit."
    yield f"Together they hold at most {draft.rows_per_unit:,} rows of one unit; pairs are made within a unit only."


def _work(draft: Draft) -> str:
    work, most = draft.work, draft.work.limits
    return (
        f"One unit can cause at most {work.rows:,} rows of work in all steps of the queries ({most.rows:,} are "
        f"allowed), {work.values:,} values ({most.values:,}) and {work.characters:,} characters of text "
        f"({most.characters:,}), so that the time an answer takes does not tell who is in the tables."
    )


def _named(tables: list[str]) -> str:
    listed = ", ".join(repr(table) for table in tables)
    return f"table {listed}" if len(tables) == 1 else f"tables {listed}"


def _keys(draft: Draft) -> Iterator[str]:
    if not draft.key_columns:
        return
    if draft.cells is not None:
        yield (
            f"The policy lists the values of the keys, so all {len(draft.cells):,} groups are shown, also those "
            "without rows (and NULL, where values may be missing): which groups are shown tells nothing."
        )
        return
    assert draft.selection is not None
    enough = draft.selection.threshold(Fraction(1, 2))
    yield (
        f"The keys are not known: a key is shown by a rule on its number of units "
        f"(epsilon {float(draft.selection.epsilon):.4g}, delta {float(draft.selection.delta):.3g}). "
        f"A key with {enough:,} units is shown with probability one half."
    )


def _words(part: Part) -> str:
    names = {
        "count_rows": "count of rows",
        "count": "count of values",
        "count_units": "count of units",
        "count_some_units": "count of units",
        "sum": "sum",
    }
    if part.bins is not None:
        return f"histogram of {len(part.bins.values):,} bins"
    return names[part.kind] + (f" around {_number(part.centre)}" if part.centre else "")


def _number(exact: Fraction) -> str:
    return f"{exact.numerator:,}" if exact.denominator == 1 else f"{as_float(exact):.6g}"
