"""What a synthesis releases, as text: tables with noise, the model that was fitted to them, and how it was paid for.

Promise: everything here is public or was released with noise. The text is JSON with arrays as numpy writes them,
compressed, in base64; reading it runs nothing (no pickle), and parts that do not fit together are refused.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit import parameters
from tacit.statistics.source import Whole
from tacit.synthesis.cells import Field
from tacit.synthesis.merging import Merge, merged, plain
from tacit.synthesis.model.fitting import Fitted
from tacit.synthesis.model.tables import Columns, Table, shape_of
from tacit.synthesis.model.trees import Tree


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """A table of whole counts with noise of deviation `sigma` in every cell; over merged cells where `merged`."""

    columns: Columns
    noisy: Whole
    sigma: float
    merged: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A synthesis: its columns, what was measured, and the model over merged cells."""

    method: str
    fields: tuple[Field, ...]
    measured: tuple[Measurement, ...]
    fitted: Fitted
    merges: tuple[Merge, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)  # what a method says in addition: plain JSON
    # shares of tables over single cells that the model itself does not hold; they take precedence over the model
    tables: tuple[tuple[Columns, Table], ...] = ()

    def to_text(self) -> str:
        """As text."""
        tree = self.fitted.tree
        header = {
            "method": self.method,
            "fields": [each.to_dict() for each in self.fields],
            "measured": [[list(each.columns), each.sigma, each.merged] for each in self.measured],
            "total": self.fitted.total,
            "tree": [list(tree.sizes), *(list(map(list, part)) for part in (tree.cliques, tree.separators))],
            "parents": list(tree.parents),
            "facts": dict(self.facts),
        }
        if self.tables:
            header["tables"] = [list(columns) for columns, _ in self.tables]
        arrays: dict[str, Any] = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)}
        arrays |= {f"noisy{place}": each.noisy for place, each in enumerate(self.measured)}
        arrays |= {f"potential{place}": own.astype(np.float32) for place, own in enumerate(self.fitted.potentials)}
        arrays |= {f"table{place}": own.astype(np.float32) for place, (_, own) in enumerate(self.tables)}
        for place, merge in enumerate(self.merges):
            if not merge.is_plain:
                arrays |= {f"codes{place}": merge.codes, f"shares{place}": merge.shares}
        written = io.BytesIO()
        np.savez_compressed(written, **arrays)
        return base64.b64encode(written.getvalue()).decode()

    @classmethod
    def from_text(cls, text: str) -> Release:
        """What `to_text` wrote."""
        try:
            return _read(text)
        except (
            ValueError,
            KeyError,
            TypeError,
            IndexError,
            AssertionError,
            binascii.Error,
            zipfile.BadZipFile,
            OSError,
        ):
            raise parameters.refuse("file", "one that Synthetic.save wrote", "something else") from None


def _read(text: str) -> Release:
    with np.load(io.BytesIO(base64.b64decode(text, validate=True)), allow_pickle=False) as arrays:
        header = json.loads(arrays["header"].tobytes())
        fields = tuple(Field.from_dict(each) for each in header["fields"])
        sizes, cliques, separators = header["tree"]
        tree = Tree(tuple(sizes), _sets(cliques), tuple(header["parents"]), _sets(separators))
        merges = tuple(
            Merge(arrays[f"codes{place}"], arrays[f"shares{place}"]) if f"codes{place}" in arrays else plain(each.size)
            for place, each in enumerate(fields)
        )
        potentials = tuple(arrays[f"potential{place}"].astype(np.float64) for place in range(len(tree.cliques)))
        measured = tuple(
            Measurement(tuple(columns), arrays[f"noisy{place}"], float(sigma), bool(merged))
            for place, (columns, sigma, merged) in enumerate(header["measured"])
        )
        tables = tuple(
            (columns, arrays[f"table{place}"].astype(np.float64))
            for place, columns in enumerate(_sets(header.get("tables", ())))
        )
    assert [each.size for each in merges] == list(tree.sizes)
    assert [len(each.codes) for each in merges] == [each.size for each in fields]
    assert [own.shape for own in potentials] == [shape_of(clique, tree.sizes) for clique in tree.cliques]
    full = [each.size for each in fields]
    for each in measured:
        assert each.noisy.shape == shape_of(each.columns, tree.sizes if each.merged else full)
    assert all(own.shape == shape_of(columns, full) and np.all(own >= 0) for columns, own in tables)
    fitted = Fitted(tree, potentials, float(header["total"]))
    return Release(str(header["method"]), fields, measured, fitted, merges, header["facts"], tables)


def _sets(listed: Sequence[Sequence[int]]) -> tuple[Columns, ...]:
    return tuple(tuple(int(place) for place in each) for each in listed)


def precision_of(measured: Measurement, merges: Sequence[Merge]) -> tuple[Table, float | Table]:
    """The table over merged cells, and the precision of each of its cells."""
    if measured.merged:
        return measured.noisy.astype(np.float64), 1 / measured.sigma**2
    table = merged(measured.noisy.astype(np.float64), measured.columns, merges)
    if all(merges[each].is_plain for each in measured.columns):
        return table, 1 / measured.sigma**2
    many = merged(np.ones(measured.noisy.shape), measured.columns, merges)
    return table, 1 / (measured.sigma**2 * many)
