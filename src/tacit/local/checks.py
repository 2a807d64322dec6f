"""What a client checks of a survey before it answers, in exact arithmetic. Standard library only; part of the client.

Promise: a survey that passes reveals at most its stated epsilon of any answer that the client accepts, whoever wrote
its description. `ratio` is the largest ratio of the probabilities of one report under two true answers *that the law is
made for*; `checked` makes sure that the question has no others; `is_within` compares the ratio with exp(epsilon).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

LARGEST_EPSILON = 30  # beyond it nothing is hidden


class Refused(ValueError):
    """The client does not answer: the sentence says why.

    >>> import tacit
    >>> tacit.local.Survey(tacit.one_of("tea", "coffee"), epsilon=1).client().answer("milk")
    Traceback (most recent call last):
    ...
    tacit.local.checks.Refused: 'milk' is no answer to this survey. Answers: tea, coffee.
    """


# which question a randomiser answers: the truth is the number of one of `values`, a number of `steps`, ...
_ASKED = {
    **dict.fromkeys(("k-ary", "unary", "hashing", "hadamard", "subset", "rappor"), "values"),
    **dict.fromkeys(("sign", "window", "either", "moments"), "steps"),
    "nearest": "dimensions",
    "prefixes": "texts",
}


def checked(law: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Refuse a law that is not made for this question.

    `ratio` bounds what is told about the true answers that a law is made for. Any other one, such as the ninth answer
    under a law for two, would leave as it is.
    """
    kind = law.get("kind")
    if kind not in _ASKED:
        raise Refused(f"This client knows no randomiser {kind!r}. It may be older than the survey: update it.")
    if [each for each in ("values", "steps", "dimensions", "texts") if each in asked] != [_ASKED[kind]]:
        raise Refused(f"A survey of kind {kind} asks for {_ASKED[kind]}, and for nothing else.")
    answers = len(asked["values"]) if "values" in asked else 0
    if kind in ("either", "moments"):
        if len(law["parts"]) != 2 or any(part.get("kind") not in ("sign", "window") for part in law["parts"]):
            raise Refused("A coin decides between two randomisers of one number.")
        for part in law["parts"]:
            checked(part, asked)
        return
    if kind in ("rappor", "prefixes"):
        part, name = (law["kept"], "unary") if kind == "rappor" else (law["inner"], "hashing")
        if part.get("kind") != name:
            raise Refused(f"A survey of kind {kind} has another randomiser inside: {part.get('kind')!r}.")
        checked(part, asked if kind == "rappor" else {"values": range(1 << 32)})
    if kind == "prefixes":
        lengths = law["lengths"]
        _wholes(law, 1, "longest")
        if not lengths or any(type(each) is not int or not 1 <= each <= 8 * law["longest"] for each in lengths):
            raise Refused("The lengths of prefixes must lie between 1 and the bits of the longest text.")
        return
    if kind in ("unary", "rappor"):
        if kind == "unary":
            _equal(law, "options", answers)
        ends = [Fraction(*law[name]) for name in ("one", "zero") if all(type(each) is int for each in law[name])]
        if len(ends) != 2 or not (0 < ends[1] < ends[0] < 1) or min(*law["one"], *law["zero"]) < 1:
            raise Refused("The bits of a unary report need probabilities 0 < q < p < 1, of whole numbers.")
        return
    _wholes(law, 1, "keep", "other")
    if law["keep"] < law["other"]:
        raise Refused("The truth must weigh at least as much as anything else.")
    if kind in ("sign", "window"):
        _wholes(asked, 1, "steps")
        _equal(law, "steps", asked["steps"])
        _wholes(law, 1, *(["window"] if kind == "window" else []))
    elif kind == "nearest":
        _wholes(law, 1, "near", "seed")
        _wholes(law, law["near"] + 1, "words")
        _wholes(law, 2, "dimensions")
    elif kind == "hashing":
        _wholes(law, 2, "cells", "word")
        if law["word"] % 2:
            raise Refused("The words of a random function must have an even number of bits.")
    elif kind == "hadamard":
        _wholes(law, answers + 1, "rows")
        if law["rows"] & (law["rows"] - 1):
            raise Refused("A Hadamard matrix of this kind has a power of two of rows.")
    else:
        _equal(law, "options", answers)
        if kind == "subset":
            _wholes(law, 1, "size")
            _wholes(law, law["size"] + 1, "options")


def _wholes(law: Mapping[str, Any], least: int, *names: str) -> None:
    for name in names:
        if type(law.get(name)) is not int or law[name] < least:
            raise Refused(
                f"The {name!r} of a survey must be a whole number of at least {least}. Got {law.get(name)!r}."
            )


def _equal(law: Mapping[str, Any], name: str, wanted: int) -> None:
    if type(law.get(name)) is not int or law[name] != wanted:
        raise Refused(f"The law of this survey has {law.get(name)!r} {name}, and its question {wanted!r}.")


def ratio(law: Mapping[str, Any]) -> Fraction:
    """The largest ratio of the probabilities of one report under two answers, exactly."""
    if law["kind"] == "unary":
        p, q = Fraction(*law["one"]), Fraction(*law["zero"])
        return p * (1 - q) / (q * (1 - p))
    if law["kind"] in ("either", "moments"):
        return max(ratio(part) for part in law["parts"])
    if law["kind"] in ("rappor", "prefixes"):  # whatever the number of reports, or the length
        return ratio(law["kept" if law["kind"] == "rappor" else "inner"])
    return Fraction(law["keep"], law["other"])


def is_within(found: Fraction, epsilon: Fraction) -> bool:
    """Whether a ratio is at most exp(epsilon): some first part of the exponential's series reaches it. Exact."""
    term, total, order = Fraction(1), Fraction(1), 0
    while total < found and (order <= epsilon or term > Fraction(1, 1 << 200)):
        order += 1
        term *= epsilon / order
        total += term
    return total >= found
