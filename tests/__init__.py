"""One process for each core runs the tests, so a library of linear algebra gets one thread in each.

With more, its threads wait for each other in loops that keep the cores busy: on small arrays that took several times as
long as the work. It is said here because this file is read before anything loads such a library, and processes that the
tests start inherit it.
"""

import os

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")
