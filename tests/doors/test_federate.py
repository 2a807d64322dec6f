"""`tacit federate`: the routes of a coordinator and of helpers, members that come back, and settings that are wrong."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="an extra, which the tests' lock file holds")
pytest.importorskip("Crypto", reason="an extra, which the tests' lock file holds")

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from starlette.testclient import TestClient
from typer.testing import CliRunner

from tacit import Budget, federated
from tacit.doors.cli import app
from tacit.doors.federate.coordinating import Desk, coordinate
from tacit.doors.federate.demonstration import free_port
from tacit.doors.federate.helping import app_of, collect, hand_in
from tacit.doors.federate.settings import read_identity
from tacit.doors.federate.taking_part import Lost, Member, columns_of, web_to
from tacit.doors.http.serving import Place
from tacit.errors import ParameterError, TacitError
from tacit.federated.jobs.counts import Counts
from tacit.federated.prio.collection import Collection
from tacit.federated.refusals import Refused
from tacit.federated.running.coordinator import LAST_STEP, Coordinator
from tacit.federated.running.helper import Helper
from tacit.ledger import Ledger
from tests.federated.running.people import ledger_in, members, parties

KEY = bytes(range(32))
TOKEN = "a token of enough length"


@contextmanager
def ticking(coordinator: Coordinator) -> Iterator[None]:
    over = threading.Event()

    def tick() -> None:
        while not over.wait(0.02):
            coordinator.tick()

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_clients_and_a_coordinator_find_a_sum_over_http(tmp_path: Path) -> None:
    federation, server, keys = parties(Counts("drink", ("tea", "coffee")), 4, vanish=1)
    everybody = members(federation, keys, ["tea", "coffee", "tea", "tea"], tmp_path)
    results: list[Any] = []
    with ExitStack() as stack:
        ledger = stack.enter_context(ledger_in(tmp_path))
        coordinator = stack.enter_context(Coordinator(federation, server, tmp_path, ledger, wait=60, gather=60))
        door = Desk(coordinator).app(TOKEN, lambda _: None)
        with TestClient(door) as nobody:
            assert nobody.get("/v1/federation").status_code == 401
        stack.enter_context(ticking(coordinator))

        def take_part(place: int) -> None:
            with TestClient(door, headers={"Authorization": f"Bearer {TOKEN}"}) as web:
                results.append(Member(everybody[place], web, 5, lambda _: None).run())

        threads = [threading.Thread(target=take_part, args=(place,)) for place in range(3)]
        for each in threads:
            each.start()
        until = time.monotonic() + 60
        while coordinator.step == 1 and coordinator.waiting_for != 1 and time.monotonic() < until:
            time.sleep(0.01)
        coordinator._until = 0.0  # the fourth never comes, and the others need not wait for it
        for each in threads:
            each.join(60)
        assert coordinator.result is not None
        assert results == [coordinator.result] * 3
        assert coordinator.result["counts"]["tea"] == pytest.approx(2, abs=0.5)
        with TestClient(door, headers={"Authorization": f"Bearer {TOKEN}"}) as web:
            assert web.post("/v1/say", content=b"late").status_code == 409
            assert web.post("/v1/say", content=bytes(1 << 20)).status_code == 413
            assert web.get("/v1/call/77").status_code in (409, 410)
            assert web.get("/v1/call/0?after=x").status_code in (409, 410)
            assert web.get("/v1/hear/0/1/1").status_code == 409


def test_the_last_messages_are_said_again_if_a_killed_coordinator_lost_them(tmp_path: Path) -> None:
    """It is killed after two of four clients revealed their shares, which were in its memory alone."""
    federation, server, keys = parties(Counts("drink", ("tea", "coffee")), 4, vanish=1)
    everybody = members(federation, keys, ["tea", "coffee", "tea", "tea"], tmp_path)
    with ledger_in(tmp_path) as ledger:
        desk = Desk(Coordinator(federation, server, tmp_path, ledger, wait=60, gather=60))
        door, last, mutex = desk.app(None, lambda _: None), list[bytes](), threading.Lock()
        say = Coordinator.say

        def said(self: Coordinator, message: bytes) -> None:
            with mutex:
                at = desk.coordinator.step
                say(desk.coordinator, message)
                last.extend([message] if at == LAST_STEP else [])
                if len(last) == 2:
                    desk.coordinator.close()
                    desk.coordinator = Coordinator(federation, server, tmp_path, ledger, wait=60, gather=60)

        def take_part(place: int) -> None:
            with TestClient(door) as web:
                Member(everybody[place], web, 5, lambda _: None).run()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Coordinator, "say", said)
            threads = [threading.Thread(target=take_part, args=(place,)) for place in range(4)]
            for each in threads:
                each.start()
            for each in threads:
                each.join(50)
        found = desk.coordinator
        found.close()
        assert len(last) > 4  # two of them twice
        assert found.lost == []
        assert found.result is not None
        assert found.result["clients"] == 4


@contextmanager
def served(coordinator: Coordinator, place: Place) -> Iterator[None]:
    thread = threading.Thread(target=lambda: asyncio.run(coordinate(coordinator, place, TOKEN, lambda _: None)))
    thread.start()
    try:
        yield
    finally:
        thread.join(60)


def certified(folder: Path) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1 that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "made up")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (folder / "key.pem").write_bytes(text)
    (folder / "certificate.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return folder / "certificate.pem", folder / "key.pem"


def test_over_tls_a_coordinator_is_known_by_its_certificate_and_a_client_by_its_token(tmp_path: Path) -> None:
    federation, server, keys = parties(Counts("drink", ("tea", "coffee")), 3)
    everybody = members(federation, keys, ["tea", "coffee", "tea"], tmp_path)
    (certificate, key), port = certified(tmp_path), free_port()
    address = f"https://127.0.0.1:{port}"
    with ledger_in(tmp_path) as ledger, Coordinator(federation, server, tmp_path, ledger, wait=30) as coordinator:
        with served(coordinator, Place(port=port, certificate=certificate, key=key)):

            def asked(token: str, way: str, trusted: Path | None) -> Any:
                with web_to(way, token, trusted) as web:
                    return Member(everybody[0], web, 20 if trusted else 0, lambda _: None)._asked(
                        "GET", "/v1/federation"
                    )

            def take_part(each: Any) -> None:
                with web_to(address, TOKEN, certificate) as web:
                    Member(each, web, 20, lambda _: None).run()

            assert asked(TOKEN, address, certificate).status_code == 200
            with pytest.raises(Lost, match="reached"):
                asked(TOKEN, address, None)  # a certificate that nobody vouches for
            with pytest.raises(Lost, match="reached"):
                asked(TOKEN, address.replace("https", "http"), None)
            with pytest.raises(Lost, match="token"):
                asked("another token", address, certificate)
            threads = [threading.Thread(target=take_part, args=(each,)) for each in everybody]
            for each in threads:
                each.start()
            for each in threads:
                each.join(60)
        assert coordinator.result is not None
        assert coordinator.result["clients"] == 3


def test_a_member_of_another_federation_sends_nothing(tmp_path: Path) -> None:
    federation, server, _ = parties(Counts("drink", ("tea", "coffee")), 4)
    other, _, keys = parties(Counts("drink", ("tea", "milk")), 4)
    stranger = members(other, keys, ["tea"] * 4, tmp_path)[0]
    with (
        ledger_in(tmp_path) as ledger,
        Coordinator(federation, server, tmp_path, ledger) as coordinator,
        TestClient(Desk(coordinator).app(None, lambda _: None)) as web,
        pytest.raises(Refused, match="another federation"),
    ):
        Member(stranger, web, 5, lambda _: None).run()
    assert stranger.odometer.rounds == ()


def test_helpers_and_a_collector_open_a_sum_and_count_no_false_report(tmp_path: Path) -> None:
    collection = Collection("steps", federated.Histogram(3), key=KEY, epsilon=1000)
    with ExitStack() as stack:
        webs, clients = [], []
        for place in (0, 1):
            ledger = stack.enter_context(
                Ledger.open(tmp_path / f"l{place}", head=tmp_path / f"h{place}", budget=Budget(1000))
            )
            helper = stack.enter_context(Helper(collection, place, KEY, tmp_path, ledger))
            door = app_of(helper, TOKEN, TOKEN[::-1], lambda _: None)
            webs.append(stack.enter_context(TestClient(door, headers={"Authorization": f"Bearer {TOKEN[::-1]}"})))
            clients.append(stack.enter_context(TestClient(door, headers={"Authorization": f"Bearer {TOKEN}"})))
        for value in (0, 2, 2):
            hand_in(collection.client().report(value), clients)
        broken = collection.client().report(1)
        flipped = bytes([broken.parts[0][0] ^ 1]) + broken.parts[0][1:]
        hand_in(type(broken)(broken.nonce, broken.public, (flipped, broken.parts[1])), clients)
        assert clients[0].post("/v1/release").status_code == 401  # a client does not decide when a collection ends
        assert webs[0].post("/v1/accept", content=b"[]").status_code == 409
        assert webs[0].post("/v1/accept", json={"nonce": "zz"}).status_code == 409
        said: list[str] = []
        with pytest.raises(Refused, match="3 reports are counted; 4"):
            collect(collection, webs, 4, 0.5, said.append)
        assert collect(collection, webs, 3, 5, said.append) == pytest.approx([1, 0, 2], abs=1)
        assert any("not counted" in each for each in said)


def test_files_of_clients_are_read_line_by_line_and_no_line_makes_an_error(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b'\xef\xbb\xbfage,ward\n50,A\nbroken\n1,2,3\n"60",\xff\n"7\x00",B\n')
    columns, left_out = columns_of(path)
    assert columns["age"][:2] == ["50", "60"]
    assert left_out == 2
    path.write_text("age,age\n")
    with pytest.raises(ParameterError, match="different"):
        columns_of(path)
    with pytest.raises(ParameterError, match="cannot be read"):
        columns_of(tmp_path / "nothing")


def test_without_tls_a_way_leads_to_this_machine_alone() -> None:
    with pytest.raises(ParameterError, match="https"):
        web_to("http://example.org:80", None, None)
    web_to("http://127.0.0.1:1", None, None).close()


@pytest.fixture
def planned(tmp_path: Path) -> Path:
    """A plan, and everybody's keys."""
    (tmp_path / "keys").mkdir()
    for name in ("server", "keys/a", "keys/b", "keys/c", "keys/d"):
        (tmp_path / f"{name}.pub").write_text(federated.Identity().public.hex() + "\n")
    lines = ['name = "ages"', 'server = "server.pub"', 'clients = "keys"', "epsilon = 1", "delta = 1e-6", "vanish = 1"]
    lines += ["[job]", 'kind = "mean"', 'column = "age"', "low = 0", "high = 9"]
    (tmp_path / "plan.toml").write_text("\n".join(lines))
    return tmp_path


