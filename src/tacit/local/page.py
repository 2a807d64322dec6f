"""A page on which a person answers a survey and sees exactly which bits leave, and how much they can tell.

    with serving(survey) as page: page.url                  # "http://127.0.0.1:8765/"

Promise. The page is served to this machine alone (loopback; other host names are refused, so that no web page from
elsewhere can reach it), needs no script, and shows what `Client.answer` makes: the bytes of one report, and the bound
that epsilon puts on what anyone can conclude. A person who was thought to have an answer with probability x is thought
to have it with probability at most e x/(1 + (e - 1) x), e = exp(epsilon), after the report, and at least x/(x + e (1 -
x)): Bayes' rule with the largest ratio. It keeps reports in memory only, and nothing about their senders.
"""

from __future__ import annotations

import contextlib
import html
import math
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs

from tacit.local import laws
from tacit.local.checks import Refused
from tacit.local.client import Report
from tacit.local.survey import Survey

_MOST_BYTES: Final = 4_096
_MOST_ANSWERS: Final = 24
_STYLE: Final = """
:root{color-scheme:light dark;--line:#c8ccd4;--ink:#1b1f27;--paper:#fff;--soft:#f3f5f8;--mark:#1d5fbf}
@media(prefers-color-scheme:dark){:root{--line:#3b4250;--ink:#e8ebf0;--paper:#14171c;--soft:#1e232b;--mark:#8ab6ff}}
*{box-sizing:border-box}body{margin:0 auto;max-width:42rem;padding:1rem;font:16px/1.5 system-ui,sans-serif;
color:var(--ink);background:var(--paper)}h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}
form,.box{border:1px solid var(--line);border-radius:8px;padding:1rem;background:var(--soft)}
fieldset{border:0;margin:0;padding:0}legend{padding:0;font-weight:600}
label{display:block;padding:.4rem 0}button{font:inherit;padding:.5rem 1rem;margin-top:.6rem;border-radius:6px;
border:1px solid var(--mark);background:var(--mark);color:var(--paper)}a{color:var(--mark)}
code{overflow-wrap:anywhere;font-size:.9rem}table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.3rem .5rem;border-bottom:1px solid var(--line);vertical-align:top}
input[type=text]{font:inherit;width:100%;padding:.4rem}
"""


def believed(before: float, epsilon: float) -> tuple[float, float]:
    """The least and the most that an observer who believed `before` may believe after a report."""
    odds = math.exp(epsilon)
    return before / (before + odds * (1 - before)), odds * before / (1 + (odds - 1) * before)


