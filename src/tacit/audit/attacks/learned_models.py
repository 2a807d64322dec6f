"""Membership and inversion against the models that people use: scikit-learn's, and those of `tacit.learning`.

Both models are made by their public names and seen through their public methods. scikit-learn's logistic regression has
more features than rows and almost no penalty, so that it memorises its rows; `tacit.learning.LogisticRegression`
sees the same rows at (epsilon, delta), a row being a unit. scikit-learn is the extra `tacit[learn]`.

- Membership by loss (Yeom et al. 2018): a candidate with a larger margin than half-way between what members and others
  have in shadow models was in. Neighbours differ by such a row, so the ceiling is that of the budget.
- Inversion (Fredrikson, Jha, Ristenpart 2015): each class is a person with one picture. For a linear model the best
  picture of a class is its row of coefficients; the attacker picks the most similar face out of a line-up. Another face
  for a person is one removal and one addition (`replacing`).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tacit.audit.attacks.attempt import Attempt, Rates, attempted, ceiling, replacing
from tacit.audit.attacks.inversion import cosines
from tacit.audit.attacks.logistic import Reals
from tacit.audit.attacks.membership_in_models import by_loss
from tacit.parameters import Number

_PENALTY = 1e4  # scikit-learn's C: almost no penalty
_REACH = 4.0  # bounds of standard normal features, stated without a look at them
_PIXELS = 64


def membership_in_learned(
    epsilon: Number = 1,
    delta: Number = "1e-6",
    *,
    candidates: int = 120,
    features: int = 300,
    pairs: int = 4,
    seed: int = 1,
) -> Attempt:
    """Find out by its loss whether a published model was trained on a row.

    >>> done = membership_in_learned(epsilon=1, candidates=20, features=50, pairs=1)
    >>> round(done.ceiling, 2), done.naive > done.ceiling
    (0.73, True)
    """

    def run() -> Rates:
        rng = np.random.default_rng(seed)
        rows = np.clip(rng.standard_normal((candidates, features)), -_REACH, _REACH)
        labels = rng.integers(0, 2, candidates)
        halves = rng.integers(0, 2, (pairs, candidates)) == 1
        members = np.vstack([rng.integers(0, 2, candidates) == 1, halves, ~halves])
        rates = []
        for make in (_plain, lambda: _private(epsilon, delta, [0, 1])):
            seen = [_margins(make().fit(rows[inside], labels[inside]), rows, labels) for inside in members]
            rates.append(float(np.mean(by_loss(np.array(seen), members) == members[0])))
        words = f"{int(members[0].sum())} rows of {features} features; {2 * pairs} shadow models."
        return Rates(rates[0], rates[1], 0.5, candidates, words)

    name = "membership in learned models"
    return attempted(name, "tell whether a row was trained on", run, epsilon=epsilon, delta=delta)


def inversion_of_learned(
    epsilon: Number = 1, delta: Number = "1e-6", *, people: int = 40, line_up: int = 20, seed: int = 1
) -> Attempt:
    """Show the faces that a published classifier of people was trained on.

    >>> done = inversion_of_learned(epsilon=1, people=5, line_up=5)
    >>> done.naive, round(done.ceiling, 2)
    (1.0, 0.65)
    """

    def run() -> Rates:
        rng = np.random.default_rng(seed)
        faces = np.clip(rng.standard_normal((people, line_up, _PIXELS)), -_REACH, _REACH)  # the first one is true
        labels = np.arange(people)
        models = [_plain(), _private(epsilon, delta, labels.tolist())]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the warning that there are as many classes as rows
            shown = [np.asarray(model.fit(faces[:, 0], labels).coef_) for model in models]
        alike = [cosines(faces, each) for each in shown]
        rates = [float(np.mean(each.argmax(axis=1) == 0)) for each in alike]
        like = [float(np.median(each[:, 0])) for each in alike]
        words = (
            f"Likeness of coefficients and face (cosine): {like[0]:.2f} from scikit-learn's, {like[1]:.2f} from ours."
        )
        return Rates(rates[0], rates[1], 1 / line_up, people, words)

    return attempted(
        "inversion of learned models",
        "pick a person out of a line-up by the model alone",
        run,
        epsilon=epsilon,
        delta=delta,
        most=lambda budget: ceiling(replacing(budget), candidates=line_up),
    )


def _plain() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=_PENALTY, max_iter=500)


def _private(epsilon: Number, delta: Number, classes: list[int]) -> Any:
    from tacit.learning import LogisticRegression

    return LogisticRegression(epsilon=epsilon, delta=delta, bounds=(-_REACH, _REACH), classes=classes)


def _margins(model: Any, rows: Reals, labels: Any) -> Reals:
    return np.asarray(model.decision_function(rows) * (2 * labels - 1))
