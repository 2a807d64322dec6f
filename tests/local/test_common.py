"""What all surveys promise, asserted for every randomiser: one that joins the room is held to it as well.

What a survey states is what an answer tells, in exact numbers and in whichever way it is written; ten answers at a
tenth are one; asked again, a person tells nothing more; and what nobody means is refused in a sentence.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import local
from tacit.errors import ParameterError
from tacit.local import laws
from tacit.local.checks import Refused, is_within, ratio
from tacit.loss import compose

DRINKS = ("tea", "coffee", "water")
SURVEYS: Mapping[str, tuple[Callable[..., Any], Any]] = {
    **{
        kind: (lambda kind=kind, **said: local.Survey(tacit.one_of(*DRINKS), protocol=kind, **said), "tea")
        for kind in laws.FREQUENCIES
    },
    **{
        kind: (lambda kind=kind, **said: local.Survey(tacit.between(0, 9), protocol=kind, **said), 3)
        for kind in laws.NUMBERS
    },
    "best": (lambda **said: local.Survey(tacit.one_of(*DRINKS), **said), "tea"),
    "vector": (lambda **said: local.Survey(local.Vector(3), **said), [0.1, 0.2, 0.3]),
    "texts": (lambda **said: local.TextSurvey(longest=2, **said), "tea"),
}
BAD: tuple[Any, ...] = (0, -1, "0", float("nan"), float("inf"), "many", True, None, [1])


def epsilon_of(survey: Any) -> Fraction:
    return Fraction(survey.description["epsilon"])


def test_every_kind_of_survey_is_here() -> None:
    offered = {name: getattr(local, name) for name in local.__all__ if name != "Refused"}
    kinds = {name for name, each in offered.items() if "epsilon" in inspect.signature(each).parameters}
    assert {type(make(epsilon=1)).__name__ for make, _ in SURVEYS.values()} == kinds


@pytest.mark.parametrize("name", SURVEYS)
def test_an_answer_tells_what_is_stated_and_hardly_less(name: str) -> None:
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(4)):
        told = ratio(SURVEYS[name][0](epsilon=epsilon).law)
        assert is_within(told, epsilon)
        assert math.log(told) >= 0.99 * float(epsilon)


@pytest.mark.parametrize("name", SURVEYS)
def test_every_way_to_write_a_tenth_is_the_same_survey(name: str) -> None:
    make, _ = SURVEYS[name]
    tenth = make(epsilon="0.1")
    assert epsilon_of(tenth) == Fraction(1, 10)
    assert tenth.client().epsilon == Fraction(1, 10)
    for same in (0.1, "1/10", Decimal("0.1"), Fraction(1, 10), np.float64(0.1)):
        assert make(epsilon=same).id == tenth.id


@pytest.mark.parametrize("name", SURVEYS)
def test_ten_answers_at_a_tenth_are_one_and_the_eleventh_is_not_sent(name: str, tmp_path: Path) -> None:
    make, value = SURVEYS[name]
    odometer = local.Odometer(tmp_path / "told.json", limit=1)
    for number in range(10):
        make(epsilon=0.1, name=f"survey {number}").client(odometer).answer(value)
    assert odometer.spent == 1
    with pytest.raises(Refused, match="Nothing was sent"):
        make(epsilon=0.1, name="one more").client(odometer).answer(value)


@pytest.mark.parametrize("name", SURVEYS)
def test_who_is_asked_again_tells_nothing_more(name: str, tmp_path: Path) -> None:
    make, value = SURVEYS[name]
    path = tmp_path / "told.json"
    first = make(epsilon=1).client(local.Odometer(path, limit=3)).answer(value)
    kept = path.read_text()
    again = make(epsilon=1).client(local.Odometer(path, limit=3)).answer(value)
    assert path.read_text() == kept
    assert local.Odometer(path, limit=3).spent == 1
    assert (again.json() == first.json()) == (name != "rappor")  # it shows the bits that it keeps through new coins


@pytest.mark.parametrize("name", SURVEYS)
@pytest.mark.parametrize("bad", BAD, ids=str)
def test_a_bad_epsilon_is_refused_in_a_sentence(name: str, bad: Any) -> None:
    with pytest.raises(ParameterError, match=r"'epsilon' .* must be .* Got .* instead\."):
        SURVEYS[name][0](epsilon=bad)


@pytest.mark.parametrize("name", sorted(set(SURVEYS) - {"texts"}))
def test_a_survey_is_its_text_and_a_shuffler_makes_it_no_dearer(name: str) -> None:
    survey = SURVEYS[name][0](epsilon=1)
    assert local.Survey.from_json(survey.to_json()).to_json() == survey.to_json()
    assert compose([survey.shuffled(10)]).epsilon(0) <= 1 + 1e-9
