"""A failure is something sent: in every path and for every cause it is stored once, and nothing is drawn again.

Here each path meets some of the causes and each cause some of the paths; all pairs, several times: `soak_failures`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from tests.curator.failures import CAUSES, NOT_IN_A_SESSION, Desk, desk, drawing_breaks, one_failure, paths
from tests.curator.fits import fits

CASES = [
    (path, cause)
    for row, path in enumerate(paths())
    for column, cause in enumerate(CAUSES)
    if (row + column) % 3 == 0 and not ("session" in path and cause in NOT_IN_A_SESSION)
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder: Path = tmp_path_factory.mktemp("till")
    with pytest.MonkeyPatch.context() as set_:
        set_.setenv("TACIT_STATE", str(folder / "heads"))
        with desk(folder) as at:
            yield at


@pytest.mark.parametrize(("path", "cause"), CASES)
def test_a_failure_after_the_charge_is_stored_once_and_never_drawn_again(shared: Desk, path: str, cause: str) -> None:
    one_failure(shared, paths()[path], cause, 1 + Fraction(CASES.index((path, cause)), 1000))


@pytest.mark.parametrize("path", ["training in rounds", "synthetic rows", "ask, grouped and averaged"])
def test_what_breaks_in_a_later_round_is_one_failure_too(shared: Desk, path: str) -> None:
    """The rounds before it drew noise; the whole is charged once, fails once, and no round is drawn again."""
    asked, price = paths()[path], 3 + Fraction(list(paths()).index(path), 1000)
    before = shared.noise.draws
    asked(shared.curator, price)
    draws = shared.noise.draws - before
    assert draws > 1
    for number, draw in enumerate({2, draws // 2 + 1, draws}):
        causes = {"a later draw breaks": lambda at, draw=draw: drawing_breaks(at, draw)}
        one_failure(shared, asked, "a later draw breaks", price + Fraction(1 + number, 10**6), causes)


@pytest.mark.parametrize(("number", "path"), list(enumerate(fits())))
def test_a_fit_that_fails_is_stored_once_and_never_drawn_again(shared: Desk, number: int, path: str) -> None:
    """For one of the causes, and at one draw in the middle of it."""
    fit, price = fits()[path], 5 + Fraction(number, 1000)
    before = shared.noise.draws
    fit(shared.curator, price)
    middle = 1 if path == "search" else 1 + (shared.noise.draws - before) // 2  # how often it runs is drawn as well
    one_failure(shared, fit, list(CAUSES)[number % len(CAUSES)], price + Fraction(1, 10**6))
    causes = {"a draw breaks": lambda at: drawing_breaks(at, middle)}
    one_failure(shared, fit, "a draw breaks", price + Fraction(2, 10**6), causes)
