"""Drawings: well formed, escaped, zero on the axis, nothing left out in silence, nothing that needs a network."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.answer.drawings import Drawn, drawings, share_bars, tick_text, ticks
from tacit.answer.pages import page
from tacit.answer.shown import label, rounded


def text_of(markup: str) -> str:
    return " ".join(ElementTree.fromstring(f"<div>{markup}</div>").itertext())


def test_drawings_are_well_formed_and_escape_what_they_say() -> None:
    table = [Drawn("<k>", ["<a>", None]), Drawn("n & m", [3, None], [1, None], [5, None]), Drawn("x", [-1.0, 2.0])]
    made = drawings(table, "bars")
    assert len(made) == 1
    curves = drawings([Drawn("n", [1, 1000]), Drawn("a", [1.0, 2.0]), Drawn("b", [None, 2.0])], "line")
    many = drawings([Drawn("<k>", list(range(60))), Drawn("n", [1] * 60, [0] * 60, [2] * 60)], "bars")
    for each in (*made, *curves, *many, *drawings([Drawn("k", ["a"]), Drawn("n", [0], [0], [0])], "bars")):
        ElementTree.fromstring(each)
        assert "http" not in each
        assert "<script" not in each
    assert "missing" in text_of(made[0])
    assert drawings([Drawn("k", ["a"])], "bars") == []


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12))
def test_zero_is_among_the_ticks_wherever_it_is_in_range(low: float, width: float) -> None:
    start, end = min(low, 0.0), max(low + width, 0.0)
    found = ticks(start, end)
    assert 0.0 in found
    assert 2 <= len(found) <= 12
    slack = 1e-6 * (end - start)
    assert all(start - slack <= tick <= end + slack for tick in found)
    assert len(set(map(tick_text, found))) == len(found)


def test_ticks_are_round_numbers_without_dust() -> None:
    assert [tick_text(tick) for tick in ticks(0, 1)] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    assert [tick_text(tick) for tick in ticks(-33, 1666)] == ["0", "500", "1,000", "1,500"]


@pytest.mark.parametrize(("count", "cut"), [(3, False), (41, False), (500, False), (501, True)])
@pytest.mark.parametrize("numbers", [True, False])
def test_every_value_is_drawn_or_a_sentence_says_how_many_are_not(count: int, cut: bool, numbers: bool) -> None:
    keys = Drawn("k", list(range(count)) if numbers else [f"key {each}" for each in range(count)])
    (made,) = drawings([keys, Drawn("n", [5] * count, [4] * count, [6] * count)], "bars")
    drawn = len(re.findall(r'<rect |class="bar"', made))
    assert drawn == min(count, 500)
    assert (f"The first 500 of {count}" in made) is cut


def test_an_interval_far_wider_than_all_values_is_cut_and_said_to_be() -> None:
    (made,) = drawings([Drawn("k", ["a", "b"]), Drawn("n", [5.0, 6.0], [4.0, -9e4], [6.0, 9e4])], "bars")
    assert "goes on beyond it" in made
    (made,) = drawings([Drawn("k", ["a", "b"]), Drawn("n", [5.0, 6.0], [4.0, 5.0], [6.0, 7.0])], "bars")
    assert "goes on beyond it" not in made


def test_a_year_has_no_thousands_separator_and_a_missing_key_is_called_so() -> None:
    (made,) = drawings([Drawn("year", [2018, 2019.0, None]), Drawn("n", [12345, 2, 3], [1, 1, 1], [9, 9, 9])], "bars")
    said = text_of(made)
    assert "2018 " in said
    assert "2019 " in said
    assert "12,345" in said
    assert label(None) == "missing"


@pytest.mark.parametrize(
    ("value", "ends", "said"),
    [
        (37.482711, (36.1, 38.8), "37.5"),
        (1644.66605, (1622.8, 1666.5), "1,645"),
        (0.30000000000000004, (0.2, 0.4), "0.30"),
        (-0.0001, (-2.0, 2.0), "0.0"),
        (1234, (1.0, 3.0), "1,234"),
        (None, None, "NULL"),
    ],
)
def test_a_number_has_as_many_digits_as_its_interval_gives_a_meaning(
    value: float, ends: tuple[float, float], said: str
) -> None:
    assert rounded(value, ends) == said


def test_shares_are_drawn_with_their_percentages() -> None:
    made = share_bars("Unique", [("zip & sex", 0.87), ("zip", 0.0)])
    ElementTree.fromstring(made)
    assert "87.0%" in made
    assert "zip &amp; sex" in made


def test_a_page_fits_a_phone_and_the_night_and_escapes_its_title() -> None:
    made = page("<a> & b", "<p>x</p>")
    assert 'name="viewport"' in made
    assert "prefers-color-scheme:dark" in made
    assert "<title>&lt;a&gt; &amp; b</title>" in made
