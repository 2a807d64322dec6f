"""Exact results: what the engine counted, on its way to the noise.

Promise: an `Exact` shows nothing by accident. It cannot be printed, formatted, compared, iterated, copied, pickled or
turned into JSON, and it has no public attribute that holds a value. The one way in is `open_for`, which hands the
content to the function that releases it; that function adds noise before anything leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Key: TypeAlias = tuple[int | str | None, ...]
Keys: TypeAlias = list[Key]
Columns: TypeAlias = dict[str, npt.NDArray[Any]]
Words: TypeAlias = npt.NDArray[np.int64]
T = TypeVar("T")

_FITS = 2**62


class Exact:
    """The exact cells of one pushed-down query: the group keys, and one whole number per key and measure."""

    __slots__ = ("__columns", "__keys")

    def __init__(self, keys: Sequence[Key], columns: Mapping[str, Sequence[int] | Words]) -> None:
        if any(len(column) != len(keys) for column in columns.values()):
            raise ValueError("every measure has one number per key")
        self.__keys = list(keys)
        self.__columns = {name: _whole(column) for name, column in columns.items()}

    def open_for(self, release: Callable[[Keys, Columns], T]) -> T:
        """What `release` makes of the keys and the measures: int64 where they fit, otherwise Python integers.

        Only the release of an answer that has been paid for calls this.
        """
        return release(list(self.__keys), {name: column.copy() for name, column in self.__columns.items()})

    def __repr__(self) -> str:
        raise _closed("printed")

    def __str__(self) -> str:
        raise _closed("printed")

    def __format__(self, _: str) -> str:
        raise _closed("formatted")

    def __iter__(self) -> NoReturn:
        raise _closed("iterated")

    def __len__(self) -> NoReturn:
        raise _closed("measured")

    def __bool__(self) -> NoReturn:
        raise _closed("tested")

    def __eq__(self, _: object) -> NoReturn:
        raise _closed("compared")

    __hash__ = None  # type: ignore[assignment]  # a hash would show which contents are equal

    def __copy__(self) -> NoReturn:
        raise _closed("copied")

    def __deepcopy__(self, _: object) -> NoReturn:
        raise _closed("copied")

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise _closed("pickled")

    def __getstate__(self) -> NoReturn:
        raise _closed("pickled")


def _closed(verb: str) -> TypeError:
    return TypeError(f"An exact result cannot be {verb}: it holds private values. Only a release can open it.")


def _whole(column: Sequence[int] | Words) -> npt.NDArray[Any]:
    if isinstance(column, np.ndarray):
        if type(column) is not np.ndarray or column.dtype != np.int64 or column.ndim != 1:
            raise ValueError("a measure is made of whole numbers")
        small = not column.size or -_FITS < int(column.min()) <= int(column.max()) < _FITS
        return column.astype(np.int64 if small else object)  # an array of its own
    if any(type(number) is not int for number in column):
        raise ValueError("a measure is made of whole numbers")
    small = all(-_FITS < number < _FITS for number in column)
    return np.array(column, dtype=np.int64 if small else object)
