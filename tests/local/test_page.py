"""The page: what is shown is what leaves, the bound is Bayes' rule, and only this machine is answered."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

import tacit
from tacit import local
from tacit.local.checks import Refused
from tacit.local.page import Page, Serving, believed, serving
from tests.local.laws_by_enumeration import law_of

SURVEY = local.Survey(tacit.one_of("never", "<b>often</b>"), epsilon=1, name="Cheating & <i>lies</i>")


@pytest.fixture
def served() -> Iterator[Serving]:
    with serving(SURVEY) as found:
        yield found


def _ask(served: Serving, method: str = "GET", body: str = "", path: str = "/", **headers: str) -> tuple[int, str]:
    host = served.url.removeprefix("http://").rstrip("/")
    connection = http.client.HTTPConnection(host, timeout=10)
    connection.request(method, path, body or None, {"Host": host, **headers})
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    assert answer.getheader("Content-Security-Policy", "").startswith("default-src 'none'")
    connection.close()
    return found


def test_a_person_answers_and_sees_the_bytes_that_leave(served: Serving) -> None:
    code, page = _ask(served)
    assert code == 200
    assert "&lt;b&gt;often&lt;/b&gt;" in page
    assert "<script" not in page
    assert 'name="viewport"' in page
    assert "prefers-color-scheme:dark" in page
    code, page = _ask(served, "POST", urlencode({"answer": "1"}))
    assert code == 200
    (report,) = served.page.reports
    assert "".join(re.findall(r"<code>([0-9a-f]+)</code>", page)[:3]) == bytes(report).hex()
    assert " ".join(f"{byte:08b}" for byte in bytes(report)[16:]) in page
    assert json.dumps(list(report.numbers)) in page
    assert "73.1%" in page  # from one half, at epsilon 1
    assert SURVEY._read([bytes(report)]).refused == {}


def test_nobody_can_believe_more_than_is_stated() -> None:
    """Bayes' rule over every report of every answer of an enumerated law, and the bound is reached."""
    law = {"kind": "k-ary", "options": 3, "keep": 5, "other": 2}
    laws = [law_of(law, truth) for truth in range(3)]
    epsilon = 0.9162907318741551  # log(5/2)
    for before in (0.01, 0.3, 0.8):
        low, high = believed(before, epsilon)
        after = [
            before * laws[0][report] / (before * laws[0][report] + (1 - before) * laws[1][report]) for report in laws[0]
        ]
        assert min(after) == pytest.approx(low)
        assert max(after) == pytest.approx(high)
        mixed = [0.5 * laws[1][report] + 0.5 * laws[2][report] for report in laws[0]]
        for report, other in zip(laws[0], mixed, strict=True):
            found = before * laws[0][report] / (before * laws[0][report] + (1 - before) * float(other))
            assert low - 1e-12 <= found <= high + 1e-12


@pytest.mark.parametrize("answer", ["7", "-3", "x", "", "1" * 5_000])
def test_what_is_no_answer_is_refused_and_nothing_leaves(served: Serving, answer: str) -> None:
    code, _ = _ask(served, "POST", urlencode({"answer": answer}))
    assert code == 400
    assert served.page.reports == []


def test_pages_from_elsewhere_and_borrowed_names_are_refused(served: Serving) -> None:
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
        assert _ask(served, "POST", urlencode({"answer": "0"}), **headers)[0] == 403
    assert _ask(served, path="/etc/passwd")[0] == 404
    assert served.page.reports == []


def test_a_page_asks_for_a_number_too_and_long_lists_are_refused() -> None:
    for protocol in ("hybrid", "variance"):
        page = Page(local.Survey(tacit.between(0, 10), epsilon=1, protocol=protocol))
        assert "This leaves" in page.answered("3.5")
        assert "What the collector knows" in page.asked()
        for wrong in ("abc", "nan", "inf", "1e999999999"):
            with pytest.raises(Refused):
                page.answered(wrong)
    with pytest.raises(Refused, match="24 answers"):
        Page(local.Survey(tacit.one_of(*range(25)), epsilon=1))
