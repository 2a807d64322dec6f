"""interpret's explainable boosting machine, without privacy, on rows as `learning_scale` draws them.

    PYTHON benchmarks/_learning_scale_interpret.py ROWS ...      (an environment with interpret-core)

One outer bag in place of its usual number, one process, everything else as it comes. One JSON object for each size.
"""

from __future__ import annotations

import sys
import time

from _learning_scale_rows import drawn
from _peers import tell


def main(sizes: list[int]) -> None:
    from interpret.glassbox import ExplainableBoostingClassifier

    for rows in sizes:
        X, y = drawn(rows)
        start = time.process_time()
        model = ExplainableBoostingClassifier(outer_bags=1, n_jobs=1).fit(X, y)
        took = time.process_time() - start
        tell(rows=rows, cpu=took, score=float((model.predict(X[:20_000]) == y[:20_000]).mean()))
    tell(done=True)


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]])
