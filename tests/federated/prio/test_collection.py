"""Collections: servers that count what is valid, once; what each party sees; the price of one server's noise."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import Budget, federated, noise
from tacit.errors import BudgetExceeded, ParameterError
from tacit.federated.prio.collection import Server
from tacit.federated.refusals import Refused
from tacit.ledger import Ledger
from tacit.loss.events import DiscreteGaussian, DiscreteLaplace, Pure

pytest.importorskip("Crypto", reason="an extra, which the tests' lock file holds")

KEY = bytes(range(32))


def collection(circuit: Any = None, **changes: Any) -> federated.Collection:
    settings: dict[str, Any] = {"key": KEY, "epsilon": 1, **changes}
    return federated.Collection("steps", circuit or federated.Histogram(5), **settings)


def send(servers: list[Server], report: federated.Report) -> None:
    shares = [each.check(report.nonce, report.public, report.parts[each.place]) for each in servers]
    for each in servers:
        each.accept(report.nonce, shares)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise: to compare with exact sums."""
    for name in ("discrete_laplace", "discrete_gaussian"):
        monkeypatch.setattr(noise, name, lambda scale, size, bits: np.zeros(size, dtype=np.int64))


@pytest.mark.parametrize(
    ("circuit", "measurements", "total"),
    [
        (federated.Count(), [1, 0, 1, 1], 3),
        (federated.Sum(100), [7, 100, 0], 107),
        (federated.SumVec(2, 9), [[1, 2], [9, 0]], [10, 2]),
        (federated.SumVec(2, 9, small=True), [[1, 2], [9, 0]], [10, 2]),
        (federated.Histogram(3), [2, 0, 2], [1, 0, 2]),
        (federated.MultihotCountVec(3, 2), [[1, 0, 1], [0, 0, 1]], [1, 0, 2]),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.usefixtures("silent")
def test_the_opened_sum_is_the_sum(circuit: Any, measurements: list[Any], total: Any, count: int) -> None:
    steps = federated.Collection.from_json(collection(circuit, servers=count).to_json())
    servers = [steps.server(place, KEY) for place in range(count)]
    for each in measurements:
        send(servers, steps.client().report(each))
    assert steps.opened([each.release() for each in servers]) == total


@pytest.mark.usefixtures("silent")
def test_a_report_counts_once_and_a_wrong_one_never() -> None:
    steps = collection()
    servers = [steps.server(place, KEY) for place in range(2)]
    good, other = steps.client().report(1), steps.client().report(2)
    send(servers, good)
    with pytest.raises(Refused, match="counted before"):
        send(servers, good)
    with pytest.raises(Refused, match="counted before"):  # another report under the same nonce
        servers[0].check(good.nonce, other.public, other.parts[0])
    with pytest.raises(Refused, match="No report with this nonce"):
        servers[0].accept(other.nonce, [b"", b""])
    shares = [each.check(other.nonce, other.public, other.parts[each.place]) for each in servers]
    assert servers[0].check(other.nonce, other.public, other.parts[0]) == shares[0]
    with pytest.raises(Refused, match="Another report with this nonce"):
        servers[0].check(other.nonce, good.public, other.parts[0])
    spoilt = [shares[0], bytes([shares[1][0] ^ 1]) + shares[1][1:]]
    for wrong in (spoilt, shares[::-1], shares[:1], [shares[0], shares[1][:-1]], [spoilt[1], shares[1]]):
        with pytest.raises(Refused):
            servers[0].accept(other.nonce, wrong)
    assert servers[0].accepted == 1
    for each in servers:  # nothing was lost: with the right shares it is counted
        each.accept(other.nonce, shares)
    assert steps.opened([each.release() for each in servers]) == [0, 1, 1, 0, 0]


def test_a_part_under_another_nonce_is_refused_because_it_would_count_twice() -> None:
    """A count's shares do not depend on the nonce: a server that lied could have a victim added a hundred times."""
    key = federated.new_key()
    count = federated.Collection("count", federated.Count(), key=key, epsilon=1)
    server, report = count.server(1, key), count.client().report(True)
    server.check(report.nonce, report.public, report.parts[1])
    with pytest.raises(Refused, match="under another nonce"):
        server.check(bytes(16), report.public, report.parts[1])


def test_every_flipped_byte_of_a_report_is_refused() -> None:
    steps = collection(federated.Histogram(3))
    report = steps.client().report(1)
    places = [("public", place) for place in range(len(report.public))]
    places += [(part, place) for part in (0, 1) for place in range(0, len(report.parts[part]), 3)]
    for where, place in places:
        public, parts = bytearray(report.public), [bytearray(part) for part in report.parts]
        (public if where == "public" else parts[where])[place] ^= 1 << place % 8  # type: ignore[index]
        servers = [steps.server(number, KEY) for number in range(2)]
        changed = federated.Report(report.nonce, bytes(public), tuple(bytes(part) for part in parts))
        with pytest.raises(Refused):
            send(servers, changed)
        assert servers[0].accepted == 0


def test_reports_of_another_collection_price_or_key_are_refused() -> None:
    steps = collection()
    for other in (collection(epsilon=2), collection(key=bytes(32)), collection(federated.Histogram(5, chunk=2))):
        with pytest.raises(Refused):
            send([steps.server(place, KEY) for place in range(2)], other.client().report(1))
    with pytest.raises(Refused, match="not the one"):
        steps.server(0, bytes(32))


def test_a_release_closes_the_collection_and_stays_the_same() -> None:
    steps = collection()
    server = steps.server(0, KEY)
    report = steps.client().report(1)
    first = server.release()
    assert server.release() == first
    with pytest.raises(Refused, match="closed"):
        server.check(report.nonce, report.public, report.parts[0])
    with pytest.raises(Refused, match="closed"):
        server.accept(report.nonce, [])


def test_servers_that_added_up_different_reports_open_nothing() -> None:
    steps = collection()
    servers = [steps.server(place, KEY) for place in range(2)]
    send(servers, steps.client().report(0))
    report = steps.client().report(1)
    shares = [each.check(report.nonce, report.public, report.parts[each.place]) for each in servers]
    servers[0].accept(report.nonce, shares)
    releases = [each.release() for each in servers]
    with pytest.raises(Refused, match="different reports"):
        steps.opened(releases)
    with pytest.raises(Refused, match="opened with 2 releases"):
        steps.opened(releases[:1])
    with pytest.raises(Refused, match="does not belong"):
        steps.opened([releases[0], releases[1][:-1]])


def test_the_price_is_that_of_one_servers_noise() -> None:
    assert collection(epsilon="0.5").event == DiscreteLaplace(2, 4)
    assert collection(federated.Sum(10)).event == DiscreteLaplace(10, 10)
    gaussian = collection(epsilon=1, delta=1e-6).event
    assert isinstance(gaussian, DiscreteGaussian)
    assert gaussian.sensitivity**2 >= 2


@pytest.mark.statistical
def test_each_server_adds_the_whole_noise_of_its_event() -> None:
    """One server's release less its exact sum is discrete Laplace of the event's scale.

    4,000 draws of scale 2 against the exact law, chi-square over 13 cells at 1e-9.
    """
    from scipy.stats import chi2

    steps = collection(federated.Histogram(4000), epsilon=1)
    server = steps.server(1, KEY)
    field = steps.scheme.field
    drawn = [int(each) for each in field.decode(server.release()[32:], 4000)]
    signed = [each - field.modulus if each > field.modulus // 2 else each for each in drawn]
    a = np.exp(-1 / 2)
    cells = Counter(max(-6, min(6, each)) for each in signed)
    law = {k: (1 - a) / (1 + a) * a ** abs(k) for k in range(-5, 6)} | dict.fromkeys((-6, 6), a**6 / (1 + a))
    statistic = sum((cells[k] - 4000 * p) ** 2 / (4000 * p) for k, p in law.items())
    assert statistic < chi2.isf(1e-9, len(law) - 1)


def test_what_one_server_sees_of_a_report_is_the_same_for_all_measurements() -> None:
    """A helper's part is random bytes; the leader's share is the measurement less a uniform vector, uniform itself.

    Exact: for given helper seeds the map from measurement to leader's share is a shift, so every share has one seed
    vector for each measurement. Here the shift is checked; uniformity of seeds made long is TurboSHAKE's.
    """
    steps = collection(federated.SumVec(2, 3))
    scheme, nonce, random = steps.scheme, bytes(16), bytes(range(128))
    made = [scheme.sharded(steps.context, each, nonce, random) for each in ([0, 0], [3, 1])]
    assert made[0].parts[1] == made[1].parts[1]
    size, field = scheme.shape.inputs, scheme.field
    shares = [field.decode(each.parts[0][: size * field.size], size) for each in made]
    difference = (shares[1] - shares[0]) % field.modulus
    assert difference.tolist() == (scheme.circuit.encoded([3, 1]) - scheme.circuit.encoded([0, 0])).tolist()


def test_a_description_says_what_is_collected_and_at_which_price() -> None:
    steps = collection(federated.MultihotCountVec(5, 2), servers=3, delta=1e-6)
    again = federated.Collection.from_json(steps.to_json())
    assert (again.id, again.event) == (steps.id, steps.event)
    with pytest.raises(ParameterError):
        collection(servers=1)
    with pytest.raises(ParameterError):
        collection(epsilon=0)


def test_a_release_is_charged_before_and_kept_for_ever(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "a.ledger", head=tmp_path / "a.head", budget=Budget(1)) as ledger:
        steps = collection()
        server = steps.server(0, KEY, ledger)
        report = steps.client().report(1)
        server.check(report.nonce, report.public, report.parts[0])
        released = server.release()
        again = steps.server(0, KEY, ledger)  # as after a crash
        assert again.release() == released
        with pytest.raises(Refused, match="closed"):
            again.check(report.nonce, report.public, report.parts[0])
        with pytest.raises(BudgetExceeded):
            federated.Collection("more", federated.Count(), key=KEY, epsilon=1).server(0, KEY, ledger).release()
        assert len([entry for entry in ledger.entries() if entry.event is not None]) == 1


def test_a_client_tells_once_and_not_beyond_its_budget(tmp_path: Path) -> None:
    odometer = federated.Odometer(tmp_path / "told.json", Budget("1.5"))
    steps = collection()
    first = steps.client(odometer).report(1)
    assert steps.client(federated.Odometer(tmp_path / "told.json", Budget("1.5"))).report(4) == first
    with pytest.raises(BudgetExceeded):
        federated.Collection("more", federated.Count(), key=KEY, epsilon=1).client(odometer).report(1)
    federated.Collection("less", federated.Count(), key=KEY, epsilon="0.5").client(odometer).report(1)
    assert len(odometer.rounds) == 2
    with pytest.raises(Refused, match="another budget"):
        federated.Odometer(tmp_path / "told.json", Budget(100))
    with pytest.raises(Refused, match="another price"):
        odometer.once(steps.id, Pure(1), lambda: "")


def test_a_measurement_that_is_refused_costs_a_client_nothing(tmp_path: Path) -> None:
    odometer = federated.Odometer(tmp_path / "told.json", Budget(1))
    with pytest.raises(Refused, match="Nothing was sent"):
        collection().client(odometer).report(99)
    assert odometer.rounds == ()
    collection().client(odometer).report(1)


def test_a_spoilt_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "told.json").write_text("{")
    with pytest.raises(Refused, match="not a client's record"):
        federated.Odometer(tmp_path / "told.json", Budget(1))


@pytest.mark.statistical
def test_the_stated_error_holds() -> None:
    """600 opened counts at confidence 0.9: at most 10 % beyond, plus six deviations (below 1e-8 by chance)."""
    steps = collection(federated.Histogram(600))
    opened = steps.opened([steps.server(place, KEY).release() for place in range(2)])
    beyond = sum(abs(each) > steps.error("0.9") for each in opened)
    assert beyond <= 60 + 6 * 7.4


@pytest.mark.parametrize("servers", [2, 3])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "10"])
def test_the_stated_error_is_one_that_the_exact_law_exceeds_as_rarely_as_said(epsilon: str, servers: int) -> None:
    """The law of the servers' noise together, by convolution; and no wider than it needs to be by half."""
    made = federated.Collection("sum", federated.Count(), key=KEY, epsilon=epsilon, servers=servers)
    reach = math.ceil(60 / float(Fraction(epsilon)))
    one = np.exp(-np.abs(np.arange(-reach, reach + 1)) * float(Fraction(epsilon)))
    law = one / one.sum()
    for _ in range(servers - 1):
        law = np.convolve(law, one / one.sum())
    away = np.abs(np.arange(len(law)) - len(law) // 2)
    for level in (0.5, 0.9, 0.95, 0.999):
        stated = made.error(str(level))
        assert law[away > stated].sum() <= 1 - level + 1e-9
        least = next(far for far in range(len(law)) if law[away > far].sum() <= 1 - level)
        assert stated <= 1.5 * least + servers
