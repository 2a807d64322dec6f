"""Too many arguments: functions of which the parser's library keeps the first few and drops the rest without a word.

Promise: nothing that was written is ignored: commas are counted in the text itself, before it is parsed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sqlglot.tokenizer_core import Token, TokenType

from tacit.errors import QuestionError

_MOST: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("quantile", "quantile_cont", "quantile_disc", "percentile"), 2),
        **dict.fromkeys(("date_diff", "datediff", "timestamp_diff", "timestampdiff", "datetime_diff"), 3),
        **dict.fromkeys(("date_trunc", "datetrunc", "timestamp_trunc", "datetime_trunc", "trunc"), 2),
        **dict.fromkeys(("strftime", "format_date", "format_timestamp", "to_char", "date_format"), 2),
        **dict.fromkeys(("mod", "div", "ltrim", "rtrim", "trim", "btrim"), 2),
        **dict.fromkeys(("log10", "log2"), 1),
        **dict.fromkeys(("date_to_date_str", "time_to_time_str", "ts_or_ds_to_date_str"), 1),
    }
)
"""How many arguments these take at most, in any dialect."""

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})


def check_arguments(tokens: Sequence[Token]) -> None:
    """Refuse a call with more arguments than its function has."""
    calls: list[tuple[Token | None, int]] = []  # the open brackets: the function of each, and its commas so far
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.token_type in _OPENING:
            named = before is not None and before.token_type != TokenType.STRING and before.text.lower() in _MOST
            calls.append((before if named and token.token_type == TokenType.L_PAREN else None, 0))
        elif token.token_type == TokenType.COMMA and calls:
            calls[-1] = (calls[-1][0], calls[-1][1] + 1)
        elif token.token_type in _CLOSING and calls:
            function, commas = calls.pop()
            if function is not None and commas + 1 > _MOST[function.text.lower()]:
                most = _MOST[function.text.lower()]
                raise QuestionError(
                    f"{function.text} takes at most {most} argument{'s' * (most > 1)} and got {commas + 1} "
                    f"(line {function.line}, column {max(function.col - len(function.text) + 1, 1)})."
                )