def test_a_plan_becomes_the_text_for_all_parties(planned: Path) -> None:
    done = CliRunner().invoke(
        app, ["federate", "plan", str(planned / "plan.toml"), "--output", str(planned / "f.json")]
    )
    assert done.exit_code == 0, done.output
    content = json.loads((planned / "f.json").read_text())
    assert [name for name, _ in content["clients"]] == ["a", "b", "c", "d"]
    assert "epsilon 1 " in done.stderr


def test_a_key_is_written_once_for_its_owner_alone(tmp_path: Path) -> None:
    made, again = (CliRunner().invoke(app, ["federate", "key", str(tmp_path / "me.key")]) for _ in range(2))
    assert (made.exit_code, again.exit_code) == (0, 2)
    assert (tmp_path / "me.key").stat().st_mode & 0o077 == 0
    assert read_identity(tmp_path / "me.key").public.hex() == made.stdout.strip()


@pytest.mark.parametrize(
    ("find", "put", "words"),
    [
        ("vanish", "banish", "unknown key 'banish'"),
        ('name = "ages"', "", "lacks 'name'"),
        ("low = 0", "low = 10", "low"),
        ('"mean"', '"median"', "There is no job 'median'"),
        ('"server.pub"', '"nobody.pub"', "cannot be read"),
        ('"keys"', '"nowhere"', "folder"),
        ("epsilon = 1", "epsilon = -1", "epsilon"),
        ("vanish = 1", "vanish = 3", "collude"),
        ("[job]", "[[job]]", "table"),
        ('column = "age"', "colum = 3", "not described"),
    ],
)
def test_a_wrong_plan_is_refused_in_a_sentence(planned: Path, find: str, put: str, words: str) -> None:
    text = (planned / "plan.toml").read_text()
    assert find in text
    (planned / "plan.toml").write_text(text.replace(find, put))
    done = CliRunner().invoke(
        app, ["federate", "plan", str(planned / "plan.toml"), "--output", str(planned / "f.json")]
    )
    assert done.exit_code in (1, 2)
    assert words in " ".join(done.stderr.split())
    assert "Traceback" not in done.output


@pytest.mark.parametrize("command", ["coordinator", "client", "helper", "collect"])
def test_wrong_settings_are_refused_in_a_sentence(tmp_path: Path, command: str) -> None:
    file = tmp_path / "s.toml"
    for text, words in [
        ("x = 1", "unknown setting 'x'"),
        ("", "lacks the setting"),
        ("=", "no TOML"),
        (None, "cannot be read"),
    ]:
        file.unlink(missing_ok=True) if text is None else file.write_text(text)
        done = CliRunner().invoke(app, ["federate", command, "--config", str(file)])
        assert done.exit_code == 2
        assert words in " ".join(done.stderr.split())


@pytest.mark.parametrize("typed", ["maybe", "1.5", '["a"]', "{}"])
def test_a_measurement_that_is_none_is_refused(tmp_path: Path, typed: str) -> None:
    from tacit.doors.commands.federate import _measured

    with pytest.raises(TacitError, match="measurement"):
        _measured(typed)
    assert _measured("yes") == 1
    assert _measured("[1, 0]") == [1, 0]
