"""What a request says, read strictly: a JSON object with known keys, numbers exactly as they were written.

Promise: nothing that was sent is dropped or guessed. A key that is not known is refused, and so is one that is given
twice, a number that is not finite, and a text that is not JSON. `0.1` is a tenth.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from tacit import parameters
from tacit.doors.http.problems import Problem
from tacit.plan.asked import Asked
from tacit.policy.check import did_you_mean

LONGEST: Final = 256 * 1024
"""Bytes of a request's body, at most."""
MOST_QUESTIONS: Final = 100
_DEEPEST: Final = 20

Read = Callable[[str, Any], Any]


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise parameters.refuse(name, "a text", value)
    return value


def _number(name: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal, str)):
        raise parameters.refuse(name, 'a number, or a text such as "0.1" or "5%"', value)
    return value


def _whole(name: str, value: Any) -> int:
    return parameters.whole(name, value, least=1)


def _weights(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise parameters.refuse(name, 'an object such as {"n": 2}', value)
    return {key: _number(name, each) for key, each in value.items()}


def _object_of(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise parameters.refuse(name, 'an object such as {"epsilon": "0.1"}', value)
    return value


def _objects(name: str, value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not 0 < len(value) <= MOST_QUESTIONS:
        raise parameters.refuse(name, f"a list of 1 to {MOST_QUESTIONS} objects", value)
    return [_object_of(name, each) for each in value]


def _texts(name: str, value: Any) -> list[str]:
    if not isinstance(value, list) or len(value) > MOST_QUESTIONS:
        raise parameters.refuse(name, f"a list of at most {MOST_QUESTIONS} texts", value)
    return [_text(name, each) for each in value]


PRICE: Final[Mapping[str, Read]] = {"epsilon": _number, "delta": _number}
QUESTION: Final[Mapping[str, Read]] = {
    "sql": _text,
    **PRICE,
    "rho": _number,
    "within": _number,
    "rows": _whole,
    "weights": _weights,
    "rows_per_unit": _whole,
    "groups_per_unit": _whole,
}
QUESTIONS: Final[Mapping[str, Read]] = {"questions": _texts, **PRICE}
COLUMN: Final[Mapping[str, Read]] = {"column": _text, "epsilon": _number, "rows_per_unit": _whole}
ROWS: Final[Mapping[str, Read]] = {"sql": _text, "columns": _texts, "rows_per_unit": _whole}
STUDY: Final[Mapping[str, Read]] = {**ROWS, "target": _text, "options": _object_of}
STUDY_ESTIMATE: Final[Mapping[str, Read]] = {**STUDY, "rows": _whole}
STATISTIC: Final[Mapping[str, Read]] = {"name": _text, "study": _text, **ROWS, "options": _object_of}
PUBLICATION: Final[Mapping[str, Read]] = {
    "statistics": _objects,
    **PRICE,
    "level": _number,
    "page": _text,
    "title": _text,
}
WATCH: Final[Mapping[str, Read]] = {
    "sql": _text,
    **PRICE,
    **dict.fromkeys(("every", "since", "until", "time", "wait"), _text),
}
RESUME: Final[Mapping[str, Read]] = {"analyst": _text, "entry": _whole}


def question(body: bytes) -> tuple[str, Asked]:
    """The question in this body, and what is said besides it."""
    said = read(body, QUESTION, "sql")
    return said.pop("sql"), Asked.of(**said)


def read(body: bytes, known: Mapping[str, Read], *needed: str) -> dict[str, Any]:
    """The object in this body, each value read by the reader of its key. A null counts as absent."""
    return taken(parse(body), known, *needed)


def taken(content: Mapping[str, Any], known: Mapping[str, Read], *needed: str) -> dict[str, Any]:
    """The same for an object that was already read."""
    for key in content:
        if key not in known:
            raise Problem(
                400, "unknown key", f"{key[:80]!r}: there is no such key. Keys: {', '.join(known)}.{_near(key, known)}"
            )
    said = {key: known[key](key, value) for key, value in content.items() if value is not None}
    for key in needed:
        if key not in said:
            raise Problem(400, "missing key", f"{key!r} is needed. Keys: {', '.join(known)}.")
    return said


def parse(body: bytes) -> dict[str, Any]:
    """The one JSON object that this body is."""
    try:
        content = json.loads(
            body.decode("utf-8"), parse_float=Decimal, parse_constant=_no_number, object_pairs_hook=_object
        )
    except Problem:
        raise
    except (ValueError, RecursionError, ArithmeticError):
        raise Problem(400, "malformed", "The body is not JSON in UTF-8.") from None
    if not isinstance(content, dict):
        raise Problem(
            400, "malformed", 'The body must be a JSON object, such as {"sql": "SELECT count(*) FROM visits"}.'
        )
    if _depth(content) > _DEEPEST:
        raise Problem(400, "malformed", f"The body nests deeper than {_DEEPEST} levels.")
    return content


def _no_number(text: str) -> Any:
    raise Problem(400, "malformed", f"{text} is no number in JSON.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise Problem(400, "malformed", f"The key {key[:80]!r} is given twice.")
        found[key] = value
    return found


def _depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level:
        deepest += 1
        inner = [each for each in level if isinstance(each, (dict, list))]
        level = [part for each in inner for part in (each.values() if isinstance(each, dict) else each)]
    return deepest


def _near(key: str, known: Mapping[str, Read]) -> str:
    return did_you_mean(key[:80], known)
