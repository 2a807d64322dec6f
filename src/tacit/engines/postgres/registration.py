"""Registration in PostgreSQL: the words in which `engines.registration` is said there.

Promise: that of `engines.registration`. Whole numbers and text have the same hash on every server. The key of the ranks
is made on the server and stays there: these words name where it lies, and never hold it.
"""

# this is where SQL is written; names and values come from the policy, through `quoting`

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tacit.engines import quoting
from tacit.engines.cleaning import Words
from tacit.engines.postgres import cleaning as postgres_cleaning

KEY: Final = "tacit.rank_key"
"""The setting that holds the key of the ranks where there is no copy; it is made on the server."""

FRESH: Final = "sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))"
"""A new secret, made where it is kept: 244 random bits."""


@dataclass(frozen=True, slots=True)
class PostgresFlavour:
    """PostgreSQL's words for a registration. `secret` is an expression for the bytes of the ranks' key.

    Keys are `short`, unless nothing is done with them but hashing.
    """

    secret: str
    short: bool = True

    @property
    def words(self) -> Words:
        """Looked at before it is cast."""
        return postgres_cleaning.WORDS if self.short else postgres_cleaning.WITH_LONG_KEYS

    def digest(self, values: str) -> str:
        """64 bits; whole numbers and text have the same hash on every server."""
        return f"hash_record_extended(ROW({values}), 0)"

    @staticmethod
    def hashed(unit: str, whole: bool) -> str:
        """64 bits of a unit, a whole number or a text; equal units have equal ones."""
        return f"hashint8extended({unit}, 0)" if whole else f"hashtextextended({unit}, 0)"

    def order(self, table: str) -> str:
        """A SHA-256, which is compared as bytes."""
        label = quoting.text(f":{table}:")
        return f"sha256((SELECT {self.secret}) || convert_to({label} || tacit_digest || ':' || tacit_twin, 'UTF8'))"

    def number(self) -> str:
        """1, 2, 3, ..."""
        return "row_number() OVER ()"
