"""Model inversion: a classifier of people shows what they look like.

Each class of the model is a person, each training row a picture of one. The attacker has the weights and nothing else,
climbs from an empty picture towards a class by the model's own gradient (Fredrikson, Jha, Ristenpart 2015), and then
picks the person out of a line-up: the true face and look-alikes drawn by the same law.

The private model is trained by noisy gradients for the same number of steps, where the unit is a person with all their
pictures. Another face for a person is one removal and one addition, and the ceiling is that of `replacing`.
"""

from __future__ import annotations

import numpy as np

from tacit.audit.attacks.attempt import Attempt, Rates, attempted, ceiling, replacing
from tacit.audit.attacks.network import Labels, Reals, Shape, begin, input_gradient, noise_for, train
from tacit.parameters import Number

_PIXELS, _PICTURES, _STEPS, _RATE = 64, 5, 60, 0.5


def model_inversion(
    epsilon: Number = 1,
    delta: Number = "1e-9",
    *,
    hidden: int = 32,
    people: int = 40,
    line_up: int = 20,
    seed: int = 1,
) -> Attempt:
    """Show the faces a classifier was trained on; `hidden=0` is a linear model.

    >>> done = model_inversion(epsilon=1, hidden=0, people=4, line_up=5)
    >>> done.naive, round(done.ceiling, 2)
    (1.0, 0.65)
    """

    def run() -> Rates:
        rng = np.random.default_rng(seed)
        faces = rng.standard_normal((people, line_up, _PIXELS))  # the first of each line-up is the true one
        labels = np.repeat(np.arange(people), _PICTURES)
        rows = faces[labels, 0] + 0.3 * rng.standard_normal((labels.size, _PIXELS))
        shape = Shape(_PIXELS, hidden, people)
        start = begin(shape, rng)
        noise = noise_for(shape.size, _STEPS, epsilon, delta)
        plain = train(shape, start, rows, labels, labels, people=people, steps=_STEPS, rate=10 * _RATE)
        private = train(shape, start, rows, labels, labels, people=people, steps=_STEPS, rate=_RATE, noise=noise)
        shown = [invert(shape, weights, np.arange(people)) for weights in (plain, private)]
        rates = [float(np.mean(cosines(faces, each).argmax(axis=1) == 0)) for each in shown]
        like = [float(np.median(cosines(faces, each)[:, 0])) for each in shown]
        words = (
            f"Likeness of picture and face (cosine): {like[0]:.2f} from the plain model, {like[1]:.2f} from tacit's."
        )
        return Rates(rates[0], rates[1], 1 / line_up, people, words)

    return attempted(
        "model inversion" if hidden else "model inversion, linear",
        "pick a person out of a line-up by the model alone",
        run,
        epsilon=epsilon,
        delta=delta,
        most=lambda budget: ceiling(replacing(budget), candidates=line_up),
    )


def invert(shape: Shape, weights: Reals, labels: Labels, steps: int = 100) -> Reals:
    """For each class, a small picture of which the model is sure."""
    pictures = np.zeros((labels.size, shape.inputs))
    for _ in range(steps):
        pictures -= 0.5 * (input_gradient(shape, weights, pictures, labels) + 0.01 * pictures)
    return pictures


def cosines(faces: Reals, pictures: Reals) -> Reals:
    """The cosine of each picture with each face of its line-up."""
    dots = np.einsum("plx,px->pl", faces, pictures)
    sizes = np.linalg.norm(faces, axis=2) * np.linalg.norm(pictures, axis=1, keepdims=True)
    return np.asarray(dots / np.maximum(sizes, 1e-300))
