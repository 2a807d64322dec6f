"""The console: log in, estimate, ask, see, download; and what somebody with bad intentions tries there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.doors.console.sessions import IDLE, LONGEST, Sessions
from tacit.doors.http.roles import Role
from tacit.doors.http.tokens import TokenFile
from tests.doors.http.serving import COUNT, Served, Visitor, served_at
from tests.walks import ONCE, counted

BY_SEX = "SELECT sex, count(*) AS n FROM patients GROUP BY sex"


@pytest.fixture
def ana(served: Served) -> Visitor:
    visitor = Visitor(served)
    visitor.log_in("ana")
    return visitor


def charges(served: Served) -> int:
    entries = served.get("/v1/ledger", "owner").json()["entries"]
    return sum(each["kind"] == "charged" for each in entries)


def test_a_question_is_estimated_then_asked_then_seen_then_downloaded(served: Served, ana: Visitor) -> None:
    before = charges(served)
    assert "nothing is spent" in ana.send("GET", "/").text or "so far" in ana.send("GET", "/").text
    estimated = ana.send("POST", "/ask/estimate", sql=BY_SEX, epsilon="0.05").text
    assert "Would cost epsilon 0.05" in estimated
    assert "Ask this, for epsilon 0.05" in estimated
    assert charges(served) == before
    answered = ana.send("POST", "/ask", sql=BY_SEX, epsilon="0.05").text
    assert "Charged: epsilon" in answered
    assert '<i class="bar" data-s=' in answered
    assert charges(served) == before + 1
    assert "The stored answer: nothing was charged." in ana.send("POST", "/ask", sql=BY_SEX, epsilon="0.05").text
    assert charges(served) == before + 1
    entry = re.search(r'href="/answers/(\d+)/csv"', answered)
    assert entry is not None
    file = ana.send("GET", f"/answers/{entry[1]}/csv")
    assert file.headers["content-disposition"] == f'attachment; filename="answer-{entry[1]}.csv"'
    assert file.text.startswith("sex,")
    listed = ana.send("GET", "/ledger").text
    assert f'href="/answers/{entry[1]}"' in listed
    assert "nothing was charged" in ana.send("GET", f"/answers/{entry[1]}").text
    assert ana.send("POST", "/ask/preview", sql=BY_SEX, epsilon="0.1").text.lstrip().startswith("<h2")


def test_a_page_reads_its_question_once_and_plans_it_once_at_each_price(
    ana: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = counted(monkeypatch)
    ana.send("POST", "/ask", sql=BY_SEX, epsilon="0.06")
    assert counts == ONCE
    counts.clear()
    ana.send("POST", "/ask/preview", sql=BY_SEX, epsilon="0.07")
    assert counts == {"read": 1, "prepared": 1, "finished": 2}  # the usual price is drawn beside this one


def test_several_answers_put_together_are_not_offered_as_the_file_of_one_entry(ana: Visitor) -> None:
    both = "SELECT count(*) AS n FROM patients UNION ALL SELECT count(*) FROM visits"
    assert "Download:" in ana.send("POST", "/ask", sql=COUNT, epsilon="0.05").text
    assert "Download:" not in ana.send("POST", "/ask", sql=both, epsilon="0.05").text


def test_a_refusal_stands_on_the_page_in_its_own_words(served: Served, ana: Visitor) -> None:
    before = charges(served)
    for path in ("/ask/estimate", "/ask"):
        shown = ana.send("POST", path, sql="SELECT * FROM patients", epsilon="0.05").text
        assert 'role="alert"' in shown
        assert "SELECT * FROM patients" in shown  # what was written is still there
    assert "largest" in ana.send("POST", "/ask", sql=COUNT, epsilon="7").text
    assert charges(served) == before


def test_cookies_are_out_of_reach_of_scripts_and_of_other_sites(served: Served) -> None:
    visitor = Visitor(served)
    for reply, name in ((visitor.send("GET", "/login"), "__Host-tacit_form"), (visitor.log_in("ana"), "__Host-tacit")):
        said = reply.headers["set-cookie"]
        assert said.startswith(f"{name}=")
        for flag in ("HttpOnly", "SameSite=strict", "Secure", "Path=/"):
            assert flag in said
        assert "Domain" not in said


def test_every_log_in_has_a_number_of_its_own_and_ends_the_one_before(served: Served) -> None:
    visitor = Visitor(served)
    visitor.cookies["__Host-tacit"] = "chosen-by-somebody-else"
    visitor.log_in("ana")
    first = visitor.cookies["__Host-tacit"]
    assert first != "chosen-by-somebody-else"
    visitor.log_in("bob")
    assert visitor.cookies["__Host-tacit"] != first
    thief = Visitor(served, {"__Host-tacit": first})
    assert thief.send("GET", "/").status_code == 303
    assert Visitor(served, {"__Host-tacit": "chosen-by-somebody-else"}).send("GET", "/").status_code == 303


def test_a_log_out_a_revoked_token_and_time_end_a_session(
    served: Served, ana: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = dict(ana.cookies)
    assert ana.send("POST", "/logout", word="wrong").status_code == 403
    assert ana.send("GET", "/").status_code == 200
    assert ana.send("POST", "/logout").headers["location"] == "/login"
    assert Visitor(served, kept).send("GET", "/").status_code == 303

    file = TokenFile(served.policy)
    token, text = file.add("ana", Role.ANALYST, 1)
    served.tokens["short"] = text
    visitor = Visitor(served)
    visitor.log_in("short")
    file.revoke(token.id)
    assert visitor.send("GET", "/ask").status_code == 303

    sessions = Sessions()
    number = sessions.begin("clinic", "x")
    found = sessions.find(number)
    assert found is not None
    found.seen -= IDLE + 1
    assert sessions.find(number) is None
    number = sessions.begin("clinic", "x")
    found = sessions.find(number)
    assert found is not None
    found.begun -= LONGEST + 1
    assert sessions.find(number) is None


def test_a_log_in_that_another_site_sends_is_refused(served: Served) -> None:
    visitor = Visitor(served)
    visitor.send("GET", "/login")
    for change in ({"word": "x"}, {"headers": {"Sec-Fetch-Site": "cross-site"}}):
        assert visitor.send("POST", "/login", token=served.tokens["ana"], **change).status_code == 403  # type: ignore[arg-type]
    assert Visitor(served).send("POST", "/login", token=served.tokens["ana"]).status_code == 403  # no cookie at all


def test_wrong_tokens_are_slowed_down_at_the_log_in_too(served: Served) -> None:
    visitor = Visitor(served)
    visitor.send("GET", "/login")
    identity = TokenFile(served.policy).add("ana", Role.ANALYST, 1)[0].id
    seen = [visitor.send("POST", "/login", token=f"tacit-{identity}-no").status_code for _ in range(11)]
    assert seen == [401] * 10 + [429]
    assert visitor.send("POST", "/login", token="").status_code == 401


@pytest.mark.parametrize(
    "path", ["/static/..%2f..%2fpages.py", "/static/%2e%2e/pages.py", "/static/pages.py", "/static//etc/passwd"]
)
def test_only_three_files_are_given_out(served: Served, path: str) -> None:
    assert served.client.get(path).status_code == 404
    for name in ("console.css", "console.js", "icon.svg"):
        assert served.client.get(f"/static/{name}").status_code == 200


@pytest.mark.parametrize("entry", ["1", "999", "x", "-1", "%0d%0aSet-Cookie:x", "1%2f..%2f2"])
def test_what_is_no_answer_of_one_s_own_is_refused(ana: Visitor, entry: str) -> None:
    for path in (f"/answers/{entry}", f"/answers/{entry}/csv"):
        reply = ana.send("GET", path)
        assert reply.status_code in (400, 404)
        assert "set-cookie" not in reply.headers


def test_forms_that_are_none_are_refused(served: Served, ana: Visitor) -> None:
    cookie = {"Cookie": f"__Host-tacit={ana.cookies['__Host-tacit']}"}
    form = {**cookie, "Content-Type": "application/x-www-form-urlencoded"}
    send = served.client.post
    assert send("/ask", content=b"x" * 300_000, headers=form).status_code == 413
    assert send("/ask", content=b"&".join(b"a%d=1" % n for n in range(99)), headers=form).status_code == 400
    assert send("/ask", content=b"sql=a&sql=b&word=" + ana.word.encode(), headers=form).status_code == 400
    assert send("/ask", content=b"\xff=%ff", headers=form).status_code == 400
    assert send("/ask", content=b"{}", headers={**cookie, "Content-Type": "application/json"}).status_code == 415


def test_pages_are_small_name_no_other_host_and_have_a_strict_policy(served: Served, ana: Visitor) -> None:
    sizes = 0
    for path in ("/login", "/", "/ask", "/ledger", "/static/console.css", "/static/console.js", "/static/icon.svg"):
        reply = ana.send("GET", path)
        sizes += len(reply.content)
        text = reply.text.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|//[a-z]+\.", text), path
        assert not re.search(r"\son\w+=|javascript:|<style>|\sstyle=", text), path
        if not path.startswith("/static"):
            policy = reply.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; style-src 'self' 'nonce-")
            assert "unsafe" not in policy
            assert '<html lang="en">' in text
            assert "width=device-width" in text
    assert sizes < 60_000


# -- text that would be markup -----------------------------------------------------------------------------

EVIL = "<script>alert(1)</script>"
POLICY = f"""
name = "{EVIL}"
ledger = "x.ledger"
[budget]
epsilon = 3
[tables."{EVIL}"]
source = "evil.csv"
unit = "row"
[tables."{EVIL}".columns]
"<img src=x onerror=alert(2)>" = {{ type = "text", one_of = ["</td><script>alert(3)</script>", "' onload='x"] }}
"""


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    rows = "".join('"</td><script>alert(3)</script>"\n' for _ in range(20))
    (tmp_path / "evil.csv").write_text(f"<img src=x onerror=alert(2)>\n{rows}")

    yield from served_at(tmp_path, policy_text=POLICY)


def test_names_values_questions_and_people_never_become_markup(evil: Served) -> None:
    visitor = Visitor(evil)
    visitor.log_in("ana")
    column = '"<img src=x onerror=alert(2)>"'
    sql = f'SELECT {column}, count(*) AS "<b onclick=x>" FROM "{EVIL}" GROUP BY {column}'
    pages = [
        visitor.send("GET", "/"),
        visitor.send("GET", "/ask"),
        visitor.send("POST", "/ask/estimate", sql=sql, epsilon="0.5"),
        visitor.send("POST", "/ask/preview", sql=sql, epsilon="0.5"),
        visitor.send("POST", "/ask", sql=sql, epsilon="0.5"),
        visitor.send("POST", "/ask", sql=f"{EVIL}", epsilon=f"{EVIL}"),
        visitor.send("POST", "/ask", sql=f'SELECT "{EVIL}" FROM "{EVIL}"', epsilon="0.5"),
        visitor.send("GET", "/ledger"),
        visitor.send("GET", "/ledger?who=%3Cscript%3E"),
        visitor.send("GET", "/answers/%3Cscript%3E"),
        visitor.send("GET", "/%3Cscript%3Ealert(1)"),
    ]
    assert [page.status_code for page in pages[:9]] == [200] * 9
    assert "Answer" in pages[4].text
    for page in pages:
        if "html" in page.headers["content-type"]:
            assert not re.search(r"<script(?! src=\"/static/console\.js\" defer>)|<img|<b onclick|onload='x", page.text)
    assert "&lt;script&gt;" in pages[4].text


def test_nor_do_they_on_the_pages_of_studies_watches_publications_and_the_owner(evil: Served) -> None:
    visitor = Visitor(evil)
    visitor.log_in("owner")
    column = '"<img src=x onerror=alert(2)>"'
    rows = f'SELECT {column} FROM "{EVIL}"'
    begun = visitor.send("POST", "/studies/histogram", sql=rows, o_epsilon="0.5")
    while 'data-state="done"' not in (job := visitor.send("GET", begun.headers["location"])).text:
        assert job.status_code == 200
    said = {"statistics": f'{EVIL}: SELECT count(*) AS "<b onclick=x>" FROM "{EVIL}"', "epsilon": "0.5"}
    pages = [
        job,
        visitor.send("GET", "/studies/GaussianNB"),
        visitor.send("POST", "/studies/histogram/estimate", sql=rows, o_epsilon=EVIL, target=EVIL, rows_per_unit=EVIL),
        visitor.send("POST", "/studies/histogram/estimate", sql=EVIL, o_epsilon="0.5"),
        visitor.send("GET", "/studies/%3Cscript%3E"),
        visitor.send("GET", "/jobs"),
        visitor.send("GET", "/jobs/%3Cscript%3E"),
        visitor.send("POST", "/watch", sql=EVIL, every=EVIL, epsilon=EVIL),
        visitor.send("POST", "/publish", page=EVIL, title=EVIL, **said),
        visitor.send("GET", "/policy"),
        visitor.send("POST", "/policy", text=EVIL),
        visitor.send("POST", "/people/add", name=EVIL, role="auditor", days="1"),
        visitor.send("GET", "/people"),
        visitor.send("POST", "/people/revoke", id=EVIL),
    ]
    assert visitor.send("POST", "/publish", page="p", title=EVIL, **said).status_code == 303
    pages.append(visitor.send("GET", "/published/p/index.html"))
    for number, page in enumerate(pages):
        assert page.status_code in (200, 400, 404)
        for bad in ("<script>alert", "<img src=x", "<b onclick", "</td><script"):
            assert bad not in page.text, (number, bad)
