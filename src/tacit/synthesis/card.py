"""The card of a synthetic table: a page that says what was measured, how far off each pair is, and what it looks like.

Promise: made of released numbers only, so it is free. An error is shown for a pair of columns where a measured table
holds both: what the noise adds to that table, as a share of the rows. Fitting several tables together usually does
better; what the model gets wrong about pairs that no table holds is not known, and the page says so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from tacit.answer.drawings import Drawn, drawings
from tacit.answer.pages import page
from tacit.answer.report import reader_of
from tacit.answer.shown import in_html
from tacit.parameters import LEVEL
from tacit.synthesis.cells import MISSING, Field
from tacit.synthesis.model.tables import Columns, Table
from tacit.synthesis.shown_tables import intervals, telling

if TYPE_CHECKING:
    from tacit.synthesis.linked.twins import Linked
    from tacit.synthesis.synthetic import Synthetic

_LEVEL: Final = float(LEVEL)
_MOST_PAIRS: Final = 24
_MOST_LINES: Final = 32  # of a drawn table; longer columns are drawn in groups of neighbours
_CELL: Final = 14
_MOST_LABEL: Final = 18


def card_of(synthetic: Synthetic) -> str:
    """The page."""
    title = f"Synthetic data: {', '.join(synthetic.columns)}"
    return page(title, "".join(_parts(synthetic, title)))


def card_of_both(linked: Linked) -> str:
    """One page for two linked tables."""
    over, under = linked.tables
    first = _parts(linked.parents, f"Synthetic data: {over} and {under}")
    joined = f"Rows of {under}, each with its row of {over}"
    return page(f"Synthetic data: {over} and {under}", "".join([*first, *_parts(linked.children, joined)]))


def _parts(synthetic: Synthetic, title: str) -> list[str]:
    release = synthetic._release
    words = (
        *reader_of(synthetic.receipt, "this model", None),
        f"Made by {synthetic.method}; about {synthetic.total:,.0f} rows were counted. Rows drawn from the model, its "
        "tables and its answers are free: they follow from what was released.",
    )
    parts = [f"<h1>{in_html(title)}</h1>", *(f"<p>{in_html(each)}</p>" for each in words)]
    parts += ["<h2>What was measured</h2>", _measured(synthetic)]
    parts += ["<h2>Estimated error of every pair</h2>", *_pairs(synthetic)]
    parts.append("<h2>Columns</h2>")
    for place, field in enumerate(release.fields):
        parts += _column(synthetic, place, field)
    held = list(dict.fromkeys(each.columns for each in release.measured if len(each.columns) == 2))
    if held:
        parts.append("<h2>Measured pairs</h2>")
        parts += [_grid(synthetic, pair) for pair in held[:_MOST_PAIRS]]
        if len(held) > _MOST_PAIRS:
            parts.append(f'<p class="soft">... and {len(held) - _MOST_PAIRS} more: marginal(...) shows them.</p>')
    return parts


def noise_error(synthetic: Synthetic, columns: Columns) -> float | None:
    """What the noise adds to a table, as expected total variation: half the mean absolute errors over the rows.

    None where no measured table holds the columns. A normal error of deviation s has mean absolute value s (2/pi)**.5.
    """
    release = synthetic._release
    found = telling(release, columns)
    if found is None:
        return None
    cells = math.prod(size for each, size in zip(found.columns, found.noisy.shape, strict=True) if each in columns)
    added = found.noisy.size // cells
    each = found.sigma * math.sqrt(added) * math.sqrt(2 / math.pi)
    return float(min(1.0, cells * each / (2 * release.fitted.total)))


def _measured(synthetic: Synthetic) -> str:
    release = synthetic._release
    lines = []
    for number, each in enumerate(release.measured, 1):
        names = " x ".join(synthetic.columns[place] for place in each.columns)
        merged = "rare values merged" if each.merged and each.noisy.size < _full(release.fields, each.columns) else ""
        lines.append(
            f'<tr><td class="n">{number}</td><td>{in_html(names)}</td><td class="n">{each.noisy.size:,}</td>'
            f'<td class="n">{each.sigma:,.3g}</td><td>{merged}</td></tr>'
        )
    named = (("no.", True), ("table", False), ("cells", True), ("noise in a cell", True), ("", False))
    head = "".join(f'<th class="n">{name}</th>' if number else f"<th>{name}</th>" for name, number in named)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _full(fields: Sequence[Field], columns: Columns) -> int:
    return math.prod(fields[place].size for place in columns)


def _pairs(synthetic: Synthetic) -> list[str]:
    """Every pair of columns with its error, or a note that it has none."""
    names = [in_html(_short(name)) for name in synthetic.columns]
    count = len(names)
    if count < 2:
        return ["<p>There is one column.</p>"]
    errors = {pair: noise_error(synthetic, pair) for pair in itertools.combinations(range(count), 2)}
    head = "".join(f'<th class="n">{name}</th>' for name in names[1:])
    lines = []
    for row in range(count - 1):
        cells = [_error_cell(errors.get((row, other))) if other > row else "<td></td>" for other in range(1, count)]
        lines.append(f"<tr><th>{names[row]}</th>{''.join(cells)}</tr>")
    unknown = sum(each is None for each in errors.values())
    said = (
        "Shares of the rows that the noise is expected to put into wrong cells (total variation), where a measured "
        f"table holds the pair. For the {unknown} of {len(errors)} pairs with a dash no promise is made: no table "
        "holds both columns, and what the model says about them follows from others. "
        "synthesis.evaluate measures how far it is off, for a price."
    )
    table = (
        f'<div class="wide"><table><thead><tr><th></th>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
    )
    return [f"<p>{in_html(said)}</p>", table]


def _error_cell(error: float | None) -> str:
    if error is None:
        return '<td class="n">&ndash;</td>'
    return f'<td class="n">{100 * error:.2g} %</td>'


def _column(synthetic: Synthetic, place: int, field: Field) -> list[str]:
    """One column: a bar for each cell, with its interval."""
    expected = synthetic._table((place,)) * synthetic.total
    ends = intervals(synthetic._release, (place,), expected, _LEVEL)
    listed = tuple(MISSING if each is None else each for each in field.listed)
    low, high = (None, None) if ends is None else (_known(ends[0]), _known(ends[1]))
    drawn = [Drawn(field.name, listed, None, None), Drawn("rows", tuple(expected.tolist()), low, high)]
    return [f"<h3>{in_html(field.name)}</h3>", *drawings(drawn, "bars")]


def _known(ends: Table) -> tuple[float | None, ...]:
    return tuple(None if math.isnan(each) else float(each) for each in ends)


def _grid(synthetic: Synthetic, pair: Columns) -> str:
    """A table of two columns as shades: the more rows, the darker."""
    fields = [synthetic._release.fields[place] for place in pair]
    table = synthetic._table(pair) * synthetic.total
    labels = []
    for axis, field in enumerate(fields):
        step = -(-field.size // _MOST_LINES)
        starts = list(range(0, field.size, step))
        table = np.add.reduceat(table, starts, axis=axis)
        names = field.labels
        labels.append([names[at] if step == 1 else f"{names[at]} ..." for at in starts])
    most = float(table.max()) or 1.0
    left, top = 150, 110
    width, height = left + _CELL * len(labels[1]) + 10, top + _CELL * len(labels[0]) + 6
    parts = []
    for row, name in enumerate(labels[0]):
        y = top + row * _CELL
        parts.append(f'<text x="{left - 6}" y="{y + 11}" text-anchor="end">{in_html(_short(name))}</text>')
        for column, other in enumerate(labels[1]):
            count = float(table[row, column])
            shade = math.sqrt(count / most)
            said = in_html(f"{fields[0].name} {name}, {fields[1].name} {other}: {count:,.0f}")
            parts.append(
                f'<rect x="{left + column * _CELL}" y="{y}" width="{_CELL - 1}" height="{_CELL - 1}" '
                f'fill="var(--bar)" fill-opacity="{shade:.3f}"><title>{said}</title></rect>'
            )
    for column, name in enumerate(labels[1]):
        x = left + column * _CELL + 10
        parts.append(
            f'<text x="{x}" y="{top - 6}" transform="rotate(-60 {x} {top - 6})">{in_html(_short(name))}</text>'
        )
    drawn = "".join(parts)
    svg = (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" fill="currentColor" '
        f'font-size="11" font-family="system-ui,sans-serif">{drawn}</svg>'
    )
    title = f"{fields[0].name} (down) and {fields[1].name} (across); the darkest cell is {most:,.0f} rows"
    return f'<figure><figcaption>{in_html(title)}</figcaption><div class="wide">{svg}</div></figure>'


def _short(name: str) -> str:
    return name if len(name) <= _MOST_LABEL else name[: _MOST_LABEL - 1] + "…"
