"""Cells of powers of two: how large a number is, and of which sign, as one whole number that grows with it.

Promise: the cells are public and the same for every column, and they cover all numbers. With e the binary exponent of
x, 2**e <= |x| < 2**(e + 1), held between LEAST and MOST:

    cell of x = 0                       if x = 0
                sign(x) * (e - LEAST + 1) otherwise

so a cell k > 0 holds the numbers from 2**(LEAST + k - 1) to below 2**(LEAST + k), and the cell -k their negatives; the
cells 1 and -1 reach down to zero, and the outermost two have no end. The code is monotone: x <= y has cell <= cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, TypeVar

LEAST: Final = -64
MOST: Final = 65
LAST: Final = MOST - LEAST + 1
"""The code of the outermost cell."""

T = TypeVar("T")


def cell_of(value: int | Fraction) -> int:
    """The cell of a number."""
    if value == 0:
        return 0
    size = abs(Fraction(value))
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    code = min(max(exponent, LEAST), MOST) - LEAST + 1
    return code if value > 0 else -code


def cells_between(low: int, high: int, step: Fraction = Fraction(1)) -> tuple[int, ...]:
    """Every cell that a whole number of steps from low to high can lie in."""
    found: list[int] = []
    if low < 0:
        found += range(cell_of(low * step), cell_of(min(high, -1) * step) + 1)
    if low <= 0 <= high:
        found.append(0)
    if high > 0:
        found += range(cell_of(max(low, 1) * step), cell_of(high * step) + 1)
    return tuple(found)


def lower_end(cell: int) -> Fraction:
    """The greatest lower bound of the cell's numbers. The outermost cells count as if they ended."""
    return -upper_end(-cell) if cell < 0 else Fraction(0) if cell <= 1 else Fraction(2) ** (LEAST + cell - 1)


def upper_end(cell: int) -> Fraction:
    """The least upper bound of the cell's numbers."""
    return -lower_end(-cell) if cell < 0 else Fraction(0) if cell == 0 else Fraction(2) ** (LEAST + cell)


def edge(cell: int) -> tuple[bool, Fraction]:
    """Where a cell begins: x lies in it or above if x > the number (where the first is true), otherwise if x >= it."""
    if cell == 0:
        return False, Fraction(0)
    return (True, lower_end(cell)) if cell <= 1 else (False, lower_end(cell))


def decide(cells: Sequence[int], reaches: Callable[[int, T, T], T], leaf: Callable[[int], T]) -> T:
    """A tree of comparisons that finds a number's cell among `cells`, in increasing order, in a few steps.

    `reaches(cell, yes, no)` is `yes` for numbers in that cell or above, and `no` below it.
    """
    if len(cells) == 1:
        return leaf(cells[0])
    middle = len(cells) // 2
    return reaches(cells[middle], decide(cells[middle:], reaches, leaf), decide(cells[:middle], reaches, leaf))
