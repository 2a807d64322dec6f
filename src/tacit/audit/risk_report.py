"""A risk report as one HTML page: no scripts, no other files, charts drawn inline, and a banner nobody can miss.

Promise: whatever stands in the table is escaped, so a value can never become markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from tacit.audit.anonymity import Anonymity
from tacit.audit.risk import WARNING, Risk

_ROW: Final = 26
_WIDTH: Final = 760
_LABEL: Final = 300
_SHOWN_SETS: Final = 30
_STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 800px; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a }
.banner { background: #b00020; color: #fff; font-weight: bold; padding: 0.8rem 1rem; font-size: 1.1rem }
table { border-collapse: collapse; width: 100% } td, th { padding: 0.25rem 0.6rem; border-bottom: 1px solid #ddd }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums } th { text-align: left }
svg text { font: 13px system-ui, sans-serif }
"""


def html_report(risk: Risk) -> str:
    """The whole page."""
    banner = f'<p class="banner" role="alert">{escape(WARNING)}</p>'
    sets = risk.sets[:_SHOWN_SETS]
    left_out = f"<p>{len(risk.sets) - len(sets)} safer sets are left out.</p>" if len(risk.sets) > len(sets) else ""
    return "\n".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            f"<title>NOT FOR RELEASE: risk of {escape(risk.file)}</title><style>{_STYLE}</style></head><body>",
            banner,
            f"<h1>How risky is {escape(risk.file)}?</h1>",
            f"<p>{escape(str(risk.whole))}</p>",
            "<h2>Which columns do the most harm</h2>",
            "<p>What each column adds to the share of unique people, as a mean over all orders of becoming known.</p>",
            bars([(each.column, each.share) for each in risk.harm], "share of unique people added by each column"),
            "<h2>Share of unique people for each set of columns</h2>",
            bars([(" + ".join(each.columns), each.unique_share) for each in sets], "share of unique people by columns"),
            left_out,
            "<h2>The figures</h2>",
            _figures(sets, sensitive=risk.sensitive is not None),
            "<h2>The smallest classes</h2>",
            _classes(risk),
            banner,
            "</body></html>\n",
        ]
    )


def bars(rows: Sequence[tuple[str, float]], title: str) -> str:
    """Shares as horizontal bars, in SVG."""
    room = _WIDTH - _LABEL - 70
    height = _ROW * len(rows) + 8
    drawn = [f'<svg viewBox="0 0 {_WIDTH} {height}" width="100%" role="img"><title>{escape(title)}</title>']
    for place, (label, share) in enumerate(rows):
        top = _ROW * place + 4
        long = max(0.0, min(1.0, share)) * room
        short = label if len(label) <= 42 else label[:39] + "..."
        drawn += [
            f'<text x="{_LABEL - 8}" y="{top + 15}" text-anchor="end">{escape(short)}</text>',
            f'<rect x="{_LABEL}" y="{top}" width="{long:.1f}" height="{_ROW - 6}" fill="#b00020"></rect>',
            f'<text x="{_LABEL + long + 6:.1f}" y="{top + 15}">{share:.1%}</text>',
        ]
    return "\n".join([*drawn, "</svg>"])


def _figures(sets: Sequence[Anonymity], *, sensitive: bool) -> str:
    more = ["l", "t"] if sensitive else []
    head = "".join(f'<th class="n">{name}</th>' for name in ["unique", "share", "fewer than 5", "k", *more])
    body = []
    for each in sets:
        cells = [f"{each.unique}", f"{each.unique_share:.1%}", f"{each.at_risk}", f"{each.k}"]
        cells += [f"{each.l}", f"{each.t:.2f}"] if sensitive else []
        numbers = "".join(f'<td class="n">{cell}</td>' for cell in cells)
        body.append(f"<tr><td>{escape(', '.join(each.columns))}</td>{numbers}</tr>")
    return f"<table><tr><th>columns</th>{head}</tr>{''.join(body)}</table>"


def _classes(risk: Risk) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in risk.columns)
    body = "".join(
        "<tr>"
        + "".join(f"<td>{escape(str(value))}</td>" for value in each.values)
        + f'<td class="n">{each.size}</td></tr>'
        for each in risk.smallest
    )
    return f'<table><tr>{head}<th class="n">people</th></tr>{body}</table>'
