"""Clients against the exact law of every report, by enumeration of all draws."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from typing import Any

import pytest

import tacit
from tacit import local
from tacit.local import laws
from tacit.local.checks import Refused, is_within, ratio
from tacit.local.client import cell, text_report
from tests.local.laws_by_enumeration import law_of

SMALL: dict[str, tuple[dict[str, Any], int]] = {
    "k-ary": ({"kind": "k-ary", "options": 4, "keep": 5, "other": 2}, 4),
    "unary": ({"kind": "unary", "options": 3, "one": [3, 4], "zero": [1, 4]}, 3),
    "optimal unary": ({"kind": "unary", "options": 3, "one": [1, 2], "zero": [2, 7]}, 3),
    "hashing": ({"kind": "hashing", "options": 4, "cells": 3, "word": 4, "keep": 3, "other": 1}, 4),
    "hadamard": ({"kind": "hadamard", "options": 5, "rows": 8, "keep": 3, "other": 1}, 5),
    "subset": ({"kind": "subset", "options": 5, "size": 2, "keep": 3, "other": 1}, 5),
    "sign": ({"kind": "sign", "steps": 4, "keep": 3, "other": 1}, 5),
    "window": ({"kind": "window", "steps": 5, "window": 3, "keep": 3, "other": 1}, 6),
}
RAPPOR = {"kind": "rappor", "kept": SMALL["unary"][0], "one": [3, 4], "zero": [1, 4]}
EITHER = {"kind": "either", "chance": [2, 3], "parts": [{**SMALL["window"][0], "steps": 4}, SMALL["sign"][0]]}


@pytest.mark.parametrize("name", [*SMALL, "either"])
def test_the_stated_ratio_is_the_largest_of_all_reports_and_answers(name: str) -> None:
    law, answers = SMALL.get(name, (EITHER, 5))
    found = [law_of(law, truth) for truth in range(answers)]
    assert all(sum(each.values()) == 1 for each in found)
    reports = set().union(*found)
    assert all(report in each for each in found for report in reports)  # what one answer can send, every answer can
    assert max(one[r] / other[r] for one in found for other in found for r in reports) == ratio(law)


@pytest.mark.parametrize("name", ["k-ary", "unary", "optimal unary", "hadamard", "subset", "rappor"])
def test_supports_have_the_stated_probabilities(name: str) -> None:
    law, answers = SMALL.get(name, (RAPPOR, 3))
    p, q = laws.supports(law)
    for truth in range(answers):
        chances = [Fraction(0)] * answers
        for (report,), chance in law_of(law, truth).items():
            for option in range(answers):
                chances[option] += chance * _supported(law, report, option)
        assert chances == [p if option == truth else q for option in range(answers)]


def _supported(law: dict[str, Any], report: int, option: int) -> bool:
    if law["kind"] == "k-ary":
        return report == option
    if law["kind"] == "hadamard":
        return (report & (option + 1)).bit_count() % 2 == 0
    return bool(report >> option & 1)


def test_kept_bits_tell_what_is_stated_however_often_they_are_shown_and_one_report_tells_less() -> None:
    found = [law_of(RAPPOR, truth) for truth in range(3)]
    once = max(one[r] / other[r] for one in found for other in found for r in found[0])
    kept = [law_of(RAPPOR["kept"], truth) for truth in range(3)]
    assert once < max(one[r] / other[r] for one in kept for other in kept for r in kept[0]) == ratio(RAPPOR)


def test_the_length_of_a_prefix_has_nothing_to_do_with_the_text() -> None:
    law = laws.prefixes(2, 8, Fraction(1))
    lengths = [[text_report(law, text)[0] for _ in range(300)] for text in ("ab", "zz")]
    assert all(80 < each.count(0) < 220 for each in lengths)  # a fair coin fails it once in 1e15 runs


def test_hashed_reports_support_the_truth_and_others_as_often_as_stated() -> None:
    law = {"kind": "hashing", "options": 3, "cells": 3, "word": 6, "keep": 3, "other": 1}
    p, q = laws.supports(law)
    chances = [Fraction(0)] * 3
    for (multiplier, shift, found), chance in law_of(law, 1).items():
        for option in range(3):
            chances[option] += chance * (cell(law, multiplier, shift, option) == found)
    assert chances == [q, p, q]


def test_random_functions_are_pairwise_independent() -> None:
    law = {"kind": "hashing", "options": 8, "cells": 4, "word": 6, "keep": 2, "other": 1}
    for first in range(4):
        for second in range(first):
            pairs = [(cell(law, a, b, first), cell(law, a, b, second)) for a in range(64) for b in range(64)]
            assert {pairs.count((x, y)) for x in range(4) for y in range(4)} == {len(pairs) // 16}


@pytest.mark.parametrize("epsilon", ["0.0001", "0.1", "1", "2.5", "8", "30"])
@pytest.mark.parametrize("options", [2, 3, 100])
def test_no_law_tells_more_than_its_epsilon_and_nearly_all_of_it(options: int, epsilon: str) -> None:
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 50
    asked = mpmath.mpf(epsilon)
    numbers = [make(laws.STEPS, Fraction(epsilon)) for make in laws.NUMBERS.values()]
    for law in [*(make(options, Fraction(epsilon)) for make in laws.FREQUENCIES.values()), *numbers]:
        exact = ratio(law)
        told = mpmath.log(mpmath.mpf(exact.numerator) / exact.denominator)
        assert told <= asked
        assert told >= asked * (1 - mpmath.mpf(2) ** -10)
        assert is_within(exact, Fraction(epsilon))
        assert not is_within(exact, Fraction(epsilon) * (1 - Fraction(1, 512)))


def test_the_client_needs_the_standard_library_alone() -> None:
    program = "import sys, tacit.local.client, tacit.local.odometer; print({'numpy', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_client_refuses_a_survey_that_tells_more_than_it_states() -> None:
    description = json.loads(local.Survey(tacit.one_of("a", "b"), epsilon=1).to_json())
    description["epsilon"] = "1/2"
    with pytest.raises(Refused, match=r"states epsilon 0\.5, and its answers tell 1"):
        local.Client(description)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 2}, "version 2"),
        ({"law": {"kind": "k-ary", "options": 2, "keep": 1, "other": 2}}, "at least as much"),
        ({"law": {"kind": "k-ary", "options": 2, "keep": 2.5, "other": 1}}, "whole number"),
        ({"law": {"kind": "unary", "options": 2, "one": [1, 1], "zero": [1, 2]}}, "0 < q < p < 1"),
        ({"law": {"kind": "unary", "options": 2, "one": [-3, -4], "zero": [1, 2]}}, "0 < q < p < 1"),
        ({"law": {"kind": "unary", "options": 2, "one": [0.5, 1], "zero": [1, 4]}}, "0 < q < p < 1"),
        (
            {"question": {"low": "0", "high": "1", "steps": 4}, "law": {"kind": "either", "parts": []}},
            "two randomisers",
        ),
        ({"law": {"kind": "magic"}}, "no randomiser 'magic'"),
        ({"law": {"kind": "rappor", "kept": {"kind": "k-ary"}, "one": [3, 4], "zero": [1, 4]}}, "another randomiser"),
    ],
)
def test_a_malformed_description_is_refused_with_a_sentence(change: dict[str, Any], words: str) -> None:
    description = {**json.loads(local.Survey(tacit.one_of("a", "b"), epsilon=1).to_json()), **change}
    with pytest.raises(Refused, match=words):
        local.Client(description)


TWO, NINE = {"values": ["a", "b"]}, {"values": list("abcdefghi")}
STEPS = {"low": "0", "high": "1", "steps": 8}
UNFIT: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[int, int]]] = {
    # name: the question, a law that is not made for it, and two true answers that it tells apart
    "k-ary of two": (NINE, {**SMALL["k-ary"][0], "options": 2}, (3, 5)),
    "unary of three": (NINE, SMALL["unary"][0], (1, 8)),
    "subset of five": (NINE, SMALL["subset"][0], (7, 8)),
    "hadamard with few rows": (NINE, {**SMALL["hadamard"][0], "rows": 4}, (3, 7)),
    "hashing to an odd word": (NINE, {**SMALL["hashing"][0], "word": 3, "cells": 5}, (0, 1)),
    "sign of answers": (NINE, SMALL["sign"][0], (0, 8)),
    "sign of fewer steps": (STEPS, SMALL["sign"][0], (0, 8)),
    "window of fewer steps": (STEPS, SMALL["window"][0], (0, 8)),
    "either of fewer steps": (STEPS, EITHER, (0, 8)),
    "rappor of three": (NINE, RAPPOR, (1, 8)),
    "two questions in one": ({**NINE, **STEPS, "steps": 4}, SMALL["sign"][0], (0, 8)),
}


@pytest.mark.parametrize("name", UNFIT)
def test_a_law_that_is_not_made_for_its_question_tells_more_than_its_ratio_and_is_refused(name: str) -> None:
    question, law, pair = UNFIT[name]
    one, other = (law_of(law, truth) for truth in pair)
    told = max(chance / other[report] if report in other else float("inf") for report, chance in one.items())
    back = max(chance / one[report] if report in one else float("inf") for report, chance in other.items())
    harmless = name in ("unary of three", "rappor of three", "hashing to an odd word")  # at these two answers
    assert harmless or max(told, back) > ratio(law)
    with pytest.raises(Refused):
        local.Client({"version": 1, "name": "", "question": question, "epsilon": "30", "law": law})


@pytest.mark.parametrize("name", ["law", "question", "epsilon"])
def test_a_description_with_a_part_missing_is_refused(name: str) -> None:
    description = json.loads(local.Survey(tacit.one_of("a", "b"), epsilon=1).to_json())
    del description[name]
    with pytest.raises(Refused, match=name):
        local.Client(description)


def test_an_answer_that_is_not_listed_is_refused_and_nothing_is_sent() -> None:
    with pytest.raises(Refused, match="Answers: yes, no"):
        local.Survey(tacit.one_of("yes", "no"), epsilon=1).client().answer("maybe")
