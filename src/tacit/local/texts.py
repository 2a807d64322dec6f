"""Which texts many people have, where the texts cannot be listed beforehand: heavy hitters by growing prefixes.

    words = TextSurvey(longest=8, epsilon=4)
    words.client().answer("hello")
    words.collect(reports)                   # the texts that many share, with their shares

Promise: a person's report is private at `epsilon` by itself, as in `survey`. Each person draws one length, which has
nothing to do with their text, and reports the prefix of that length by local hashing. The collector begins with the
shortest length, keeps the prefixes whose support stands out of the noise, extends each by all next bits, and goes on.

What the list can and cannot say. A text is found if each of its prefixes stands out among those who drew that length,
n/g of n people for g lengths, so rare texts are missed. In at most a hundredth of all runs, some candidate at a given
length is kept although no person has it. The shares come from those who drew the full length, and were *selected for
being large*: their intervals hold for all candidates of that length at once.

Source: Wang, Li and Jha 2018 (prefix extension); the hashing as in `laws`. A prefix becomes 32 bits by a fixed public
function; two prefixes that share a number are counted as one, which at a thousand candidates has a chance below 1e-3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from tacit import parameters
from tacit.local import laws
from tacit.local.client import VERSION, Client, canonical, prefix_code, survey_id
from tacit.local.crowd import hashed_support
from tacit.local.reading import Read, read_reports
from tacit.local.shares import shares
from tacit.local.survey import finding_of_reports
from tacit.noise import BitSource, secure
from tacit.statistics.finding import Content, Finding, column

_MOST_KEPT: Final = 64
_FALSE: Final = 0.01


class TextSurvey:
    """A question that is answered by a text.

    longest: bytes of a text that count; longer texts are cut. step: bits by which prefixes grow, 4 to 10.

    >>> words = TextSurvey(longest=4, epsilon=4)
    >>> len(words.simulate(["tea", "milk"]))
    2
    """

    def __init__(self, *, longest: int, epsilon: Any, step: int = 8, name: str = "") -> None:
        exact = parameters.price("epsilon", epsilon)
        size = parameters.whole("longest", longest, least=1)
        bits = parameters.whole("step", step, least=4)
        if size > 64 or bits > 10:
            raise parameters.refuse("longest and step", "at most 64 bytes, and 4 to 10 bits", (longest, step))
        self.description: dict[str, Any] = {
            "version": VERSION,
            "name": str(name),
            "question": {"texts": size},
            "epsilon": str(exact),
            "law": laws.prefixes(size, bits, exact),
        }
        Client(self.description)

    @property
    def law(self) -> dict[str, Any]:
        """The randomiser and its weights."""
        found: dict[str, Any] = self.description["law"]
        return found

    @property
    def id(self) -> str:
        """What reports of this survey begin with."""
        return survey_id(self.description)

    def to_json(self) -> str:
        """The public description, in its one text."""
        return canonical(self.description)

    def client(self, odometer: Any = None) -> Client:
        """What runs at a person's home."""
        return Client(self.description, odometer)

    def simulate(self, texts: Iterable[str], *, bits: BitSource | None = None) -> Any:
        """Reports of many texts, as an array."""
        from tacit.local.client import prefix_number
        from tacit.local.crowd import encode
        from tacit.noise import uniform_below

        source = secure() if bits is None else bits
        law, listed = self.law, list(texts)
        groups = uniform_below(len(law["lengths"]), len(listed), source)
        known: dict[tuple[str, int], int] = {}
        codes = np.empty(len(listed), dtype=np.int64)
        for place, (text, group) in enumerate(zip(listed, groups.tolist(), strict=True)):
            key = (text, group)
            if key not in known:
                known[key] = prefix_number(text, law["lengths"][group], law["longest"])
            codes[place] = known[key]
        return np.column_stack([groups.astype(np.uint64), encode(law["inner"], codes, source)])

    def collect(self, reports: Any, *, level: parameters.Number = "0.95") -> Finding:
        """The texts that stand out, most frequent first."""
        exact = float(parameters.level("level", level))
        if isinstance(reports, np.ndarray):
            read = Read(reports, Counter())
        else:
            read = read_reports(self.id, self.law, reports)
        if len(read.reports) == 0:
            raise parameters.refuse("reports", "at least one report of this survey", "none")
        content = self._grown(read.reports, exact, read.notes)
        return finding_of_reports(content, self.description["epsilon"], exact)

    def _grown(self, reports: Any, level: float, notes: tuple[str, ...]) -> Content:
        law = self.law
        kept, before = [0], 0
        for group, length in enumerate(law["lengths"]):
            own = reports[reports[:, 0] == group][:, 1:]
            more = length - before
            candidates = [(prefix << more) | tail for prefix in kept for tail in range(1 << more)]
            estimate, low, high = self._estimated(own, candidates, length, level)
            stands_out = low > 0
            order = [place for place in np.argsort(-estimate) if stands_out[place]][:_MOST_KEPT]
            kept, before = [candidates[place] for place in order], length
            if not kept:
                break
        texts = [self._text(prefix) for prefix in kept] if kept else []
        columns = (
            column("text", texts),
            column("share", *([float(each[place]) for place in order] for each in (estimate, low, high))),
        )
        said = (
            f"{len(reports):,} reports. At each length {_FALSE:.0%} of runs or fewer would keep a text by chance; "
            "rarer texts are missed. Intervals hold for all shown together: they were chosen for being large.",
            *notes,
        )
        return Content("Frequent texts", columns, said, {"people": len(reports)})

    def _estimated(self, own: Any, candidates: list[int], length: int, level: float) -> tuple[Any, Any, Any]:
        """Shares of candidates, with intervals that hold for all of them at once."""
        if len(own) == 0:
            empty = np.zeros(len(candidates))
            return empty, empty, empty + 1.0
        options = np.array([prefix_code(each, length) for each in candidates], dtype=np.uint64)
        inner = self.law["inner"]
        together = 1 - min(1 - level, _FALSE) / len(candidates)
        return shares(inner, hashed_support(inner, own, options), len(own), together)

    def _text(self, prefix: int) -> str:
        return prefix.to_bytes(self.law["longest"], "big").rstrip(b"\0").decode(errors="replace")
