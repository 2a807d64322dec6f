"""Events: facts about what was released. An accountant decides what they cost.

Promise: an event is a frozen value with one canonical JSON text, and its meaning never changes. Events
are stored in ledgers for ever, so a kind is never removed, renamed or redefined; a better analysis
changes an accountant, and old entries become cheaper without being touched. Numbers are exact rationals.

Every event states the worst case over all neighbouring inputs under the neighbour relation of the caller who wrote it
(add or remove one unit unless it says otherwise); sensitivities are in that relation. All events are symmetric in the
two neighbours except the Poisson-sampled one, whose two directions accountants price apart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from tacit import parameters

_KINDS: dict[str, type[Event]] = {}
_FIELDS: dict[object, tuple[str, ...]] = {}  # by class; there are few


@dataclass(frozen=True, slots=True)
class Event:
    """The root of all events. `kind` is the stable name in JSON.

    >>> from tacit.loss import Laplace
    >>> Laplace(1, 10).to_json()
    '{"kind":"laplace","scale":"10","sensitivity":"1"}'
    """

    kind: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: rationals as text, nested events as objects."""
        return {"kind": self.kind, **{name: _plain(getattr(self, name)) for name in _names(self)}}

    def to_json(self) -> str:
        """The canonical text: sorted keys, no white space; equal events have equal text."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _register(event_class: type[Event]) -> type[Event]:
    _KINDS[event_class.kind] = event_class
    return event_class


def _names(event: Event) -> tuple[str, ...]:
    found = _FIELDS.get(type(event))
    if found is None:
        found = _FIELDS[type(event)] = tuple(field.name for field in fields(event))
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return parameters.as_text(value)
    if isinstance(value, Event):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def from_dict(content: Mapping[str, Any]) -> Event:
    """The event that `to_dict` wrote.

    >>> from_dict({"kind": "pure", "epsilon": "1/2"})
    Pure(epsilon=Fraction(1, 2))
    """
    body = dict(content)
    kind = body.pop("kind", None)
    if kind not in _KINDS:
        raise parameters.refuse("kind", f"one of {', '.join(sorted(_KINDS))}", kind)
    event_class = _KINDS[kind]
    names = {field.name for field in fields(event_class)}
    if set(body) != names:
        raise parameters.refuse(f"{kind} event", f"an object with the keys {sorted(names)}", sorted(body))
    return event_class(**{name: _revive(value) for name, value in body.items()})


def from_json(text: str) -> Event:
    """The event that `to_json` wrote.

    >>> from_json('{"epsilon":"1/2","kind":"pure"}')
    Pure(epsilon=Fraction(1, 2))
    """
    try:
        content = json.loads(text)
    except json.JSONDecodeError:
        raise parameters.refuse("text", "the JSON text of an event", text) from None
    if not isinstance(content, dict):
        raise parameters.refuse("text", "the JSON text of an event", text)
    return from_dict(content)


def _revive(value: Any) -> Any:
    if isinstance(value, dict):
        return from_dict(value)
    if isinstance(value, list):
        return tuple(_revive(item) for item in value)
    return value


def _exact(built: Event, /, **values: object) -> None:
    """Store checked values on a frozen event under construction."""
    for name, value in values.items():
        object.__setattr__(built, name, value)


def _is_event(name: str, value: object) -> Event:
    if not isinstance(value, Event):
        raise parameters.refuse(name, "an event of tacit.loss", value, "Pass mechanism.event.")
    return value


# -- guarantees: only the bound is known ----------------------------------------------------


@_register
@dataclass(frozen=True, slots=True)
class Pure(Event):
    """Some mechanism satisfied pure epsilon-differential privacy.

    >>> from tacit.loss import compose
    >>> compose([Pure("1/2")] * 4).epsilon(0)
    2.0
    """

    kind: ClassVar[str] = "pure"
    epsilon: Fraction

    def __post_init__(self) -> None:
        _exact(self, epsilon=parameters.non_negative("epsilon", self.epsilon))


@_register
@dataclass(frozen=True, slots=True)
class Approximate(Event):
    """Some mechanism satisfied (epsilon, delta)-differential privacy.

    >>> from tacit.loss import compose
    >>> compose([Approximate("1/2", "1/8")] * 2).by("basic").epsilon("1/4")
    1.0
    """

    kind: ClassVar[str] = "approximate"
    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        _exact(
            self,
            epsilon=parameters.non_negative("epsilon", self.epsilon),
            delta=parameters.probability("delta", self.delta),
        )


@_register
@dataclass(frozen=True, slots=True)
class Concentrated(Event):
    """Some mechanism satisfied rho-zCDP: its Renyi divergence of order a is at most rho * a for every a > 1.

    >>> from tacit.loss import compose
    >>> compose([Concentrated("1/8")] * 4).entries
    mappingproxy({Concentrated(rho=Fraction(1, 8)): 4})
    """

    kind: ClassVar[str] = "concentrated"
    rho: Fraction

    def __post_init__(self) -> None:
        _exact(self, rho=parameters.non_negative("rho", self.rho))


# -- noise added to a number or a vector -----------------------------------------------------------


@_register
@dataclass(frozen=True, slots=True)
class Laplace(Event):
    """Continuous Laplace noise of this scale on a vector with this L1 sensitivity (or any post-processing of it).

    >>> from tacit.loss import compose
    >>> compose([Laplace(1, 10)]).epsilon(0) == 0.1
    True
    """

    kind: ClassVar[str] = "laplace"
    sensitivity: Fraction
    scale: Fraction

    def __post_init__(self) -> None:
        _exact(
            self,
            sensitivity=parameters.positive("sensitivity", self.sensitivity),
            scale=parameters.positive("scale", self.scale),
        )


@_register
@dataclass(frozen=True, slots=True)
class DiscreteLaplace(Event):
    """Noise of mass proportional to exp(-|x|/scale) on the integers, on an integer vector of this L1 sensitivity.

    >>> from tacit.loss import compose
    >>> compose([DiscreteLaplace(1, 4)]).epsilon(0)
    0.25
    """

    kind: ClassVar[str] = "discrete-laplace"
    sensitivity: int
    scale: Fraction

    def __post_init__(self) -> None:
        _exact(
            self,
            sensitivity=parameters.whole("sensitivity", self.sensitivity, least=1),
            scale=parameters.positive("scale", self.scale),
        )


@_register
@dataclass(frozen=True, slots=True)
class Gaussian(Event):
    """Continuous Gaussian noise of standard deviation sigma on a vector with this L2 sensitivity.

    >>> from tacit.loss import compose
    >>> compose([Gaussian(1, 4)]).epsilon(0)  # no noise of this law is private without a delta
    inf
    """

    kind: ClassVar[str] = "gaussian"
    sensitivity: Fraction
    sigma: Fraction

    def __post_init__(self) -> None:
        _exact(
            self,
            sensitivity=parameters.positive("sensitivity", self.sensitivity),
            sigma=parameters.positive("sigma", self.sigma),
        )


@_register
@dataclass(frozen=True, slots=True)
class DiscreteGaussian(Event):
    """Noise of mass proportional to exp(-x^2/(2 sigma^2)) on each of `dimensions` integers.

    `sensitivity` bounds the L2 distance of neighbouring integer vectors; an irrational bound is rounded up.

    >>> from tacit.loss import compose
    >>> compose([DiscreteGaussian(1, 4, 2)]).epsilon(0)
    inf
    """

    kind: ClassVar[str] = "discrete-gaussian"
    sensitivity: Fraction
    sigma: Fraction
    dimensions: int

    def __post_init__(self) -> None:
        _exact(
            self,
            sensitivity=parameters.positive("sensitivity", self.sensitivity),
            sigma=parameters.positive("sigma", self.sigma),
            dimensions=parameters.whole("dimensions", self.dimensions, least=1),
        )


# -- choices ---------------------------------------------------------------------------------------


@_register
@dataclass(frozen=True, slots=True)
class Exponential(Event):
    """A choice whose privacy loss has bounded range: it lies in [t - range, t] for some t in [0, range].

    The exponential mechanism at epsilon has range epsilon (Durfee and Rogers, 2019).

    >>> from tacit.loss import compose
    >>> compose([Exponential("1/2")] * 2).epsilon(0)
    1.0
    """

    kind: ClassVar[str] = "exponential"
    range: Fraction

    def __post_init__(self) -> None:
        _exact(self, range=parameters.positive("range", self.range))


@_register
@dataclass(frozen=True, slots=True)
class RandomizedResponse(Event):
    """One of `options` reported: the truth with odds exp(epsilon) to 1 against each other option.

    >>> from tacit.loss import compose
    >>> compose([RandomizedResponse("1/2", 2)] * 2).epsilon(0)
    1.0
    """

    kind: ClassVar[str] = "randomized-response"
    epsilon: Fraction
    options: int

    def __post_init__(self) -> None:
        _exact(
            self,
            epsilon=parameters.positive("epsilon", self.epsilon),
            options=parameters.whole("options", self.options, least=2),
        )


@_register
@dataclass(frozen=True, slots=True)
class KeySelection(Event):
    """Keys released by an (epsilon, delta) rule on each key's number of units; a unit has at most `keys_per_unit`.

    The rule is (epsilon, delta) for one key; a unit that touches several keys is touched by each of them.

    >>> from tacit.loss import compose
    >>> compose([KeySelection(1, "1/1024", 1)]).by("basic").epsilon("1/1024")
    1.0
    """

    kind: ClassVar[str] = "key-selection"
    epsilon: Fraction
    delta: Fraction
    keys_per_unit: int

    def __post_init__(self) -> None:
        _exact(
            self,
            epsilon=parameters.non_negative("epsilon", self.epsilon),
            delta=parameters.open_probability("delta", self.delta),
            keys_per_unit=parameters.whole("keys_per_unit", self.keys_per_unit, least=1),
        )


# -- the data was sampled first --------------------------------------------------------------------


@_register
@dataclass(frozen=True, slots=True)
class PoissonSampled(Event):
    """`event` on a sample in which every unit stands independently with probability `rate` (add or remove one unit).

    >>> from tacit.loss import compose
    >>> compose([PoissonSampled(Gaussian(1, 4), 0)]).epsilon(0)  # nobody was in the sample
    0.0
    """

    kind: ClassVar[str] = "poisson-sampled"
    event: Event
    rate: Fraction

    def __post_init__(self) -> None:
        _exact(self, event=_is_event("event", self.event), rate=parameters.probability("rate", self.rate))


@_register
@dataclass(frozen=True, slots=True)
class SampledWithoutReplacement(Event):
    """`event`, stated for replacing one unit, on a uniform sample of `drawn` out of `population` units.

    >>> from tacit.loss import compose
    >>> whole = compose([SampledWithoutReplacement(Pure(1), 100, 100)])
    >>> whole.epsilon(0)
    1.0
    """

    kind: ClassVar[str] = "sampled-without-replacement"
    event: Event
    drawn: int
    population: int

    def __post_init__(self) -> None:
        _exact(
            self,
            event=_is_event("event", self.event),
            drawn=parameters.whole("drawn", self.drawn, least=0),
            population=parameters.whole("population", self.population, least=1),
        )
        if self.drawn > self.population:
            raise parameters.refuse("drawn", f"at most the population, {self.population}", self.drawn)


@_register
@dataclass(frozen=True, slots=True)
class Shuffled(Event):
    """Each of `population` units applied the local randomiser `event`; only the shuffled reports were seen.

    Neighbours replace one unit.

    >>> from tacit.loss import compose
    >>> compose([Shuffled(Pure(1), 1000)]).epsilon("1e-6") < 1
    True
    """

    kind: ClassVar[str] = "shuffled"
    event: Event
    population: int

    def __post_init__(self) -> None:
        _exact(
            self,
            event=_is_event("event", self.event),
            population=parameters.whole("population", self.population, least=1),
        )


# -- several releases ------------------------------------------------------------------------------


@_register
@dataclass(frozen=True, slots=True)
class Composed(Event):
    """All of `events`, each on the same data; a later one may have used the answers of an earlier one.

    >>> from tacit.loss import compose
    >>> compose([Composed((Pure(1), Pure(2)))]).epsilon(0)
    3.0
    """

    kind: ClassVar[str] = "composed"
    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        _exact(self, events=tuple(_is_event("events", event) for event in self.events))


@_register
@dataclass(frozen=True, slots=True)
class Repeated(Event):
    """`event`, `count` times over.

    >>> from tacit.loss import compose
    >>> compose([Repeated(Pure("1/2"), 4)]).epsilon(0)
    2.0
    """

    kind: ClassVar[str] = "repeated"
    event: Event
    count: int

    def __post_init__(self) -> None:
        _exact(self, event=_is_event("event", self.event), count=parameters.whole("count", self.count, least=0))


@_register
@dataclass(frozen=True, slots=True)
class Parallel(Event):
    """Each of `parts` on its own disjoint part of the units; one unit stands in at most one part.

    >>> from tacit.loss import compose
    >>> compose([Parallel((Pure(1), Pure(2)))]).epsilon(0)
    2.0
    """

    kind: ClassVar[str] = "parallel"
    parts: tuple[Event, ...]

    def __post_init__(self) -> None:
        _exact(self, parts=tuple(_is_event("parts", event) for event in self.parts))


@_register
@dataclass(frozen=True, slots=True)
class Group(Event):
    """`event`, seen by a group of `size` units that change together.

    >>> from tacit.loss import compose
    >>> compose([Group(Pure(1), 5)]).epsilon(0)
    5.0
    """

    kind: ClassVar[str] = "group"
    event: Event
    size: int

    def __post_init__(self) -> None:
        _exact(self, event=_is_event("event", self.event), size=parameters.whole("size", self.size, least=1))


def kinds() -> Mapping[str, type[Event]]:
    """Every kind of event there is, by its JSON name.

    >>> kinds()["pure"]("1/2").to_json()
    '{"epsilon":"1/2","kind":"pure"}'
    """
    return dict(_KINDS)


__all__ = [*(cls.__name__ for cls in _KINDS.values()), "Event", "from_dict", "from_json", "kinds"]
