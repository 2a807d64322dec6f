"""Room for texts that nest: made for whoever is inside, given back, and never less than what a text can take."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from tacit.question.stack import CALLS, FEW_WORDS, room, roomy


def test_room_is_made_for_all_who_are_inside_and_given_back() -> None:
    limit = sys.getrecursionlimit()
    with room():
        with suppress(ZeroDivisionError), room():
            assert sys.getrecursionlimit() == limit + CALLS
            raise ZeroDivisionError
        assert sys.getrecursionlimit() == limit + CALLS
    assert sys.getrecursionlimit() == limit


def test_a_short_text_is_parsed_where_it_is_and_a_long_one_beside() -> None:
    here = threading.current_thread()
    assert roomy(FEW_WORDS, threading.current_thread) is here
    assert roomy(FEW_WORDS + 1, threading.current_thread) is not here


@pytest.mark.parametrize("words", [FEW_WORDS, FEW_WORDS + 1])
def test_what_goes_wrong_is_raised_where_it_is_waited_for(words: int) -> None:
    with pytest.raises(ZeroDivisionError):
        roomy(words, lambda: 1 // 0)


def test_the_size_of_other_threads_stays_what_it_was() -> None:
    before = threading.stack_size()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda words: roomy(words, lambda: words), range(90, 300))) == [*range(90, 300)]
    assert threading.stack_size() == before


HOSTILE = """
import sys, threading
from tacit.question import limits, read
from tacit.errors import QuestionError

limits._PREFIXES = frozenset()  # as if nobody had thought of this one
threading.stack_size(256 * 1024)


def ask() -> None:
    try:
        read("SELECT count(*) FROM t WHERE " + "INTERVAL " * 7_000 + "'1' day > x")
    except QuestionError as refusal:
        print(refusal)


asking = threading.Thread(target=ask)
asking.start()
asking.join()
"""


def test_nesting_that_no_limit_counts_does_not_end_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", HOSTILE], capture_output=True, text=True, check=True)
    assert "deep" in done.stdout
