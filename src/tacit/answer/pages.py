"""A page for people: readable on a phone and on a wide screen, by day and by night, without script or network.

Promise: the shell and the style of every HTML page that the house writes. Nothing in it depends on what is shown; code
that puts text from a table into a page escapes it first.
"""

from __future__ import annotations

from typing import Final

from tacit.answer.shown import in_html

STYLE: Final = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--paper:#fff;--rule:#d0d7de;--bar:#5b8db8;--mark:#1b1f24;
--second:#b3562b;--third:#4d8a4d;--fourth:#7a5195;--alarm:#b00020}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9da7b1;--paper:#0d1117;--rule:#3d444d;--bar:#3f77a8;
--mark:#f0f6fc;--second:#e08e5e;--third:#7fbf7f;--fourth:#b796d6;--alarm:#c22a3f}}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:0 auto;padding:1.5rem 1rem 3rem;color:var(--ink);
background:var(--paper);overflow-wrap:anywhere}
h1{font-size:1.7rem;line-height:1.2}h2{font-size:1.25rem;margin-top:2.5rem;border-top:1px solid var(--rule);
padding-top:1.2rem}a{color:inherit}.soft{color:var(--soft);font-size:.9rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td,th{padding:.25rem .7rem;border-bottom:1px solid var(--rule);text-align:left;white-space:nowrap}
td.n,th.n{text-align:right}td .soft{margin-left:.5rem}
figure{margin:1rem 0}figcaption{font-weight:600;margin-bottom:.4rem}
.bars{display:grid;grid-template-columns:minmax(3rem,max-content) 1fr max-content;gap:.2rem .7rem;align-items:center}
.bars .label{text-align:right;max-width:14rem}.bars .value{font-variant-numeric:tabular-nums;
white-space:nowrap;text-align:right}
.track{position:relative;height:1.15rem;border-left:0}.track i{position:absolute;display:block}
.track .bar{top:0;bottom:0;background:var(--bar);min-width:1px}.track .zero{top:-.1rem;bottom:-.1rem;
border-left:1px solid var(--soft)}.track .reach{top:50%;border-top:2px solid var(--mark)}
.track .end{top:25%;bottom:25%;border-left:2px solid var(--mark)}
.axis{position:relative;height:1.4rem;color:var(--soft);font-size:.8rem}.axis span{position:absolute;
transform:translateX(-50%);white-space:nowrap}.axis span.first{transform:none}
.axis span.last{transform:translateX(-100%)}
.plot{display:grid;grid-template-columns:max-content 1fr;gap:0 .5rem}.plot .up{position:relative;min-width:3rem;
color:var(--soft);font-size:.8rem}.plot .up span{position:absolute;right:0;transform:translateY(-50%)}
.plot svg{display:block;width:100%;height:14rem;overflow:visible}.plot .axis{grid-column:2}
.key{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.9rem}.key b{font-weight:400}
.key b::before{content:"";display:inline-block;width:1.2rem;border-top:3px solid var(--of);margin-right:.4rem;
vertical-align:middle}
.banner{background:var(--alarm);color:#fff;font-weight:bold;padding:.8rem 1rem;font-size:1.1rem}
@media (max-width:32rem){.bars{grid-template-columns:1fr max-content}.bars .label{grid-column:1/3;text-align:left;
max-width:none;margin-top:.3rem}.bars .over{display:none}body{padding-top:.5rem}
.bars.brief{grid-template-columns:max-content 1fr max-content}.bars.brief .label{grid-column:auto;text-align:right;
margin-top:0}.bars.brief .over{display:block}.bars .axis .second{display:none}}
@media print{body{max-width:none}.track .bar{print-color-adjust:exact}}
"""


FRAGMENT: Final = """
.tacit{font:14px/1.5 system-ui,sans-serif;max-width:52rem;overflow-wrap:anywhere;--bar:#5b8db8;--rule:#8885}
.tacit p{margin:.3rem 0}.tacit .soft{opacity:.75;font-size:.9em}.tacit table{border-collapse:collapse;
font-variant-numeric:tabular-nums}.tacit td,.tacit th{padding:.2rem .7rem;border-bottom:1px solid var(--rule);
text-align:left}.tacit td.n,.tacit th.n{text-align:right}.tacit .bars{display:grid;align-items:center;
grid-template-columns:max-content minmax(6rem,20rem) max-content;gap:.2rem .7rem}.tacit .track{position:relative;
height:1rem;border:1px solid var(--rule)}.tacit .track i{position:absolute;display:block;top:0;bottom:0}
.tacit .track .bar{background:var(--bar)}
"""


def fragment(body: str) -> str:
    """A part of another page, such as a notebook: the same style, by day and by night, for this part alone."""
    return f'<div class="tacit"><style>{FRAGMENT}</style>{body}</div>'


def page(title: str, body: str) -> str:
    """A whole page. The title is escaped here; the body is markup already."""
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{in_html(title)}</title><style>{STYLE}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body><main>{body}</main></body></html>\n'
