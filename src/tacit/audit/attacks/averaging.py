"""Averaging: the same question again and again, until the noise has averaged away.

The naive server draws new noise for every repetition and forgets what it has told. The mean of K answers has 1/sqrt(K)
of the noise, so a thousand repetitions give a count exactly. The curator stores its answer: if asked again, in any
wording, it returns the same one and charges nothing.

Each group is a trial: the attacker knows all but one of its members, and a coin decided whether the last one is in.
"""

from __future__ import annotations

import numpy as np

from tacit import parameters
from tacit.audit.attacks.attempt import Attempt, Rates, attempted
from tacit.audit.attacks.sandbox import made_up, one_column
from tacit.mechanisms import Laplace
from tacit.parameters import Number

SPELLINGS = (
    "SELECT team, count(*) AS n FROM people GROUP BY team ORDER BY team",
    "select people.team, COUNT(*) n from people group by people.team order by people.team",
    'SELECT p.team, count(*) AS "n" FROM people AS p GROUP BY 1 ORDER BY 1',
)


def averaging(epsilon: Number = "1/2", *, groups: int = 200, repeats: int = 2_000, seed: int = 1) -> Attempt:
    """Find out who is in a group by averaging repeated counts.

    >>> done = averaging(epsilon="1/2", groups=20)
    >>> done.naive, round(done.ceiling, 2)
    (1.0, 0.62)
    """

    def run() -> Rates:
        rng = np.random.default_rng(seed)
        known = rng.integers(5, 30, groups)
        joined = rng.integers(0, 2, groups)
        counts = known + joined
        mechanism = Laplace(sensitivity=1, epsilon=epsilon)
        seen = np.zeros(groups)
        for _ in range(repeats):
            seen += mechanism.release(counts)
        naive = float(np.mean((seen / repeats > known + 0.5) == joined))
        columns = {"team": (np.repeat(np.arange(groups), counts), (0, groups - 1))}
        with made_up(columns, parameters.positive("epsilon", epsilon)) as curator:
            answers = [curator.ask(each, epsilon) for each in SPELLINGS * 3]
        told = np.array([one_column(each, "n") for each in answers])
        private = float(np.mean((told.mean(axis=0) > known + 0.5) == joined))
        stored = sum(each.repeated for each in answers)
        words = (
            f"{repeats} fresh answers were averaged; the curator gave its stored one {stored} times of {len(answers)}."
        )
        return Rates(naive, private, 0.5, groups, words)

    return attempted("averaging", "tell whether one more person is in a group", run, epsilon=epsilon)
