"""What runs at a person's home: it randomises one answer and sends a few bytes. Standard library only; read it whole,
and `checks` after it.

    client = Client(description)          # the survey's public description, as JSON text or a mapping
    client.epsilon                        # the most that one answer may tell: stated by the survey, and checked here
    client.answer("yes")                  # -> a report: bytes, or `.json()`

Promise: a report depends on the true answer through the weights of the description alone, drawn with `secrets` in whole
numbers, so its law is exactly the one that the description states. The ratio of the probabilities of one report under
two answers is at most exp(epsilon): checked in exact arithmetic, or the survey is refused. A client answers a survey
once: asked again it sends the very same report. With an `Odometer` this holds after the program ends, too.

The randomisers. a (`keep`) and b (`other`) are whole numbers with a > b.
    k-ary      one of k options: the truth has weight a, every other option weight b                 ratio a/b
    unary      k bits: the true one is 1 with probability p, any other with probability q            p(1-q)/(q(1-p))
    hashing    a random function of a pairwise independent family maps options to g cells; k-ary on the cells    a/b
    hadamard   a row of a Hadamard matrix that has +1 at the truth has weight a, any other b           a/b
    subset     d of the k options: a set with the truth has weight a, any other weight b               a/b
    sign       a number t of 0..m: yes with probability (b m + (a - b) t)/((a + b) m)                  a/b
    window     a number t of 0..m: cells t, ..., t + w - 1 of the m + w cells have weight a, all others b     a/b
    either     one of two of these, by a coin that has nothing to do with the answer                  the larger
    rappor     unary, kept for ever for each answer; each report shows it through coins of its own   the kept one's
    prefixes   the first bits of a text, of a length drawn for this report, by hashing               a/b
    moments    a number t or its square, by a fair coin, each by a randomiser of its own             the larger
    nearest    a seed makes m directions; each of the k nearest to a vector has weight a, the rest b       a/b
               (k of them whatever the vector is, so that rounding cannot change the ratio)
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from tacit.local.checks import LARGEST_EPSILON, Refused, checked, is_within, ratio

VERSION = 1
_TICKET = 8  # bytes that tell two reports apart
_INVERSE = NormalDist().inv_cdf
_times = float.__mul__


def canonical(description: Mapping[str, Any]) -> str:
    """The one text of a description."""
    return json.dumps(description, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def survey_id(description: Mapping[str, Any]) -> str:
    """Eight bytes that stand for the description, as hexadecimal digits."""
    return hashlib.sha256(canonical(description).encode()).hexdigest()[:16]


def randomised(law: Mapping[str, Any], truth: Any) -> tuple[int, ...]:
    """One report of a true answer: the number of an option, a whole number of steps, or a vector of length 1."""
    kind, below = law["kind"], secrets.randbelow
    if kind == "nearest":
        return _nearest(law, truth)
    if kind == "moments":
        which = below(2)
        return (which, *randomised(law["parts"][which], squared(law["parts"][1]["steps"], truth) if which else truth))
    if kind == "unary":
        (one, all_ones), (zero, all_zeros) = law["one"], law["zero"]
        bits = [below(all_ones) < one if place == truth else below(all_zeros) < zero for place in range(law["options"])]
        return (sum(1 << place for place, bit in enumerate(bits) if bit),)
    if kind == "either":
        chance, whole = law["chance"]
        which = 0 if below(whole) < chance else 1
        inner = randomised(law["parts"][which], truth)
        return (which, inner[0])
    if kind == "rappor":
        return shown(law, randomised(law["kept"], truth))
    a, b = law["keep"], law["other"]
    if kind == "k-ary":
        return (_k_ary(truth, law["options"], a, b),)
    if kind == "hashing":
        word = law["word"]
        multiplier, shift = secrets.randbits(word), secrets.randbits(word)
        return (multiplier, shift, _k_ary(cell(law, multiplier, shift, truth), law["cells"], a, b))
    if kind == "hadamard":
        row, column = below(law["rows"]), truth + 1
        wanted = 0 if below(a + b) < a else 1  # an even number of common bits: +1
        if (row & column).bit_count() % 2 != wanted:
            row ^= column & -column  # the same row except for one bit of the column: the other sign
        return (row,)
    if kind == "subset":
        options, size = law["options"], law["size"]
        inside = below(a * size + b * (options - size)) < a * size
        others = secrets.SystemRandom().sample(range(options - 1), size - inside)
        chosen = [place + (place >= truth) for place in others] + [truth] * inside
        return (sum(1 << place for place in chosen),)
    if kind == "sign":
        steps = law["steps"]
        return (int(below((a + b) * steps) < b * steps + (a - b) * truth),)
    if kind == "window":
        window = law["window"]
        drawn = below(a * window + b * law["steps"])
        if drawn < a * window:
            return (truth + drawn // a,)
        place = (drawn - a * window) // b
        return (place if place < truth else place + window,)
    raise AssertionError(kind)  # refused by `checked`


def squared(steps: int, truth: int) -> int:
    """The squared distance from the middle, in this many steps; rounded by chance, which moves no mean."""
    square = (2 * truth - steps) ** 2
    return square // steps + int(secrets.randbelow(steps) < square % steps)


def _nearest(law: Mapping[str, Any], truth: Sequence[float]) -> tuple[int, ...]:
    words, near, a, b = law["words"], law["near"], law["keep"], law["other"]
    seed = secrets.randbits(law["seed"])
    score = [sum(map(_times, direction(law, seed, word), truth)) for word in range(words)]
    order = sorted(range(words), key=lambda word: (-score[word], word))
    drawn = secrets.randbelow(a * near + b * (words - near))
    return (seed, order[drawn // a] if drawn < a * near else order[near + (drawn - a * near) // b])


def direction(law: Mapping[str, Any], seed: int, word: int) -> list[float]:
    """The direction that a seed makes of a word: Gaussian numbers from a public hash, of length 1 together."""
    raw = hashlib.shake_128(f"{seed}:{word}".encode()).digest(4 * law["dimensions"])
    normal = [_INVERSE((int.from_bytes(raw[at : at + 4], "big") + 0.5) / 2**32) for at in range(0, len(raw), 4)]
    length = math.hypot(*normal)
    return [each / length for each in normal]


def shown(law: Mapping[str, Any], kept: Sequence[int]) -> tuple[int, ...]:
    """What one report shows of the bits that are kept for ever."""
    (one, all_ones), (zero, all_zeros), below = law["one"], law["zero"], secrets.randbelow
    places = range(law["kept"]["options"])
    bits = [below(all_ones) < one if kept[0] >> place & 1 else below(all_zeros) < zero for place in places]
    return (sum(1 << place for place, bit in enumerate(bits) if bit),)


def text_report(law: Mapping[str, Any], text: str) -> tuple[int, ...]:
    """One report of a text: which length was drawn, and the hashed prefix of that length."""
    group = secrets.randbelow(len(law["lengths"]))
    return (group, *randomised(law["inner"], prefix_number(text, law["lengths"][group], law["longest"])))


def prefix_number(text: str, length: int, longest: int) -> int:
    """The first `length` bits of a text of at most `longest` bytes, as a number below 2**32 (`prefix_code`)."""
    whole = text.encode()[:longest].ljust(longest, b"\0")
    return prefix_code(int.from_bytes(whole, "big") >> (8 * longest - length), length)


def prefix_code(prefix: int, length: int) -> int:
    """A prefix as a number below 2**32, by a fixed public function."""
    return int.from_bytes(hashlib.sha256(f"{length}:{prefix}".encode()).digest()[:4], "big")


def _k_ary(truth: int, options: int, a: int, b: int) -> int:
    drawn = secrets.randbelow(a + (options - 1) * b)
    return truth if drawn < a else (truth + 1 + (drawn - a) // b) % options


def cell(law: Mapping[str, Any], multiplier: int, shift: int, option: int) -> int:
    """Where a function of the family puts an option: the upper half of a word, cut into `cells` parts."""
    word = law["word"]
    upper = ((multiplier * option + shift) % (1 << word)) >> (word // 2)
    return int(upper * law["cells"] >> (word // 2))


def radices(law: Mapping[str, Any]) -> tuple[int, ...]:
    """How many values each number of a report can have."""
    kind = law["kind"]
    if kind == "hashing":
        return (1 << law["word"], 1 << law["word"], law["cells"])
    if kind in ("either", "moments"):
        return (2, max(radices(part)[0] for part in law["parts"]))
    if kind == "nearest":
        return (1 << law["seed"], law["words"])
    if kind in ("unary", "subset"):
        return (1 << law["options"],)
    if kind == "rappor":
        return radices(law["kept"])
    if kind == "prefixes":
        return (len(law["lengths"]), *radices(law["inner"]))
    sizes = {"k-ary": "options", "hadamard": "rows"}
    if kind in sizes:
        return (law[sizes[kind]],)
    return (2,) if kind == "sign" else (law["steps"] + law["window"],)


class Report:
    """What leaves: the name of the survey, a random ticket, and the randomised numbers.

    >>> import tacit
    >>> client = tacit.local.Survey(tacit.one_of("tea", "coffee"), epsilon=1).client()
    >>> client.answer("tea").json() == client.answer("tea").json()  # told once, however often it is asked
    True
    """

    def __init__(self, survey: str, ticket: bytes, numbers: Sequence[int], law: Mapping[str, Any]) -> None:
        self.survey, self.ticket, self.numbers, self._law = survey, ticket, tuple(numbers), law

    def json(self) -> str:
        """As JSON text."""
        return canonical({"survey": self.survey, "ticket": self.ticket.hex(), "report": list(self.numbers)})

    def __bytes__(self) -> bytes:
        whole, size = 0, 1
        for number, radix in zip(self.numbers, radices(self._law), strict=True):
            whole, size = whole * radix + number, size * radix
        return bytes.fromhex(self.survey) + self.ticket + whole.to_bytes(((size - 1).bit_length() + 7) // 8, "big")

    def __repr__(self) -> str:
        return f"Report({self.json()})"


class Client:
    """Answers one survey for one person.

    odometer: where this person's device keeps what it has told. Without one this client remembers it as long as the
    client exists; another client of the same person would draw anew, and tell as much again.

    >>> import tacit
    >>> client = tacit.local.Survey(tacit.one_of("tea", "coffee"), epsilon=1).client()
    >>> len(bytes(client.answer("tea")))
    17
    """

    def __init__(self, description: str | Mapping[str, Any], odometer: Any = None) -> None:
        self.description: dict[str, Any] = (
            json.loads(description) if isinstance(description, str) else dict(description)
        )
        if self.description.get("version") != VERSION:
            raise Refused(f"This survey has version {self.description.get('version')!r}; this client knows {VERSION}.")
        missing = [name for name in ("question", "law", "epsilon") if name not in self.description]
        if missing:
            raise Refused(f"This is no survey: it has no {missing[0]!r}.")
        self.law: dict[str, Any] = self.description["law"]
        checked(self.law, self.description["question"])
        self.epsilon = Fraction(self.description["epsilon"])
        if not 0 < self.epsilon <= LARGEST_EPSILON:
            raise Refused(f"A survey's epsilon is above 0 and at most {LARGEST_EPSILON}. Got {self.epsilon} instead.")
        if not is_within(ratio(self.law), self.epsilon):
            told = math.log(ratio(self.law))
            raise Refused(f"The survey states epsilon {float(self.epsilon):g}, and its answers tell {told:g}.")
        self.id = survey_id(self.description)
        self._once: Callable[..., tuple[str, tuple[int, ...]]] = (
            _Remembered().once if odometer is None else odometer.once
        )

    def answer(self, value: Any) -> Report:
        """A report of this answer. The first report is kept, and sent again when asked again.

        A survey that is asked again and again (rappor) keeps its bits instead, and shows them anew each time. They are
        the bits of the first answer, for ever: new bits for a new answer would show everyone that it changed.
        """
        truth = self._read(value)
        if self.law["kind"] == "rappor":
            kept = self._once(self.id, self.epsilon, lambda: ("", randomised(self.law["kept"], int(truth))))
            return self._report(secrets.token_bytes(_TICKET), shown(self.law, kept[1]))
        ticket, numbers = self._once(
            self.id, self.epsilon, lambda: (secrets.token_hex(_TICKET), self._randomised(truth))
        )
        return self._report(bytes.fromhex(ticket), numbers)

    def _read(self, value: Any) -> Any:
        if self.law["kind"] == "nearest":
            return self._unit(value)
        if self.law["kind"] != "prefixes":
            return self.number_of(value)
        if not isinstance(value, str):
            raise Refused(f"This survey asks for a text. Got {value!r} instead.")
        return value

    def _unit(self, value: Any) -> list[float]:
        """A vector of length 1 whose mean is the answer divided by the bound of its length."""
        vector, bound = [float(each) for each in value], float(Fraction(self.description["question"]["norm"]))
        if len(vector) != self.law["dimensions"] or not all(map(math.isfinite, vector)):
            raise Refused(f"This survey asks for {self.law['dimensions']} finite numbers. Got {value!r} instead.")
        length = math.hypot(*vector)
        if length == 0:
            vector, length = [1.0, *vector[1:]], 1.0
            share = 0.0
        else:
            share = min(length / bound, 1.0)
        sign = 1 if secrets.randbelow(1 << 53) < (1 + share) / 2 * (1 << 53) else -1
        return [sign * each / length for each in vector]

    def _randomised(self, truth: Any) -> tuple[int, ...]:
        return text_report(self.law, truth) if isinstance(truth, str) else randomised(self.law, truth)

    def _report(self, ticket: bytes, numbers: Sequence[int]) -> Report:
        return Report(self.id, ticket, numbers, self.law)

    def number_of(self, value: Any) -> int:
        """The number of the option that a value is, or of its steps between the bounds."""
        asked = self.description["question"]
        if "values" in asked:
            listed = [list(each) if isinstance(each, (list, tuple)) else each for each in asked["values"]]
            wanted = list(value) if isinstance(value, (list, tuple)) else value
            for place, each in enumerate(listed):
                if each == wanted and isinstance(each, bool) == isinstance(wanted, bool):
                    return place
            raise Refused(f"{value!r} is no answer to this survey. Answers: {', '.join(map(str, listed))}.")
        low, high = Fraction(asked["low"]), Fraction(asked["high"])
        place = (min(max(Fraction(value), low), high) - low) / (high - low) * asked["steps"]
        below: int = math.floor(place)
        part = place - below  # rounded up with this probability, so that rounding moves no mean
        return below + int(secrets.randbelow(part.denominator) < part.numerator)


class _Remembered:
    """An odometer without a file and without a limit."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[str, tuple[int, ...]]] = {}

    def once(
        self, survey: str, epsilon: Fraction, draw: Callable[[], tuple[str, tuple[int, ...]]]
    ) -> tuple[str, tuple[int, ...]]:
        """The report that was sent before, or a new one."""
        if survey not in self._told:
            self._told[survey] = draw()
        return self._told[survey]
