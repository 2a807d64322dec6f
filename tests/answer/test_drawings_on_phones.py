"""Pages on a phone: what stands beside a bar, and which words of an axis stay."""

from __future__ import annotations

import itertools
import re

from tacit.answer.drawings import Drawn, drawings, share_bars


def drawn(keys: list[str], values: list[int]) -> str:
    ends = [value - 1 for value in values], [value + 1 for value in values]
    (figure,) = drawings([Drawn("ward", keys), Drawn("visits", values, *ends)], "bars")
    return figure


def test_short_labels_stay_beside_their_bars_and_long_ones_go_above() -> None:
    assert '<div class="bars brief">' in drawn(["east", "north"], [10, 20])
    assert '<div class="bars">' in drawn(["east", "a ward with a long name"], [10, 20])


def test_zero_is_never_left_out_of_an_axis() -> None:
    for values in ([10, 20], [-35, 20], [-7, -3], [0, 999_999]):
        axis = drawn(["a", "b"], values).partition('<div class="axis">')[2]
        kept = [text for kind, text in re.findall(r"<span([^>]*)>([^<]*)</span>", axis) if "second" not in kind]
        assert "0" in kept, values


def test_of_two_words_side_by_side_on_an_axis_a_phone_shows_one() -> None:
    axis = share_bars("Shares", [("sex", 0.5)]).partition('<div class="axis">')[2]
    kinds = ["second" in kind for kind in re.findall(r"<span([^>]*)>[^<]", axis)]
    assert len(kinds) >= 5
    assert all(first != second for first, second in itertools.pairwise(kinds))
