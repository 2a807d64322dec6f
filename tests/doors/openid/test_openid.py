"""Logging in with an account of a provider, against one that runs on this machine and can be told to lie."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tacit.doors.console import sessions
from tacit.doors.console.openid_pages import OpenId
from tacit.doors.http.problems import Problem
from tacit.doors.openid import provider as our_side
from tacit.doors.openid import round_trip
from tacit.doors.openid.provider import Provider
from tacit.doors.openid.settings import People
from tacit.errors import PolicyError
from tests.doors.http.serving import COUNT, Served, Visitor, served_at
from tests.doors.openid.provider_here import CLIENT, OTHER_KEY, SECRET, Here, by_secret, provider, signed


@dataclass
class Way:
    """A served clinic whose people come from a provider."""

    served: Served
    here: Here
    openid: OpenId
    file: Path
    text: str = ""


def settings(folder: Path, here: Here, more: str = "", people: str = "") -> Path:
    file, secret = folder / "openid.toml", folder / "openid.secret"
    secret.write_text(SECRET + "\n")
    secret.chmod(0o600)
    listed = people or (
        '"person-1" = { name = "ana", role = "analyst" }\n"boss" = { name = "owner", role = "owner" }\n'
        '"looks" = { name = "rea", role = "reader" }\n"ana@x.example" = { name = "bob", role = "analyst" }\n'
    )
    file.write_text(
        f'issuer = "{here.address}"\nclient_id = "{CLIENT}"\nsecret_file = "openid.secret"\n'
        f'address = "https://testserver"\nlabel = "the hospital"\n{more}\n[people.clinic]\n{listed}'
    )
    file.chmod(0o644)
    return file


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    folder = tmp_path_factory.mktemp("openid")
    with pytest.MonkeyPatch.context() as patch, provider() as here:
        patch.setenv("TACIT_STATE", str(folder / "state"))
        file = settings(folder, here)
        people = People(file)
        openid = OpenId(people, Provider(people.settings, "https://elsewhere"))
        for served in served_at(folder, openid=openid):
            people.check(served.server.datasets)
            yield Way(served, here, openid, file, file.read_text())
        openid.provider.close()


@pytest.fixture
def way(opened: Way) -> Iterator[Way]:
    """The same, honest again and nothing remembered of the provider."""
    fresh = Here(opened.here.address)
    for name in ("person", "description", "token", "claims", "reply", "back", "kid"):
        setattr(opened.here, name, getattr(fresh, name))
    opened.file.write_text(opened.text)
    opened.openid.provider._said = opened.openid.provider._keys = None
    yield opened
    opened.file.write_text(opened.text)


@dataclass
class Traveller(Visitor):
    """A browser that goes to the provider and comes back."""

    said: dict[str, str] = field(default_factory=dict)

    def out(self) -> str:
        """To the provider; the address that it sends the browser back to, on our host."""
        reply = self.send("GET", "/login/openid?dataset=clinic")
        assert reply.status_code == 303, reply.text
        self.said = {name: each[0] for name, each in parse_qs(urlsplit(reply.headers["location"]).query).items()}
        location = httpx.get(reply.headers["location"], trust_env=False).headers["location"]
        assert location.startswith("https://testserver/login/back?")
        return location.removeprefix("https://testserver")

    def log_in_there(self) -> Any:
        """There and back."""
        return self.send("GET", self.out())


def test_somebody_whom_the_owner_knows_is_logged_in_and_pays_under_their_name(way: Way) -> None:
    visitor = Traveller(way.served)
    assert "Log in with the hospital" in visitor.send("GET", "/login").text
    reply = visitor.log_in_there()
    assert reply.status_code == 200
    assert 'content="0; url=/"' in reply.text
    cookies = reply.headers.get_list("set-cookie")
    (cookie,) = (each for each in cookies if each.startswith("__Host-tacit="))
    assert {"HttpOnly", "Secure", "SameSite=strict"} <= {each.strip() for each in cookie.split(";")}
    assert any(each.startswith('__Host-tacit_openid=""') for each in cookies)  # used up
    assert "Log out ana" in visitor.send("GET", "/").text
    visitor.send("POST", "/ask", sql=f"{COUNT} WHERE charge < 17", epsilon="0.01")
    entries = way.served.get("/v1/ledger", "owner").json()["entries"]
    assert [each["analyst"] for each in entries if each["kind"] == "charged"][-1] == "ana"
    assert visitor.send("GET", "/people").status_code == 403
    assert way.here.asked[-3:] == ["/authorize", "/token", "/keys"]


def test_the_way_out_carries_what_binds_the_way_back(way: Way) -> None:
    one, other = Traveller(way.served), Traveller(way.served)
    one.out(), other.out()
    for name in ("state", "nonce", "code_challenge"):
        assert len(one.said[name]) == 43
        assert one.said[name] != other.said[name]
    assert one.said["redirect_uri"] == "https://testserver/login/back"
    assert one.said["scope"] == "openid"
    assert len({one.said[name] for name in ("state", "nonce", "code_challenge")}) == 3
    assert one.said["nonce"] not in one.cookies["__Host-tacit_openid"]


def test_roles_come_from_the_owners_file_alone(way: Way) -> None:
    way.here.person = {"sub": "boss", "role": "analyst", "name": "ana"}
    visitor = Traveller(way.served)
    visitor.log_in_there()
    assert visitor.send("GET", "/people").status_code == 200
    way.here.person = {"sub": "looks", "role": "owner", "groups": ["owner"], "name": "owner"}
    reader = Traveller(way.served)
    assert 'url=/published"' in reader.log_in_there().text
    assert reader.send("GET", "/people").status_code == 403
    assert reader.send("GET", "/").status_code == 403


@pytest.mark.parametrize("person", ["nobody", "owner", "ana", "PERSON-1", "person-1 ", "<b>x</b>", "\u0440erson-1"])
def test_whom_the_owner_does_not_list_is_refused(way: Way, person: str) -> None:
    way.here.person = {"sub": person}
    visitor = Traveller(way.served)
    reply = visitor.log_in_there()
    assert reply.status_code == 403
    assert "not among the people" in reply.text
    assert "<b>x" not in reply.text
    assert "__Host-tacit" not in visitor.cookies or visitor.send("GET", "/").status_code == 303


def changed(**more: Any) -> Any:
    """Claims that differ in this; None takes one out."""
    return lambda claims: {k: v for k, v in {**claims, **more}.items() if v is not None}


LIES: dict[str, dict[str, Any]] = {
    "another issuer": {"claims": changed(iss="https://evil.example")},
    "an issuer nearly the same": {"claims": lambda claims: {**claims, "iss": claims["iss"] + "/"}},
    "no issuer": {"claims": changed(iss=None)},
    "another audience": {"claims": changed(aud="other")},
    "several audiences": {"claims": changed(aud=[CLIENT, "other"], azp=CLIENT)},
    "for somebody else": {"claims": changed(azp="other")},
    "no audience": {"claims": changed(aud=None)},
    "another nonce": {"claims": changed(nonce="x" * 43)},
    "no nonce": {"claims": changed(nonce=None)},
    "a nonce of another kind": {"claims": changed(nonce=7)},
    "over": {"claims": lambda claims: {**claims, "exp": int(time.time()) - 61}},
    "without an end": {"claims": changed(exp=None)},
    "an end of another kind": {"claims": changed(exp="tomorrow")},
    "an end that is no number": {"claims": changed(exp=True)},
    "not yet": {"claims": lambda claims: {**claims, "nbf": int(time.time()) + 600}},
    "made in the future": {"claims": lambda claims: {**claims, "iat": int(time.time()) + 600}},
    "old": {"claims": lambda claims: {**claims, "iat": int(time.time()) - 700}},
    "no date": {"claims": changed(iat=None)},
    "nobody": {"claims": changed(sub=None)},
    "a person of another kind": {"claims": changed(sub=["person-1"])},
    "an empty person": {"claims": changed(sub="")},
    "another access token": {"claims": changed(at_hash="x")},
    "another key": {"token": lambda header, claims: signed(header, claims, OTHER_KEY)},
    "no signature": {
        "token": lambda header, claims: signed({**header, "alg": "none"}, claims).rpartition(".")[0] + "."
    },
    "none, signed": {"token": lambda header, claims: signed({**header, "alg": "none"}, claims)},
    "by the client's secret": {
        "token": lambda header, claims: by_secret({**header, "alg": "HS256"}, claims, SECRET.encode())
    },
    "by another algorithm than said": {"token": lambda header, claims: signed({**header, "alg": "PS256"}, claims)},
    "an unknown key's number": {"token": lambda header, claims: signed({**header, "kid": "two"}, claims)},
    "its own key": {
        "token": lambda header, claims: signed({**header, "jku": "http://127.0.0.1:1/"}, claims, OTHER_KEY)
    },
    "not a token": {"token": lambda header, claims: "x.y.z"},
    "no token": {"reply": lambda reply: {"access_token": reply["access_token"]}},
    "a token of another kind": {"reply": lambda reply: {**reply, "id_token": 7}},
    "another issuer on the way back": {"back": {"iss": "https://evil.example"}},
    "no issuer on the way back": {
        "description": lambda said: {**said, "authorization_response_iss_parameter_supported": True}
    },
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_lets_nobody_in(way: Way, lie: str) -> None:
    for name, value in LIES[lie].items():
        setattr(way.here, name, value)
    visitor = Traveller(way.served)
    reply = visitor.log_in_there()
    assert reply.status_code == 403, reply.text
    assert "does not hold" in reply.text
    assert "__Host-tacit" not in visitor.cookies


def test_an_issuer_that_names_itself_on_the_way_back_is_taken(way: Way) -> None:
    way.here.back = {"iss": way.here.address}
    way.here.description = LIES["no issuer on the way back"]["description"]
    assert Traveller(way.served).log_in_there().status_code == 200


DESCRIPTIONS: dict[str, Any] = {
    "another issuer": lambda said: {**said, "issuer": "https://evil.example"},
    "no keys": lambda said: {**said, "jwks_uri": None},
    "a file": lambda said: {**said, "jwks_uri": "file:///etc/passwd"},
    "in the clear": lambda said: {**said, "authorization_endpoint": "http://evil.example/authorize"},
    "somebody's name": lambda said: {**said, "token_endpoint": "https://a:b@evil.example/token"},
    "no PKCE": lambda said: {**said, "code_challenge_methods_supported": ["plain"]},
    "no object": lambda said: [said],
    "no JSON": lambda said: b"<html>",
    "too long": lambda said: b"[" + b" " * 300_000 + b"]",
    "too deep": lambda said: b"[" * 200_000,
}


@pytest.mark.parametrize("lie", DESCRIPTIONS)
def test_a_description_that_cannot_be_used_sends_nobody_anywhere(way: Way, lie: str) -> None:
    way.here.description = DESCRIPTIONS[lie]
    reply = Visitor(way.served).send("GET", "/login/openid?dataset=clinic")
    assert reply.status_code == 502
    assert "cannot be reached" in reply.text
    assert "location" not in reply.headers


def test_a_code_is_good_in_the_browser_that_began_once_and_for_a_while(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, thief = Traveller(way.served), Traveller(way.served)
    address = visitor.out()
    kept = dict(visitor.cookies)
    assert thief.send("GET", address).status_code == 403  # no cookie
    thief.out()
    assert thief.send("GET", address).status_code == 403  # a cookie of its own, and another's state
    state, code = ({"state": visitor.said["state"]}, parse_qs(urlsplit(address).query)["code"][0])
    for wrong in ("", "x", "é", state["state"][:-1], state["state"] + "A"):
        assert visitor.send("GET", f"/login/back?code={code}&state={wrong}").status_code == 403
    for cookie in ("", ".", "a.b.c", kept["__Host-tacit_openid"] + "A", "x" * 3_000):
        visitor.cookies = {"__Host-tacit_openid": cookie}
        assert visitor.send("GET", address).status_code == 403
    visitor.cookies = dict(kept)
    assert visitor.send("GET", address).status_code == 200
    again = Traveller(way.served)
    again.cookies = dict(kept)
    assert again.send("GET", address).status_code == 403  # used
    slow = Traveller(way.served)
    address = slow.out()
    real = time.time()
    monkeypatch.setattr(round_trip.time, "time", lambda: real + round_trip.LONGEST + 2)
    assert slow.send("GET", address).status_code == 403


def test_anothers_code_put_into_ones_own_way_back_is_worth_nothing(way: Way) -> None:
    victim, attacker = Traveller(way.served), Traveller(way.served)
    code = parse_qs(urlsplit(victim.out()).query)["code"][0]
    attacker.out()
    reply = attacker.send("GET", f"/login/back?code={code}&state={attacker.said['state']}")
    assert reply.status_code == 403  # the provider wants the verifier of the browser that began
    assert "__Host-tacit" not in attacker.cookies


def test_what_is_said_twice_or_declined_lets_nobody_in(way: Way) -> None:
    visitor = Traveller(way.served)
    address = visitor.out()
    assert visitor.send("GET", address + "&code=x").status_code == 400
    assert visitor.send("GET", f"/login/back?error=access_denied&state={visitor.said['state']}").status_code == 403
    assert visitor.send("GET", address).status_code == 403  # that was this log-in's one way back
    assert visitor.send("GET", "/login/openid?dataset=elsewhere").status_code == 404
    assert visitor.send("GET", "/login/openid").status_code == 404


def test_whoever_is_taken_out_of_the_file_is_out_at_the_next_request(way: Way) -> None:
    visitor = Traveller(way.served)
    visitor.log_in_there()
    assert visitor.send("GET", "/").status_code == 200
    way.file.write_text(way.text.replace('"person-1"', '"person-2"'))
    assert visitor.send("GET", "/").status_code == 303
    way.file.write_text(way.text)
    assert visitor.send("GET", "/").status_code == 200
    way.file.write_text("not TOML")
    assert visitor.send("GET", "/").status_code == 303
    way.file.unlink()
    assert visitor.send("GET", "/").status_code == 303


def test_a_session_begins_anew_and_no_cookie_that_was_there_before_becomes_one(way: Way) -> None:
    visitor = Traveller(way.served)
    visitor.cookies["__Host-tacit"] = "known-to-somebody"
    visitor.log_in_there()
    first = visitor.cookies["__Host-tacit"]
    assert first != "known-to-somebody"
    visitor.log_in_there()
    assert visitor.cookies["__Host-tacit"] != first
    old = Traveller(way.served)
    old.cookies["__Host-tacit"] = first
    assert old.send("GET", "/").status_code == 303


def test_new_keys_of_a_provider_are_fetched_and_not_more_often_than_twice_a_minute(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    Traveller(way.served).log_in_there()
    way.here.kid = "two"
    assert Traveller(way.served).log_in_there().status_code == 403  # fetched a moment ago
    monkeypatch.setattr(our_side, "_KEYS_AGAIN", 1e-9)
    assert Traveller(way.served).log_in_there().status_code == 200


def test_an_address_counts_only_when_the_provider_has_verified_it(way: Way, tmp_path: Path) -> None:
    people = People(settings(tmp_path, way.here, 'claim = "email"'))
    ours = Provider(people.settings, "https://elsewhere")
    trips = round_trip.Trips()
    for verified, fine in ((True, True), (False, False), ("true", False), (None, False), (1, False)):
        way.here.person = {"sub": "person-1", "email": "ana@x.example", "email_verified": verified}
        trip = trips.begin("clinic")
        address = ours.address(trip)
        assert parse_qs(urlsplit(address).query)["scope"] == ["openid email"]
        location = httpx.get(address, trust_env=False).headers["location"]
        code = parse_qs(urlsplit(location).query)["code"][0]
        if fine:
            person = ours.person(trip, code, None)
            found = people.token("clinic", person)
            assert found is not None
            assert (person, found.name) == ("ana@x.example", "bob")
        else:
            with pytest.raises(Problem, match="not verified your address"):
                ours.person(trip, code, None)
    ours.close()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('issuer = "http://login.example"', "must begin with https://"),
        ('issuer = "https://a:b@login.example"', "must begin with https://"),
        ('claim = "name"', "one that a provider vouches for"),
        ('adress = "https://x"', "Did you mean 'address'"),
        ('address = "http://clinic.example"', "must begin with https://"),
        ("client_id = 7", "a text is wanted"),
        ('people = { clinic = { x = { name = "owner", role = "analyst" } } }', "is for the owner"),
        ('people = { clinic = { x = { name = "ana", role = "owner" } } }', "is for the owner"),
        ('people = { clinic = { x = { name = "ana", role = "king" } } }', "one of owner, analyst"),
        ('people = { clinic = { x = "ana" } }', "is wanted"),
        ("people = {}", "nobody is listed"),
        ('people = { nowhere = { x = { name = "ana", role = "analyst" } } }', "no such dataset"),
        ('people = { clinic = { x = { name = "zoe", role = "analyst" } } }', "[analysts.zoe]"),
        ('secret_file = "nowhere"', "cannot be read"),
    ],
)
def test_settings_that_would_let_in_the_wrong_people_are_refused(
    way: Way, tmp_path: Path, text: str, sentence: str
) -> None:
    said = {"issuer": '"https://login.example"', "client_id": '"x"'}
    said["people"] = '{ clinic = { x = { name = "ana", role = "analyst" } } }'
    key, _, value = text.partition(" = ")
    said[key] = value
    file = tmp_path / "openid.toml"
    file.write_text("".join(f"{name} = {each}\n" for name, each in said.items()))
    file.chmod(0o644)
    with pytest.raises(PolicyError, match=re.escape(sentence)):
        People(file).check(way.served.server.datasets)


def test_files_that_others_could_change_or_read_are_refused(way: Way, tmp_path: Path) -> None:
    file = settings(tmp_path, way.here)
    file.chmod(0o666)
    with pytest.raises(PolicyError, match="can be changed by others"):
        People(file)
    file.chmod(0o644)
    (tmp_path / "openid.secret").chmod(0o644)
    with pytest.raises(PolicyError, match="may be read by others"):
        People(file)


def test_a_session_from_a_provider_ends_as_every_session_does(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = Traveller(way.served)
    visitor.log_in_there()
    begun = sessions.time.monotonic()
    monkeypatch.setattr(sessions.time, "monotonic", lambda: begun + sessions.IDLE + 5)
    assert visitor.send("GET", "/").status_code == 303


def test_without_settings_there_is_no_such_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    for served in served_at(tmp_path):
        visitor = Visitor(served)
        assert "Log in with" not in visitor.send("GET", "/login").text
        for path in ("/login/openid?dataset=clinic", "/login/back?code=x&state=y"):
            assert visitor.send("GET", path).status_code == 404
