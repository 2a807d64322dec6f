"""Squares on the grid: the middle of bounds, squared distances, and the two squares that `together` releases."""

from __future__ import annotations

from dataclasses import replace

from tacit.plan.together import INSET, SPREAD
from tacit.plan.values import arithmetic
from tacit.plan.values.value import Number, constant, floor_division, scaled


def doubled(number: Number) -> Number:
    """The number on a grid that holds the middle of its bounds."""
    odd = (number.bounds.high - number.bounds.low) % 2
    return scaled(number, 2) if odd else number


def squared_distance(distance: Number) -> Number:
    """The square of a number."""
    return replace(arithmetic.multiply(distance, distance), bounds=distance.bounds.square())


def square_parts(number: Number, most: int) -> tuple[Number, Number, int]:
    """floor(y**2/k), floor(z**2/k) and floor(82 W**2/k) of `together`; k a power of two that keeps them to `most`."""
    low, high = number.bounds.low, number.bounds.high
    width, finer = high - low, scaled(number, INSET)
    largest, shift = SPREAD * width**2, 0
    while largest >> shift > most:
        shift += 1
    found = []
    for distance in (
        arithmetic.subtract(finer, constant(INSET * low + width, finer.step)),
        arithmetic.subtract(constant(INSET * high - width, finer.step), finer),
    ):
        squared = squared_distance(distance)
        sql, bounds, wide = floor_division(squared, 1 << shift)
        found.append(replace(squared, sql=sql, bounds=bounds, wide=wide))
    return found[0], found[1], largest >> shift
