"""Error messages: a question that fails for one value alone reveals that value, whatever noise is on its answer.

The naive server adds good noise to its counts, but passes the database's errors on: `1 // (age - 86)` divides by zero
exactly when a matching person is 86. With CASE the attacker asks which half the age lies in, and finds any age among
128 in 7 questions that were never charged, because they failed or their answers were thrown away.
The curator plans without rows, so nothing about them can make a question fail: an expression that has no value for a
row is missing there. All questions are charged, and what the attacker sees is noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np

from tacit import parameters
from tacit.audit.attacks.attempt import Attempt, Rates, attempted, ceiling, replacing
from tacit.audit.attacks.sandbox import Whole, made_up
from tacit.errors import TacitError
from tacit.parameters import Number

AGES = 128
STEPS = 7
Fails: TypeAlias = Callable[[str], bool]
"""Whether the server answers this question with an error."""


def error_messages(epsilon: Number = 1, *, people: int = 200, targets: int = 10, seed: int = 1) -> Attempt:
    """Find out people's ages by which questions fail.

    >>> done = error_messages(epsilon=1, people=20, targets=1)
    >>> done.naive, round(done.ceiling, 2)
    (1.0, 0.05)
    """

    def run() -> Rates:
        rng = np.random.default_rng(seed)
        ages = rng.integers(0, AGES, people)
        with _naive_server(ages) as fails:
            naive = [_age_by_errors(fails, target) for target in range(targets)]
        exact = parameters.positive("epsilon", epsilon)
        columns = {"seat": (np.arange(people), (0, people - 1)), "age": (ages, (0, AGES - 1))}
        failed = 0
        with made_up(columns, exact) as curator:

            def refuses(sql: str) -> bool:
                nonlocal failed
                try:
                    curator.ask(sql, exact / (targets * STEPS))
                except TacitError:
                    failed += 1
                    return True
                return False

            private = [_age_by_errors(refuses, target) for target in range(targets)]
        words = f"Of {targets * STEPS} questions to the curator {failed} failed."
        right = [float(np.mean(np.array(said) == ages[:targets])) for said in (naive, private)]
        return Rates(right[0], right[1], 1 / AGES, targets, words)

    return attempted(
        "error messages",
        "tell a person's age",
        run,
        epsilon=epsilon,
        most=lambda budget: ceiling(replacing(budget), candidates=AGES),
    )


def question(seat: int, below: int) -> str:
    """Divides by zero if the person at this seat is younger than `below`."""
    divisor = f"CASE WHEN seat = {seat} AND age < {below} THEN 0 ELSE 1 END"
    return f"SELECT count(*) AS n FROM people WHERE 1 // ({divisor}) = 1"  # noqa: S608 - made of numbers


def _age_by_errors(fails: Fails, seat: int) -> int:
    """Halve the range until one age is left."""
    low, high = 0, AGES
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(question(seat, middle)) else (middle, high)
    return low


@contextmanager
def _naive_server(ages: Whole) -> Iterator[Fails]:
    """DuckDB behind a counter that adds noise to counts, and shows its errors."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE people (seat INTEGER, age INTEGER)")
        connection.executemany("INSERT INTO people VALUES (?, ?)", list(enumerate(ages.tolist())))

        def fails(sql: str) -> bool:
            try:
                connection.execute(sql).fetchall()  # the noise that would be added now makes no difference
            except duckdb.Error:
                return True
            return False

        yield fails
