"""How a CSV file is read: every parameter of it, stated by the owner or one of the fixed defaults below.

Promise: nothing is detected from the rows. What a line means depends on these values and on that line alone, so that
one person's row cannot change how another's is read. `tacit init` looks at a file once, for the owner, and writes what
it found into the policy, where it can be seen and corrected.

    delimiter = ","      between two values: one character
    quote = '"'          around a value that holds a delimiter, a quote or a line break; "" for a file without quotes
    escape = '"'         before a quote inside quotes; the quote itself, doubled, unless another character is stated
    encoding = "utf-8"   or latin-1, windows-1252, utf-16
    null = [""]          texts that mean: no value, in quotes or without
    decimal = "."        or ","
    thousands = ""       what groups digits, if anything: ",", ".", "'", "_", or a space
    comment = ""         a line that begins with this character is left out; "" for a file without comments
    header = true        the first line names the columns; without one they are called c0, c1, ...
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, get_args

from tacit.errors import PolicyError

Encoding = Literal["utf-8", "latin-1", "windows-1252", "utf-16"]
ENCODINGS: Final[tuple[Encoding, ...]] = get_args(Encoding)
KEYS: Final = ("delimiter", "quote", "escape", "encoding", "null", "decimal", "thousands", "comment", "header")
DECIMALS: Final = (".", ",")
THOUSANDS: Final = ("", ",", ".", "'", "’", "_", " ", "\u00a0", "\u2009", "\u202f")


@dataclass(frozen=True, slots=True)
class CsvReading:
    """Everything that decides how the bytes of a CSV file become texts, and how its texts become numbers.

    >>> CsvReading(delimiter=";", decimal=",").escape
    '"'
    """

    delimiter: str = ","
    quote: str = '"'
    escape: str = ""
    encoding: Encoding = "utf-8"
    null: tuple[str, ...] = ("",)
    decimal: str = "."
    thousands: str = ""
    comment: str = ""
    header: bool = True

    def __post_init__(self) -> None:
        if self.escape == "":
            object.__setattr__(self, "escape", self.quote)
        for key, problem in _problems(self):
            raise PolicyError(f"{key}: {problem}")

    @property
    def doubled(self) -> bool:
        """Whether a quote inside quotes is written twice."""
        return self.escape == self.quote

    @property
    def plain_numbers(self) -> bool:
        """Whether numbers are written as SQL writes them."""
        return self.decimal == "." and self.thousands == ""

    def stated(self) -> dict[str, str | bool | list[str]]:
        """What differs from the defaults, by key: a policy must state this."""
        plain = CsvReading(quote=self.quote)
        found = {key: getattr(self, key) for key in KEYS if getattr(self, key) != getattr(plain, key)}
        if self.quote != PLAIN.quote:
            found["quote"] = self.quote
        return {key: list(value) if isinstance(value, tuple) else value for key, value in found.items()}


def _problems(reading: CsvReading) -> Iterator[tuple[str, str]]:
    for key in ("delimiter", "quote", "escape", "comment"):
        value = getattr(reading, key)
        if value == "" and key != "delimiter":
            continue
        if not isinstance(value, str) or len(value) != 1 or not _marks(value):
            none = "" if key == "delimiter" else ', or "" for none'
            yield key, f"one ASCII character that is no letter, digit or line break is wanted{none}. Got {value!r}."
    if reading.delimiter in (reading.quote, reading.escape, reading.comment):
        yield "delimiter", f"it must differ from quote, escape and comment. Got {reading.delimiter!r} for both."
    if reading.comment and reading.comment in (reading.quote, reading.escape):
        yield "comment", f"it must differ from quote and escape. Got {reading.comment!r} for both."
    if reading.escape and not reading.quote:
        yield "escape", "a file without quotes has none. Leave this key out."
    if reading.encoding not in ENCODINGS:
        yield "encoding", f"one of {', '.join(ENCODINGS)} is wanted. Got {reading.encoding!r} instead."
    if not isinstance(reading.null, tuple) or not all(isinstance(each, str) for each in reading.null):
        yield "null", f'a list of texts is wanted, such as ["", "NA"]. Got {reading.null!r} instead.'
    if reading.decimal not in DECIMALS:
        yield "decimal", f'"." or "," is wanted. Got {reading.decimal!r} instead.'
    if reading.thousands not in THOUSANDS:
        yield "thousands", f"one of {', '.join(map(repr, THOUSANDS))} is wanted. Got {reading.thousands!r} instead."
    elif reading.thousands == reading.decimal:
        yield "thousands", f"it must differ from decimal. Got {reading.decimal!r} for both."
    if not isinstance(reading.header, bool):
        yield "header", f"true or false is wanted. Got {reading.header!r} instead."


def _marks(character: str) -> bool:
    return character.isascii() and not character.isalnum() and character not in "\x00\n\r\x1f"


PLAIN: Final = CsvReading()
"""The reading of a file about which nothing was stated."""
