"""Methods that take a price in words: `ask(sql, epsilon=0.1, rows=1000)` for people, `ask(sql, asked)` for a door.

Promise: what an asker may say is listed in one place, `Asked.of`, and checked there before anything else happens. A
method under `@in_words` takes it as one value; its callers, `help()`, tab completion and type checkers see keywords.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from tacit.plan.asked import Asked
from tacit.policy.check import did_you_mean

_Words = ParamSpec("_Words")
_Who = TypeVar("_Who")
_Found = TypeVar("_Found")


def _in_words_of(
    of: Callable[_Words, Asked],
) -> Callable[[Callable[[_Who, object, Asked], _Found]], Callable[Concatenate[_Who, object, _Words], _Found]]:
    def in_words(
        method: Callable[[_Who, object, Asked], _Found],
    ) -> Callable[Concatenate[_Who, object, _Words], _Found]:
        known = tuple(inspect.signature(of).parameters)

        @wraps(method)
        def said(who: _Who, sql: object, *words: _Words.args, **named: _Words.kwargs) -> _Found:
            for word in named:
                if word not in known:
                    hint = did_you_mean(word, known)
                    raise TypeError(f"{method.__name__} takes no {word!r}. It takes: {', '.join(known)}.{hint}")
            return method(who, sql, of(*words, **named))

        own = inspect.signature(method)
        words = inspect.signature(of).parameters.values()
        shown = own.replace(parameters=[*list(own.parameters.values())[:2], *words])
        said.__signature__ = shown  # type: ignore[attr-defined]  # what `inspect.signature` looks for
        return said  # type: ignore[return-value]  # `sql` may be named as well, which `Concatenate` cannot say

    return in_words


in_words = _in_words_of(Asked.of)
"""The same method, with the words of `Asked.of` in the place of its last parameter."""