class Page:
    """The survey as a page, and the reports that were sent from it."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        asked = survey.description["question"]
        if "dimensions" in asked or len(asked.get("values", ())) > _MOST_ANSWERS:
            raise Refused(f"The page shows surveys of a number, or of up to {_MOST_ANSWERS} answers.")
        self.reports: list[Report] = []
        self._turn = threading.Lock()

    def asked(self) -> str:
        """The question, and what will be told."""
        asked = self.survey.description["question"]
        if "values" in asked:
            fields = "".join(
                f'<label><input type="radio" name="answer" value="{place}" required> {_words(each)}</label>'
                for place, each in enumerate(asked["values"])
            )
        else:
            low, high = (html.escape(str(asked[end])) for end in ("low", "high"))
            fields = f'<label>A number from {low} to {high}<input type="text" name="answer" required></label>'
        bits = laws.report_bits(self.survey.law)
        return self._whole(
            f'<form method="post" action="/"><fieldset><legend>Your answer</legend>{fields}</fieldset>'
            "<button>Answer</button></form>"
            f"<p>Your answer stays here. What leaves is a report of {bits} bits, drawn at random around it.</p>"
            + self._bound()
            + self._found()
        )

    def answered(self, text: str) -> str:
        """What leaves for this answer."""
        asked = self.survey.description["question"]
        try:
            value = asked["values"][int(text)] if "values" in asked else float(text)
            report = self.survey.client().answer(value)
        except (ValueError, IndexError, OverflowError):
            raise Refused("That is no answer to this survey.") from None
        with self._turn:
            self.reports.append(report)
        raw = bytes(report)
        parts = (
            ("which survey", raw[:8], "the same for everyone"),
            ("ticket", raw[8:16], "drawn at random, so that a report counts once"),
            ("report", raw[16:], f"{laws.report_bits(self.survey.law)} bits: all that depends on your answer"),
        )
        rows = "".join(
            f"<tr><th>{name}</th><td><code>{part.hex()}</code><br>{why}</td></tr>" for name, part, why in parts
        )
        bits = " ".join(f"{byte:08b}" for byte in raw[16:])
        return self._whole(
            f"<h2>This leaves</h2><table>{rows}</table>"
            f"<p>The report bit by bit, in whole bytes: <code>{bits}</code></p>"
            f"<p>As numbers: <code>{html.escape(str(list(report.numbers)))}</code></p>"
            + self._bound()
            + '<p><a href="/">Answer as somebody else</a>. At home nobody answers twice: the client sends '
            "the same report again.</p>" + self._found()
        )

    def refused(self, why: str) -> str:
        """A sentence instead of an answer."""
        return self._whole(f'<p class="box">{html.escape(why)}</p><p><a href="/">Back</a></p>')

    def _bound(self) -> str:
        epsilon = float(self.survey.epsilon)
        rows = "".join(
            f"<tr><td>{before:.0%}</td><td>{low:.1%}</td><td>{high:.1%}</td></tr>"
            for before in (0.01, 0.1, 0.5, 0.9)
            for low, high in [believed(before, epsilon)]
        )
        return (
            f"<h2>What it can tell</h2><p>Epsilon is {epsilon:g}. How sure somebody may be of your answer before "
            "the report, and after it, whatever the report is:</p><table><tr><th>before</th><th>after: at least</th>"
            f"<th>after: at most</th></tr>{rows}</table>"
        )

    def _found(self) -> str:
        with self._turn:
            reports = list(self.reports)
        if not reports:
            return ""
        read = self.survey._read(reports)
        content = self.survey._content(read, 0.95, False)
        names = "".join(f"<th>{html.escape(each.name)}</th>" for each in content.columns)
        cells = [
            [_cell(each.values[row], each.low, each.high, row) for each in content.columns]
            for row in range(len(content.columns[0].values))
        ]
        rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in cells)
        forged = ""
        if self.survey.law["kind"] != "moments":
            forged = f" A single made-up one can move an estimate by {self.survey.influence(1, len(reports)):.3g}."
        return (
            f"<h2>What the collector knows</h2><p>{len(reports)} reports so far.{forged}</p>"
            f"<table><tr>{names}</tr>{rows}</table>"
        )

    def _whole(self, body: str) -> str:
        name = html.escape(self.survey.description["name"] or "A survey nobody has to trust")
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            f"<title>{name}</title><style>{_STYLE}</style></head><body><main><h1>{name}</h1>{body}</main></body></html>"
        )


def _words(answer: Any) -> str:
    return html.escape(" / ".join(map(str, answer)) if isinstance(answer, list) else str(answer))


def _cell(value: Any, low: Any, high: Any, row: int) -> str:
    if not isinstance(value, float):
        return html.escape(str(value))
    ends = "" if low is None or high is None else f" <small>({low[row]:.3g} to {high[row]:.3g})</small>"
    return f"{value:.3g}{ends}"


class _Handler(BaseHTTPRequestHandler):
    """Two requests: the page, and an answer."""

    page: Page
    server_version = "tacit"
    sys_version = ""

    def do_GET(self) -> None:
        """The question."""
        if not self._is_here():
            return
        if self.path == "/":
            self._send(200, self.page.asked())
        else:
            self._send(404, self.page.refused("There is one page, and this is not it."))

    def do_POST(self) -> None:
        """An answer."""
        if not self._is_here():
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MOST_BYTES:
            self._send(400, self.page.refused("That is too long for an answer."))
            return
        found = parse_qs(self.rfile.read(int(length)).decode("utf-8", "replace")).get("answer", [""])
        try:
            self._send(200, self.page.answered(found[0]))
        except Refused as refusal:
            self._send(400, self.page.refused(str(refusal)))

    def _is_here(self) -> bool:
        """Whether the request names this machine: a page from elsewhere, or a borrowed name, does not."""
        port = self.connection.getsockname()[1]
        here = {f"127.0.0.1:{port}", f"localhost:{port}"}
        origin = self.headers.get("Origin")
        if self.headers.get("Host") in here and (origin is None or origin.removeprefix("http://") in here):
            return True
        self._send(403, self.page.refused("This page answers to 127.0.0.1 alone."))
        return False

    def _send(self, code: int, text: str) -> None:
        raw = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'")
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing about who answered when."""


class Serving:
    """A page that is being served."""

    def __init__(self, page: Page, port: int) -> None:
        handler = type("Handler", (_Handler,), {"page": page})
        self.page = page
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def wait(self) -> None:
        """Serve until the program is interrupted."""
        self._thread.join()


@contextlib.contextmanager
def serving(survey: Survey, port: int = 0) -> Iterator[Serving]:
    """Serve the page of a survey on this machine; port 0 takes any that is free."""
    served = Serving(Page(survey), port)
    served._thread.start()
    try:
        yield served
    finally:
        served._server.shutdown()
        served._server.server_close()
