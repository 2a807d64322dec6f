"""The job of a public description: every kind is in one table, and anything unknown is refused."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final

from tacit.errors import TacitError
from tacit.federated.jobs.job import Job
from tacit.federated.refusals import Refused

KINDS: Final = {  # what a description calls it -> the file and the name; a model needs scikit-learn, the others do not
    "histogram": ("counts", "Counts"),
    "mean": ("counts", "Mean"),
    "quantile": ("searches", "Quantile"),
    "frequent texts": ("searches", "FrequentTexts"),
    "logistic regression": ("models", "Logistic"),
}


def job_of(content: Any) -> Job:
    """The job of `Job.to_dict`, or a refusal."""
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind not in KINDS:
        raise Refused(f"There is no job {kind!r}. Jobs: {', '.join(KINDS)}.")
    home, name = KINDS[kind]
    room = importlib.import_module(f"tacit.federated.jobs.{home}")
    given = {key: value for key, value in content.items() if key != "kind"}
    make: Callable[..., Job] = getattr(room, name)
    try:
        if kind == "logistic regression":
            given["features"] = {column: tuple(fact) for column, fact in given["features"]}
            given["descent"] = room.Descent(**given["descent"])
        return make(**{key: tuple(value) if isinstance(value, list) else value for key, value in given.items()})
    except TacitError:
        raise
    except (TypeError, ValueError, KeyError) as wrong:
        raise Refused(f"The job {kind!r} is not described as it should be: {wrong}.") from None
