"""A risk report as one HTML page: no scripts, no other files, charts drawn inline, and a banner that cannot be missed.

Promise: everything from the table is escaped, so a value can never become markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from tacit.answer.drawings import share_bars
from tacit.answer.pages import page
from tacit.audit.anonymity import Anonymity
from tacit.audit.risk import WARNING, Risk

_SHOWN_SETS: Final = 30


def html_report(risk: Risk) -> str:
    """The whole page.

    >>> import pathlib, tempfile
    >>> from tacit.audit import risk
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = file.write_text("age,sex\\n31,F\\n31,F\\n40,M\\n")
    >>> "NOT FOR RELEASE" in html_report(risk(file, ["age", "sex"]))
    True
    """
    banner = f'<p class="banner" role="alert">{escape(WARNING)}</p>'
    sets = risk.sets[:_SHOWN_SETS]
    left_out = f"<p>{len(risk.sets) - len(sets)} safer sets are left out.</p>" if len(risk.sets) > len(sets) else ""
    body = [
        banner,
        f"<h1>How risky is {escape(risk.file)}?</h1>",
        f"<p>{escape(str(risk.whole))}</p>",
        "<h2>Which columns do the most harm</h2>",
        "<p>What a column adds to the share of unique people depends on what is known already. "
        "This is the mean over all orders in which the columns may become known.</p>",
        share_bars("Share of unique people added by each column", [(each.column, each.share) for each in risk.harm]),
        "<h2>Share of unique people for each set of columns</h2>",
        share_bars("Share of unique people", [(" + ".join(each.columns), each.unique_share) for each in sets]),
        left_out,
        "<h2>The figures</h2>",
        _figures(sets, sensitive=risk.sensitive is not None),
        "<h2>The smallest classes</h2>",
        _classes(risk),
        banner,
    ]
    return page(f"NOT FOR RELEASE: risk of {risk.file}", "\n".join(body))


def _figures(sets: Sequence[Anonymity], *, sensitive: bool) -> str:
    more = ["l", "t"] if sensitive else []
    head = "".join(f'<th class="n">{name}</th>' for name in ["unique", "share", "fewer than 5", "k", *more])
    body = []
    for each in sets:
        cells = [f"{each.unique:,}", f"{each.unique_share:.1%}", f"{each.at_risk:,}", f"{each.k:,}"]
        cells += [f"{each.l}", f"{each.t:.2f}"] if sensitive else []
        numbers = "".join(f'<td class="n">{cell}</td>' for cell in cells)
        body.append(f"<tr><td>{escape(', '.join(each.columns))}</td>{numbers}</tr>")
    return f'<div class="wide"><table><tr><th>columns</th>{head}</tr>{"".join(body)}</table></div>'


def _classes(risk: Risk) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in risk.columns)
    body = "".join(
        "<tr>"
        + "".join(f"<td>{escape(str(value))}</td>" for value in each.values)
        + f'<td class="n">{each.size}</td></tr>'
        for each in risk.smallest
    )
    return f'<div class="wide"><table><tr>{head}<th class="n">people</th></tr>{body}</table></div>'
