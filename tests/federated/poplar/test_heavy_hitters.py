"""A search for frequent numbers by two servers: what is found, what it costs, and servers and clients that lie."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import BudgetExceeded, ParameterError
from tacit.federated import HeavyHitters, Odometer, new_key
from tacit.federated.poplar.poplar1 import Prefixes
from tacit.federated.refusals import Refused
from tacit.ledger import Ledger
from tacit.loss import compose
from tacit.loss.budget import Budget

pytest.importorskip("Crypto", reason="an extra, which the tests' lock file holds")

KEY = bytes(range(32))


def search_of(bits: int = 6, **terms: Any) -> HeavyHitters:
    return HeavyHitters("made up", bits, key=KEY, **{"epsilon": 200, "delta": "1/1000000", **terms})


def with_reports(asked: HeavyHitters, numbers: list[int], ledgers: Any = (None, None)) -> list[Any]:
    servers = [asked.server(place, KEY, ledgers[place]) for place in (0, 1)]
    client = HeavyHitters.from_json(asked.to_json()).client()
    for number in numbers:
        report = client.report(number)
        for server in servers:
            server.take(report.nonce, report.public, report.parts[server.place])
    return servers


@pytest.mark.parametrize(("bits", "step", "keep"), [(6, 1, 4), (6, 2, 4), (7, 3, 8), (2, 5, 3)])
def test_frequent_numbers_are_found_with_their_counts(bits: int, step: int, keep: int) -> None:
    """At this price a server's noise is 2 or more with a probability below 1e-12 for a count."""
    asked = search_of(bits, step=step, keep=keep)
    numbers = [1] * 7 + [2] * 5 + [(1 << bits) - 1] * 5 + [0]
    found = asked.search(with_reports(asked, numbers))
    assert asked.deviation < 0.37
    assert {1, 2, (1 << bits) - 1} <= set(found) <= set(numbers)
    assert all(abs(found[each] - numbers.count(each)) <= 2 for each in found)


def test_the_price_is_that_of_one_servers_noise_at_all_levels() -> None:
    asked = search_of(16, epsilon=2, step=2, keep=4)
    assert len(asked.levels) == 8
    assert asked.levels[-1] == 15
    told = compose([asked.event]).epsilon(Fraction(1, 10**6))
    assert 1.9 < told <= 2
    assert told == compose([asked.shares.event] * 8).epsilon(Fraction(1, 10**6))
    assert asked.shares.norm_squared == 2  # one count less, another one more
    assert asked.deviation == pytest.approx(math.sqrt(2 * float(asked.shares.variance)))


def test_a_replaced_report_moves_two_counts_of_a_level_by_one() -> None:
    """The sums before noise, for all pairs of numbers of three bits, at every level."""
    asked = search_of(3, step=1, keep=8)

    def sums(numbers: list[int]) -> list[Any]:
        servers, found = with_reports(asked, numbers), []
        for level in range(3):
            everything, field = Prefixes(level, tuple(range(1 << level + 1))), asked.scheme.field(level)
            for server in servers:
                server.begin(everything)
            for nonce in servers[0].reports:
                sketches = [server.check(nonce) for server in servers]
                answers = [server.answer(nonce, sketches) for server in servers]
                for server in servers:
                    server.accept(nonce, answers)
            pairs = zip(servers[0]._sum, servers[1]._sum, strict=True)
            found.append(np.array([int(each) for each in field.vector(a + b for a, b in pairs)]))
            for server in servers:
                server.release()
        return found

    base = {number: sums([5, number]) for number in range(8)}
    for level in range(3):
        moved = [base[one][level] - base[other][level] for one in range(8) for other in range(8)]
        assert {int(np.abs(each).sum()) for each in moved} == {0, 2}
        assert max(int((each**2).sum()) for each in moved) == asked.shares.norm_squared


