"""Unknown keys and the counts of their units, released together."""

from __future__ import annotations

from collections import Counter

import pandas as pd

import tacit
from tacit.mechanisms import KeySelection

SQL = "SELECT word, count(*) AS n FROM data GROUP BY word"


def test_a_shown_count_is_the_number_that_passed_the_rule_and_no_second_draw() -> None:
    """A key whose number of units is k, the rule's reach, is shown half of the time, and then always above k.

    A count drawn apart from the rule would lie at or below k in half of the cases: 40 asks would miss that with
    probability below 1e-5 for a wrong program; a right one never fails.
    """
    reach = KeySelection(1, "1e-3").reach
    words = ["edge"] * reach + ["rare"] + ["common"] * 500
    people = pd.DataFrame({"who": range(len(words)), "word": words})
    shown: Counter[str] = Counter()
    with tacit.protect(
        people, unit="who", columns={"word": tacit.anything(nullable=False)}, budget=tacit.Budget(1000, "0.9")
    ) as curator:
        for ask in range(40):
            answer = curator.ask(f"{SQL} LIMIT {100 + ask}", 1, delta="1e-3")
            counts = dict(zip(answer["word"], answer["n"], strict=True))
            shown.update(counts.keys())
            assert all(count > reach for count in counts.values())
            assert abs(counts["common"] - 500) <= reach  # the noise is cut off there
    assert shown["common"] == 40
