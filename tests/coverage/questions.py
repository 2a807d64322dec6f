"""The list of questions in `questions.toml`, as values."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from tacit.plan import asked

FILE = Path(__file__).parent / "questions.toml"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of the list, and what plain DuckDB is asked to compare with ("" for nothing)."""

    theme: str
    sql: str
    plain: str
    epsilon: int
    refused: bool

    @property
    def price(self) -> asked.Asked:
        """What is paid; nothing is said of it where the text does."""
        return asked.Asked.of() if "PRIVACY" in self.sql else asked.Asked.of(self.epsilon, delta="1/1000000")


def _read(item: dict[str, object]) -> Asked:
    sql = " ".join(str(item["sql"]).split())
    plain = " ".join(str(item.get("plain", sql)).split())
    epsilon = item.get("epsilon", 10_000_000)
    assert isinstance(epsilon, int)
    return Asked(str(item["theme"]), sql, plain, epsilon, bool(item.get("refused", False)))


QUESTIONS: tuple[Asked, ...] = tuple(map(_read, tomllib.loads(FILE.read_text(encoding="utf-8"))["question"]))
