"""A rank is promised on the grid of the column, and the note says which values that grid takes for one."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.policy import Column

ROWS = 4_000
VALUES = 500 + 0.01 * np.random.default_rng(8).random(ROWS)  # within a hundredth, in bounds 0 .. 1000
STEP = Column("x", "real", Fraction(0), Fraction(1000)).step


def curated(values: object) -> tacit.Curator:
    frame = pd.DataFrame({"who": range(ROWS), "x": values})
    return tacit.protect(
        frame, unit="who", columns={"x": tacit.between(0, 1000)}, budget=tacit.Budget(10**6), largest_epsilon=10
    )


@pytest.mark.statistical
def test_the_promise_holds_where_values_of_one_step_count_as_equal() -> None:
    """Of 20 medians, more than 5 beyond a 95 % promise have a probability below 4e-4; the seed is the test's name."""
    points = np.floor(VALUES / float(STEP) + 0.5)
    with curated(VALUES) as curator:
        beyond = 0
        for place in range(20):
            answer = curator.ask(f"SELECT median(x) AS m FROM data LIMIT {1_000 + place}", 1)
            (note,) = answer.notes
            promised = int(re.search(r"within ([\d,]+) rows", note).group(1).replace(",", ""))  # type: ignore[union-attr]
            point = round(answer["m"][0] / float(STEP))
            below, upto = int((points < point).sum()), int((points <= point).sum())
            off = max(below - ROWS // 2, ROWS // 2 - upto, 0)
            beyond += off > promised
    assert beyond <= 5


def test_the_note_the_estimate_and_the_explanation_name_the_step() -> None:
    with curated(VALUES) as curator:
        question = "SELECT median(x) AS m FROM data"
        words = f"where values within the same step of {float(STEP):.3g} count as equal"
        assert words in str(curator.estimate(question, 1))
        assert words in curator.explain(question, 1)
        assert words in " ".join(curator.ask(question, 1).notes)


def test_whole_numbers_are_told_apart_and_nothing_is_said() -> None:
    with curated(np.arange(ROWS) % 1000) as curator:
        assert "same step" not in str(curator.estimate("SELECT median(x) AS m FROM data", 1))