@pytest.mark.statistical
def test_each_server_adds_the_noise_of_its_event() -> None:
    """One server's release less its own sum, over 2,000 counts; variance off by 6 deviations: below 1e-8."""
    asked = search_of(4, step=4, keep=16, epsilon=1)
    drawn: list[int] = []
    for _ in range(8):
        server = asked.server(0, KEY)
        server.begin(asked.first())
        field = asked.scheme.field(3)
        release = field.decode(server.release()[32:], 16)
        drawn += [int(each) - field.modulus if int(each) > field.modulus // 2 else int(each) for each in release]
    for _ in range(117):
        drawn += [int(each) for each in asked.shares.draw()[:16]]
    variance = float(asked.shares.variance)
    assert np.mean(np.square(drawn)) == pytest.approx(variance, rel=6 * math.sqrt(2 / len(drawn)))
    assert np.mean(np.square(drawn[:128])) == pytest.approx(variance, rel=6 * math.sqrt(2 / 128))


def test_a_level_is_charged_before_it_is_looked_at_and_never_begun_again(tmp_path: Path) -> None:
    asked = search_of(4, step=2, keep=4)
    ledgers = [
        Ledger.open(tmp_path / f"ledger {place}", head=tmp_path / f"head {place}", budget=Budget(10_000, "1/10"))
        for place in (0, 1)
    ]
    servers = with_reports(asked, [9] * 6, ledgers)
    assert asked.search(servers).keys() == {9}
    for ledger in ledgers:
        kinds = [entry.kind for entry in ledger.entries()]
        assert kinds.count("charged") == len(asked.levels) == 2
        assert kinds.count("answered") == 2
    again = with_reports(asked, [9] * 6, ledgers)[0]  # a server that forgot everything
    with pytest.raises(Refused, match="begun before"):
        again.begin(asked.first())
    for ledger in ledgers:
        ledger.close()
    with Ledger.open(tmp_path / "small", head=tmp_path / "small head", budget=Budget(1, "1/1000")) as ledger:
        server = asked.server(0, KEY, ledger)
        with pytest.raises(BudgetExceeded):
            server.begin(asked.first())
        with pytest.raises(Refused, match="No level"):
            server.check(bytes(16))


def test_a_client_reports_once_and_within_its_budget(tmp_path: Path) -> None:
    asked = search_of(4, epsilon=2)
    told = Odometer(tmp_path / "told", Budget("5/2", "1/500000"))
    first = asked.client(told).report(3)
    assert asked.client(told).report(12) == first
    with pytest.raises(BudgetExceeded):
        HeavyHitters("another", 4, key=KEY, epsilon=2, delta="1/1000000").client(told).report(3)
    for wrong in (-1, 16, 2.0, True, "3", None):
        with pytest.raises(Refused, match="Nothing was sent"):
            asked.client().report(wrong)


def test_a_server_answers_one_sketch_of_a_report_and_shows_nothing_else() -> None:
    """The other server lies about its sketch, tries again, asks for levels twice, or for prefixes of its own choice."""
    asked = search_of(4, step=2, keep=2)
    one, other = with_reports(asked, [9, 9, 3])
    for server in (one, other):
        server.begin(asked.first())
    nonce = min(one.reports)
    own, theirs = one.check(nonce), other.check(nonce)
    field = asked.scheme.field(1)
    lie = field.encode(field.vector(int(each) + 1 for each in field.decode(theirs, 3)))
    first = one.answer(nonce, [own, lie])
    assert one.answer(nonce, [own, lie]) == first
    for wrong in ([own, theirs], [theirs, own], [own], [lie, theirs]):
        with pytest.raises(Refused):
            one.answer(nonce, wrong)
    with pytest.raises(Refused, match="not valid"):
        one.accept(nonce, [first, other.answer(nonce, [own, theirs])])
    with pytest.raises(Refused):
        one.accept(nonce, [bytes(8), first])
    for wrong_level in (asked.first(), Prefixes(3, (0,))):
        with pytest.raises(Refused, match="not released"):
            one.begin(wrong_level)
    one.release()
    assert nonce not in one.reports  # it was not shown to be valid, so it is left out
    with pytest.raises(Refused, match="No level"):
        one.release()
    many = Prefixes(3, tuple(range(16)))
    for steered in (asked.first(), Prefixes(2, (0, 1)), many, Prefixes(3, ())):
        with pytest.raises(Refused):
            one.begin(steered)
    one.begin(Prefixes(3, (0, 1, 2)))
    with pytest.raises(Refused, match="begun"):
        one.take(bytes(16), b"", b"")


def test_reports_that_are_not_valid_are_left_out_and_the_search_goes_on() -> None:
    asked = search_of(6, step=2, keep=4, epsilon=2000)
    servers = with_reports(asked, [44] * 6)
    report = asked.client().report(1)
    for drawn in range(5):
        part = bytearray(report.parts[0])
        part[50 + 3 * drawn] ^= 1
        nonce = bytes([drawn]) * 16
        servers[0].take(nonce, report.public, bytes(part))
        servers[1].take(nonce, report.public, report.parts[1][:-1] + bytes([drawn]))
    with pytest.raises(Refused, match="another nonce"):
        servers[0].take(b"x" * 16, report.public, bytes(part))
    found = asked.search(servers)
    assert found.keys() == {44}
    assert len(servers[0].reports) == 6


def test_servers_that_count_different_reports_open_nothing() -> None:
    asked = search_of(2, step=2, keep=2)
    servers = with_reports(asked, [1, 2])
    for server in servers:
        server.begin(asked.first())
    releases = [server.release() for server in servers]
    asked.opened(asked.first(), releases)
    with pytest.raises(Refused, match="both servers"):
        asked.opened(asked.first(), releases[:1])
    with pytest.raises(Refused, match="different reports"):
        asked.opened(asked.first(), [releases[0], bytes(32) + releases[1][32:]])


def test_where_nothing_is_above_the_noise_the_search_ends() -> None:
    asked = search_of(8, epsilon="1/10", keep=4)
    assert asked.search(with_reports(asked, [200])) == {}


def test_a_description_says_what_is_searched_and_at_which_price() -> None:
    asked = search_of(8)
    again = HeavyHitters.from_json(asked.to_json())
    assert (again.id, again.shares) == (asked.id, asked.shares)
    for terms in ({"bits": 0}, {"bits": 300}, {"step": 0}, {"step": 17}, {"keep": 0}, {"keep": 1 << 16}, {"delta": 0}):
        with pytest.raises(ParameterError):
            search_of(**({"bits": 8} | terms))
    with pytest.raises(ParameterError):
        HeavyHitters("x", 8, epsilon=1, delta="1/10")
    with pytest.raises(Refused, match="not the one"):
        asked.server(0, new_key())
    with pytest.raises(ParameterError):
        asked.server(2, KEY)
