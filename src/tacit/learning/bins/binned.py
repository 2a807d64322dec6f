"""What models on bins share: the columns' bins, made of public facts, which predictions need."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.learning.bins.bins import Bins
from tacit.learning.columns import Feature, Reals
from tacit.learning.model import Model
from tacit.learning.training import columns_of
from tacit.statistics.finding import Finding
from tacit.statistics.source import Whole


class Binned(Model):
    """A model whose columns are cut into bins."""

    _features: tuple[Feature, ...]
    _edges: tuple[tuple[int, ...], ...]

    def _keep_bins(self, finding: Finding | None, bins: tuple[Bins, ...]) -> None:
        self._keep(finding, [each.feature for each in bins])
        self._edges = tuple(each.edges for each in bins)

    @property
    def _bins(self) -> tuple[Bins, ...]:
        return tuple(Bins(feature, tuple(own)) for feature, own in zip(self._features, self._edges, strict=True))

    def _rehearse(self) -> None:
        """Also check that edges ascend: otherwise a row could fall into a bin that no made-up row has tried."""
        for own in self._edges:
            if not all(isinstance(each, int) for each in own) or list(own) != sorted(set(own)):
                raise ValueError("edges of bins do not ascend")
        super()._rehearse()

    def _made_up(self) -> list[list[Any]]:
        """A value in every bin."""
        return [list(each.ends[:-1]) if each.is_ordered else list(each.labels) for each in self._bins]

    def _binned(self, data: Any) -> list[Whole]:
        """The bins of rows to predict for, column by column; -1 where a value is missing or not listed."""
        check_is_fitted(self)
        if any(each.options is not None for each in self._features):
            validate_data(self, data, reset=False, skip_check_array=True)
            columns = list(columns_of(data, [each.name for each in self._features]).values())
        else:
            columns = list(np.asarray(validate_data(self, data, reset=False, dtype="numeric")).T)
        return [own.of_values(column) for own, column in zip(self._bins, columns, strict=True)]


def summed(tables: list[Reals], bins: list[Whole]) -> Reals:
    """For each row the sum of its bins' lines; a missing bin adds nothing."""
    total = np.zeros((len(bins[0]), tables[0].shape[1]))
    for table, own in zip(tables, bins, strict=True):
        total += np.vstack([table, np.zeros((1, table.shape[1]))])[own]
    return total
