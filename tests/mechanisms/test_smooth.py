"""Smooth-sensitivity noise: every kind's constant is checked by integrating or maximising the loss over all pairs."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.loss.events import Approximate, Concentrated, Pure
from tacit.mechanisms import smooth_noise
from tacit.mechanisms.smooth import Smooth
from tacit.noise import SeededBitsForTestsOnly
from tests.effort import tried

MP = mpmath.mp.clone()
MP.dps = 30

Floats = NDArray[np.float64]


def corners(mechanism: Smooth, shrink: float = 1.0) -> list[tuple[float, float]]:
    """Worst pairs (distance, ln of the second scale) of two releases, the first of scale 1, S at its smoothness."""
    reach = 1 / (shrink * float(mechanism.multiple))
    b = float(mechanism.smoothness)
    return [
        (reach * part * min(1.0, math.exp(t)), t)
        for t, part in itertools.product((-b, -b / 2, 0.0, b / 2, b), (0, 0.5, 1))
    ]


# -- Laplace: (epsilon, delta) ------------------------------------------------------------------------


def laplace_delta(epsilon: Any, distance: Any, log_scale: Any) -> Any:
    """The hockey-stick divergence of Laplace(0, 1) from Laplace(distance, exp(log_scale)), by quadrature."""
    epsilon, distance, scale = MP.mpf(epsilon), MP.mpf(distance), MP.exp(MP.mpf(log_scale))

    def excess(x: Any) -> Any:
        return max(MP.exp(-abs(x)) / 2 - MP.exp(epsilon - abs(x - distance) / scale) / (2 * scale), MP.mpf(0))

    # where the integrand starts, so that the quadrature sees no kink: the loss is linear on either side
    gain = 1 / scale - 1
    edges = {MP.mpf(-90), MP.mpf(0), distance, MP.mpf(90)}
    if gain > 0:
        start = epsilon - MP.log(scale)
        edges |= {-(start - distance / scale) / gain, (start + distance / scale) / gain}
    inside = sorted(edge for edge in edges if -90 <= edge <= 90)
    return MP.quad(excess, inside)


LAPLACE = [(1, "1e-6"), ("0.1", "1e-9"), (3, "0.001"), (12, "1e-5"), ("0.5", "0.05")]


@pytest.mark.parametrize(("epsilon", "delta"), LAPLACE)
def test_laplace_noise_gives_the_delta_that_was_asked_for(epsilon: Any, delta: str) -> None:
    mechanism = Smooth(epsilon, delta)
    worst = max(laplace_delta(epsilon, *corner) for corner in corners(mechanism))
    assert worst <= float(delta) * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), LAPLACE[:4])
def test_laplace_noise_of_nine_tenths_gives_more_than_that_delta(epsilon: Any, delta: str) -> None:
    mechanism = Smooth(epsilon, delta)
    tight = max(laplace_delta(epsilon, *corner) for corner in corners(mechanism))
    assert tight == pytest.approx(float(delta), rel=1e-6)
    assert max(laplace_delta(epsilon, *corner) for corner in corners(mechanism, 0.9)) > 2 * float(delta)


def test_where_the_loss_at_a_growing_scale_decides_it_stays_below_epsilon() -> None:
    epsilon, delta, smoothness = 0.5, "0.3", 0.3
    mechanism = Smooth(epsilon, delta, smoothness=smoothness)
    # a = (epsilon - b) exp(b) here: delta is not the bottleneck
    assert float(mechanism.multiple) == pytest.approx(1 / ((epsilon - smoothness) * math.exp(smoothness)), rel=1e-9)
    growing = [corner for corner in corners(mechanism) if corner[1] > 0]
    assert max(laplace_delta(epsilon, *corner) for corner in growing) < 1e-12
    assert max(laplace_delta(epsilon, *corner) for corner in corners(mechanism)) <= float(delta)
    more = [corner for corner in corners(mechanism, 0.9) if corner[1] > 0]
    assert max(laplace_delta(epsilon, *corner) for corner in more) > 1e-6


def test_the_textbook_pair_is_covered_by_its_corrected_delta_and_not_always_by_delta() -> None:
    for epsilon, delta in [(1.0, 1e-6), (0.1, 1e-4), (20.0, 1e-6)]:
        smoothness = epsilon / (2 * math.log(2 / delta))
        pair = (epsilon / 2 * math.exp(-smoothness), -smoothness)
        found = laplace_delta(epsilon, *pair)
        assert found <= delta * (1 + math.exp(epsilon / 2)) / 2
        if epsilon == 20:
            assert found > delta


def test_the_textbook_smoothness_is_the_default_and_its_noise_an_upper_bound_for_ordinary_epsilon() -> None:
    for epsilon, delta in itertools.product((0.01, 0.1, 1.0, 4.0), (1e-3, 1e-6, 1e-12)):
        mechanism = Smooth(epsilon, delta)
        usual = epsilon / (2 * math.log(2 / delta))
        assert float(mechanism.smoothness) <= usual
        assert float(mechanism.smoothness) == pytest.approx(usual, rel=1e-12)
        assert 1 / epsilon < mechanism.scale < 2 / epsilon
        assert mechanism.event == Approximate(Fraction(epsilon), Fraction(delta))


# -- heavy tails: pure epsilon ------------------------------------------------------------------------


def log_cauchy(z: Floats) -> Floats:
    return np.asarray(-np.log1p(z * z))


def log_quartic(z: Floats) -> Floats:
    return np.asarray(-np.log1p(z**4))


def log_student(degrees: int) -> Any:
    return lambda z: -(degrees + 1) / 2 * np.log1p(z * z / degrees)


HEAVY = [
    ({"kind": "cauchy"}, log_cauchy, 1),
    ({"kind": "quartic"}, log_quartic, 3),
    ({"kind": "student"}, log_student(3), 3),
    ({"kind": "student", "degrees": 1}, log_cauchy, 1),
    ({"kind": "student", "degrees": 8}, log_student(8), 8),
]
POINTS = np.concatenate([-np.geomspace(1e9, 1e-6, 40_000), [0.0], np.geomspace(1e-6, 1e9, 40_000)])


def largest_loss(log_density: Any, pairs: list[tuple[float, float]]) -> float:
    """The largest |ln P/Q| over many points, 1e9 times the scale away on either side."""
    return max(
        float(np.abs(log_density(POINTS) - log_density((POINTS - distance) * math.exp(-t)) + t).max())
        for distance, t in pairs
    )


@pytest.mark.parametrize(("options", "log_density", "weight"), HEAVY)
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 4.0])
def test_heavy_tails_give_pure_epsilon(options: dict[str, Any], log_density: Any, weight: int, epsilon: float) -> None:
    mechanism = Smooth(epsilon, **options)
    assert mechanism.event == Pure(Fraction(epsilon))
    # power g = weight + 1: the usual smoothness is epsilon / (2 (g + 1))
    assert mechanism.smoothness == Fraction(epsilon) / (2 * (weight + 2))
    assert largest_loss(log_density, corners(mechanism)) <= epsilon
    assert mechanism.scale <= 2 * (weight + 2) / epsilon  # never more noise than the textbook's


@pytest.mark.parametrize(("options", "log_density", "weight"), HEAVY)
def test_heavy_tails_of_nine_tenths_the_scale_pass_epsilon(
    options: dict[str, Any], log_density: Any, weight: int
) -> None:
    mechanism = Smooth("0.02", **options)
    assert largest_loss(log_density, corners(mechanism)) > 0.0195
    assert largest_loss(log_density, corners(mechanism, 0.9)) > 0.02


@pytest.mark.parametrize(("options", "log_density", "weight"), HEAVY)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_chosen_smoothness_is_paid_by_the_scale(
    options: dict[str, Any], log_density: Any, weight: int, share: float
) -> None:
    epsilon = 0.3
    mechanism = Smooth(epsilon, smoothness=share * epsilon / weight, **options)
    assert mechanism.smoothness == Fraction(share * epsilon / weight)
    assert 0.9 * epsilon < largest_loss(log_density, corners(mechanism)) <= epsilon


def test_student_noise_may_be_paid_in_rho() -> None:
    in_rho = Smooth(rho="1/8", kind="student", degrees=5, smoothness="0.01")
    assert in_rho.event == Concentrated(Fraction(1, 8))
    # pure epsilon is epsilon**2/2-zCDP
    in_epsilon = Smooth("1/2", kind="student", degrees=5, smoothness="0.01")
    assert in_epsilon.multiple <= in_rho.multiple <= in_epsilon.multiple * (1 + Fraction(1, 10**12))
    assert Smooth(rho="1/8", kind="student").scale == pytest.approx(Smooth("1/2", kind="student").scale, rel=1e-12)


# -- Laplace-log-normal: zCDP -------------------------------------------------------------------------


def log_lognormal(z: Floats, sigma: float) -> Floats:
    """The log-density of X exp(sigma Y), by the trapezoid rule over Y."""
    step = 1 / 8
    y = np.arange(-30, 30, step)
    exponents = -y * y / 2 - sigma * y - np.abs(z)[:, None] * np.exp(-sigma * y)
    peak = exponents.max(axis=1)
    return np.asarray(
        peak + np.log(np.exp(exponents - peak[:, None]).sum(axis=1)) + math.log(step / math.sqrt(8 * math.pi))
    )


def renyi(order: float, distance: float, t: float, sigma: float) -> float:
    """The Renyi divergence of Z from exp(t) Z + distance, by the trapezoid rule in ln|z| beyond both peaks."""
    r = np.linspace(-25, 20 * sigma + 6, 1500)
    far = np.exp(r)
    between = (np.arange(1000) + 0.5) / 1000 * distance
    parts = [(-far, far * (r[1] - r[0])), (distance + far, far * (r[1] - r[0]))]
    if distance:
        parts.append((between, np.full(1000, distance / 1000)))
    logs = [
        order * log_lognormal(x, sigma)
        + (1 - order) * (log_lognormal((x - distance) * math.exp(-t), sigma) - t)
        + np.log(dx)
        for x, dx in parts
    ]
    every = np.concatenate(logs)
    return float(every.max() + np.log(np.exp(every - every.max()).sum())) / (order - 1)


def test_the_renyi_quadrature_is_right_where_the_answer_is_known() -> None:
    # a sigma of nearly nothing is Laplace noise: D_2 of a shift by s is ln(2/3 e^s + 1/3 e^-2s)
    expected = math.log(2 / 3 * math.exp(0.7) + math.exp(-1.4) / 3)
    assert renyi(2, 0.7, 0.0, 1e-6) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("rho", ["0.02", "0.5", "2"])
def test_lognormal_noise_is_zcdp_at_every_order_tried(rho: str) -> None:
    mechanism = Smooth(rho=rho, kind="lognormal")
    assert mechanism.event == Concentrated(Fraction(rho))
    sigma = float(mechanism.noise.sigma)  # type: ignore[attr-defined]
    reach, b = 1 / float(mechanism.multiple), float(mechanism.smoothness)
    for t, order in itertools.product((-b, 0.0, b), (1.05, 2, 8)):
        assert renyi(order, reach * min(1, math.exp(t)), t, sigma) <= order * float(rho)


@pytest.mark.parametrize(
    ("rho", "smoothness"), [("0.02", None), ("0.5", None), ("2", None), ("0.5", "0.5"), ("0.5", "0.01")]
)
def test_the_two_parts_of_the_lognormal_bound_add_up_to_root_two_rho(rho: str, smoothness: str | None) -> None:
    mechanism = Smooth(rho=rho, kind="lognormal", smoothness=smoothness)
    sigma = MP.mpf(mechanism.noise.sigma.numerator) / mechanism.noise.sigma.denominator  # type: ignore[attr-defined]
    # the steepest slope of the log-density, at 0: two expectations by quadrature, not by the closed form
    slope = MP.quad(lambda y: MP.exp(-y * y / 2 - 2 * sigma * y), [-MP.inf, MP.inf])
    slope /= MP.quad(lambda y: MP.exp(-y * y / 2 - sigma * y), [-MP.inf, MP.inf])
    spent = slope / MP.mpf(float(mechanism.multiple)) + MP.mpf(float(mechanism.smoothness)) / sigma
    allowed = MP.sqrt(2 * MP.mpf(Fraction(rho).numerator) / Fraction(rho).denominator)
    assert allowed * (1 - MP.mpf("1e-9")) <= spent <= allowed


def test_the_slope_of_the_lognormal_density_is_steepest_at_zero() -> None:
    z = np.linspace(0, 30, 3001)
    slopes = -np.diff(log_lognormal(z, 0.4)) / np.diff(z)
    assert (np.diff(slopes) <= 1e-9).all()
    assert slopes[0] <= math.exp(1.5 * 0.16)
    assert slopes[0] == pytest.approx(math.exp(1.5 * 0.16), rel=0.01)


def test_the_spread_of_the_log_normal_is_where_the_variance_is_least() -> None:
    mechanism = Smooth(rho="0.5", kind="lognormal", smoothness="0.1")

    def variance(s: float) -> float:
        multiple = math.exp(1.5 * s * s) / (1 - 0.1 / s)
        return 2 * (multiple * math.exp(s * s)) ** 2

    chosen = float(mechanism.noise.sigma)  # type: ignore[attr-defined]
    assert variance(chosen) <= min(variance(s / 1000) for s in range(101, 2000)) * 1.0001


# -- what is drawn ------------------------------------------------------------------------------------

DRAWN = [
    ({"epsilon": 1, "delta": "1e-6"}, "rounded_laplace", ()),
    ({"epsilon": 1, "kind": "cauchy"}, "cauchy_like", (2,)),
    ({"epsilon": 1, "kind": "quartic"}, "cauchy_like", (4,)),
    ({"epsilon": 1, "kind": "student", "degrees": 7}, "student_t", (7,)),
    ({"epsilon": 1, "kind": "student"}, "student_t", (3,)),
    ({"rho": "0.5", "kind": "lognormal"}, "laplace_log_normal", None),
]


def scripted(monkeypatch: pytest.MonkeyPatch, sampler: str, value: int) -> list[tuple[Any, ...]]:
    asked: list[tuple[Any, ...]] = []

    def draw(*arguments: Any) -> int:
        asked.append(arguments[:-1])
        return value

    monkeypatch.setattr(smooth_noise, sampler, draw)
    return asked


@pytest.mark.parametrize(("options", "sampler", "law"), DRAWN)
def test_whole_numbers_get_noise_at_the_multiple_of_the_sensitivity(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], sampler: str, law: tuple[int, ...] | None
) -> None:
    mechanism = Smooth(**options)
    asked = scripted(monkeypatch, sampler, 17)
    assert mechanism.release(100, 5) == 117
    ((scale, *rest, size),) = asked
    assert size is None
    assert rest == ([mechanism.noise.sigma] if law is None else list(law))  # type: ignore[attr-defined]
    raised = 5 * (1 + Fraction(1, 2**41))
    assert scale == mechanism.multiple * raised
    # a smooth sensitivity below one step still gets the noise of one
    mechanism.release(100, 0)
    mechanism.release(100, 0.25)
    assert [ask[0] for ask in asked[1:]] == [mechanism.multiple] * 2


def test_reals_pay_one_step_of_the_grid_for_being_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = Smooth(1, "1e-6", grid=Fraction(1, 8))
    asked = scripted(monkeypatch, "rounded_laplace", 3)
    assert mechanism.release(1.3, 0.5) == 1.25 + 3 / 8
    assert asked[0][0] == mechanism.multiple * (Fraction(1, 2) * (1 + Fraction(1, 2**41)) * 8 + 1)


@given(st.floats(-100, 100), st.floats(-100, 100), st.floats(0, 50), st.floats(0.001, 2), st.integers(-4, 4))
@settings(max_examples=tried(200), deadline=None)
def test_the_sensitivity_on_the_grid_bounds_the_rounded_distance_and_is_as_smooth(
    x: float, y: float, sensitivity: float, smoothness: float, exponent: int
) -> None:
    mechanism = Smooth(1, kind="cauchy", grid=Fraction(2) ** exponent)
    first = max(sensitivity, abs(x - y))
    second = max(first * math.exp(-smoothness), abs(x - y))
    steps = [mechanism._steps(Fraction(s)) for s in (first, second)]
    grid = mechanism.lattice
    distance = abs(int(grid.points([x])[0]) - int(grid.points([y])[0]))  # type: ignore[union-attr]
    assert distance <= min(steps)
    assert float(steps[0] / steps[1]) <= math.exp(smoothness) * (1 + 1e-9)


@pytest.mark.parametrize(
    "found", [-3, -0.5, float("nan"), math.inf, 1e308, Fraction(7, 3), np.float32(2.5), np.int64(4)]
)
def test_no_smooth_sensitivity_raises(found: Any) -> None:
    assert isinstance(Smooth(1, "1e-6").release(7, found, bits=SeededBitsForTestsOnly(3)), int)


def test_an_unknown_smooth_sensitivity_gets_the_most_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = Smooth(1, "1e-6")
    asked = scripted(monkeypatch, "rounded_laplace", 0)
    for found in (float("nan"), math.inf, 1.7976931348623157e308):
        mechanism.release(0, found)
    assert asked[0] == asked[1] == asked[2]


def test_values_of_the_wrong_type_are_refused_without_being_quoted() -> None:
    for value, sensitivity in [(3.25, 1), (3, "x"), (np.array([1, 2]), 1), (True, 1), (3, True)]:
        with pytest.raises(ParameterError) as refused:
            Smooth(1, "1e-6").release(value, sensitivity)
        assert "3.25" not in str(refused.value)


# -- errors and refusals ------------------------------------------------------------------------------


def survival(options: dict[str, Any], mechanism: Smooth, z: Any) -> Any:
    """P(|Z| > z) by quadrature."""
    kind = options.get("kind", "laplace")
    if kind == "lognormal":
        sigma = float(mechanism.noise.sigma)  # type: ignore[attr-defined]
        return MP.quad(lambda y: MP.npdf(y) * MP.exp(-z * MP.exp(-sigma * y)), [-12, -4, 0, 4, 12])
    degrees = options.get("degrees", 3)
    density = {
        "laplace": lambda x: MP.exp(-x),
        "cauchy": lambda x: 1 / (1 + x * x),
        "quartic": lambda x: 1 / (1 + x**4),
        "student": lambda x: (1 + x * x / degrees) ** (-MP.mpf(degrees + 1) / 2),
    }[kind]
    return MP.quad(density, [z, z + 1, z + 10, MP.inf]) / MP.quad(density, [0, 1, 10, MP.inf])


@pytest.mark.parametrize(("options", "sampler", "law"), DRAWN)
def test_the_error_is_the_quantile_of_the_rounded_noise(options: dict[str, Any], sampler: str, law: Any) -> None:
    mechanism = Smooth(**options)
    for confidence in ("0.5", "0.95"):
        width = mechanism.error(confidence, 10)
        spread = 10 * float(mechanism.multiple)
        assert survival(options, mechanism, (width + 0.5) / spread) <= 1 - float(confidence) + 1e-9
        assert survival(options, mechanism, (width - 0.5) / spread) > 1 - float(confidence) - 1e-9


def test_the_error_of_a_real_is_in_its_unit() -> None:
    coarse = Smooth(1, "1e-6", grid=Fraction(1, 64)).error("0.9", 2)
    assert coarse == pytest.approx(2 * math.log(10) * Smooth(1, "1e-6").scale, rel=0.02)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("kind", {"epsilon": 1, "kind": "normal"}),
        ("kind", {"epsilon": 1}),
        ("kind", {"epsilon": 1, "delta": "1e-6", "rho": 1}),
        ("kind", {"epsilon": 1, "delta": "1e-6", "kind": "cauchy"}),
        ("kind", {"epsilon": 1, "kind": "lognormal"}),
        ("kind", {"epsilon": 1, "kind": "cauchy", "degrees": 3}),
        ("epsilon", {"epsilon": 0, "kind": "cauchy"}),
        ("epsilon", {"epsilon": math.nan, "delta": "1e-6"}),
        ("epsilon", {"epsilon": 10**7, "kind": "quartic"}),
        ("delta", {"epsilon": 1, "delta": 0}),
        ("rho", {"rho": -1, "kind": "lognormal"}),
        ("degrees", {"epsilon": 1, "kind": "student", "degrees": 0}),
        ("degrees", {"epsilon": 1, "kind": "student", "degrees": 1001}),
        ("smoothness", {"epsilon": 1, "delta": "1e-6", "smoothness": 0}),
        ("smoothness", {"epsilon": 1, "delta": "1e-6", "smoothness": 1}),
        ("smoothness", {"epsilon": 1, "kind": "quartic", "smoothness": "1/3"}),
        ("smoothness", {"rho": "0.5", "kind": "lognormal", "smoothness": 10}),
        ("grid", {"epsilon": 1, "delta": "1e-6", "grid": 3}),
    ],
)
def test_wrong_parameters_are_refused(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=f"The '{name}' parameter must be"):
        Smooth(**wrong)
