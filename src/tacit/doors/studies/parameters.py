"""What a study takes: its parameters, read from its own signature, and how values from JSON or text are read.

Promise: nothing is offered that the signature does not have, and nothing is dropped: an unknown name is refused with
the known names. Numbers stay as they were written (`0.1` is a tenth); the study decides which ones it accepts. Facts
that a policy states (bounds, values, classes) and who pays cannot be given here.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal, get_args, get_type_hints

from tacit import parameters

Kind = Literal["number", "whole", "truth", "text", "json"]
ELSEWHERE: Final = frozenset({"data", "columns", "analyst", "rows_per_unit"})  # given in places of their own
STATED: Final = frozenset({"bounds", "values", "classes", "target_bounds"})
"""What the policy says."""
_NOT_SENT: Final = frozenset({"prior", "progress", "constraints"})
"""Models, functions and conditions in SQL do not cross a door."""
_NO_VALUE: Final = ("Callable", "Loss", "Progress")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a study, other than its rows."""

    name: str
    kind: Kind
    needed: bool
    default: Any = None

    def read(self, value: Any) -> Any:
        """A value from JSON, as the study takes it."""
        return _READERS[self.kind](self.name, value)

    def read_text(self, text: str) -> Any:
        """A value that a person typed, as the study takes it."""
        if self.kind in ("text", "number"):
            return text
        try:
            return self.read(json.loads(text, parse_float=Decimal))
        except ValueError:
            return self.read(text)


def parameters_of(made: Callable[..., Any]) -> tuple[Parameter, ...] | None:
    """What this study or model takes; None where it takes a function, which cannot be sent."""
    found: list[Parameter] = []
    for each in inspect.signature(made).parameters.values():
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            found += [
                Parameter(name, _kind(name, written), needed=False)
                for name, written in _record(made, each.name).items()
                if name not in ELSEWHERE | STATED | _NOT_SENT
            ]
            continue
        written, needed = str(each.annotation), each.default is inspect.Parameter.empty
        if each.name in ELSEWHERE | STATED | _NOT_SENT:
            continue
        if any(word in written for word in _NO_VALUE) or each.kind is inspect.Parameter.VAR_POSITIONAL:
            return None
        needed = needed or each.name == "epsilon"
        found.append(Parameter(each.name, _kind(each.name, written), needed, None if needed else each.default))
    return tuple(found)


def chosen(known: tuple[Parameter, ...], said: Mapping[str, Any], what: str) -> dict[str, Any]:
    """The given options, each read as its kind; refused where a name does not exist, or one is missing."""
    by_name = {each.name: each for each in known}
    for name in said:
        if name in STATED:
            raise parameters.refuse(name, "left out: the policy states it", said[name])
        if name not in by_name:
            raise parameters.refuse(f"option of {what}", f"one of {', '.join(by_name)}", name)
    found = {name: by_name[name].read(value) for name, value in said.items() if value is not None}
    for each in known:
        if each.needed and each.name not in found:
            raise parameters.refuse(each.name, f"given: {what} needs it", None)
    return found


def _record(made: Callable[..., Any], name: str) -> dict[str, str]:
    """The names and annotations of the record that options are typed with."""
    record = get_args(get_type_hints(made).get(name))
    if not record:
        return {}
    return {each: getattr(hint, "__forward_arg__", str(hint)) for each, hint in record[0].__annotations__.items()}


def _kind(name: str, written: str) -> Kind:
    if name in ("epsilon", "delta", "level"):
        return "number"
    plain = written.replace("parameters.", "").replace(" | None", "").strip("'\"")
    kinds: dict[str, Kind] = {"Number": "number", "int": "whole", "bool": "truth", "str": "text"}
    return kinds.get(plain, "json")


def _number(name: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):
        raise parameters.refuse(name, 'a number, or a text such as "0.1"', value)
    return value


def _whole(name: str, value: Any) -> int:
    return parameters.whole(name, value, least=0)


def _truth(name: str, value: Any) -> bool:
    words = {"true": True, "yes": True, "false": False, "no": False}
    said = words.get(value.lower(), value) if isinstance(value, str) else value
    if not isinstance(said, bool):
        raise parameters.refuse(name, "true or false", value)
    return said


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise parameters.refuse(name, "a text", value)
    return value


def _json(_: str, value: Any) -> Any:
    """Numbers inside lists as Python writes them: the study reads their meaning."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [_json("", each) for each in value]
    if isinstance(value, dict):
        return {key: _json("", each) for key, each in value.items()}
    return value


_READERS: Final[Mapping[Kind, Callable[[str, Any], Any]]] = {
    "number": _number,
    "whole": _whole,
    "truth": _truth,
    "text": _text,
    "json": _json,
}
