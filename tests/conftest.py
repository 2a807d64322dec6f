"""What every test may rely on, whatever ran before it in the same process."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import mpmath
import pytest
from hypothesis import HealthCheck, settings

from tests import draws
from tests.effort import EXAMPLES
from tests.engines import spark_session
from tests.postgres_server import BINARIES, MISSING, Server, running

DIGITS = 60

# How long an example takes says something about the machine, not about the code. Every run tries the same examples, so
# that one which fails was brought by the change; new ones are looked for by the soaks (tests/plan/soak.py, ...).
settings.register_profile(
    "tacit",
    deadline=None,
    print_blob=True,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=EXAMPLES,
)
settings.load_profile("tacit")

# Where nothing compiled may be kept, every process compiles anew what it reads: ten seconds for each that collects
# tests, a tenth of a second for each of the hundreds of programs that are started. So it is kept, as by default.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Fourteen thousand collected tests stay until the end, and walking them again and again took a tenth of the run.
gc.set_threshold(100_000, 20, 20)

# A shell without job control starts what runs in the background with Ctrl-C ignored, and children inherit that: tests
# that interrupt a program would then wait for nothing.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


if not draws.FRESH:
    draws.begin()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A thousand tests that would only say that there is no Spark are left out and counted, not set up one by one."""
    if spark_session.MISSING and config.option.markexpr != "spark":
        without = [item for item in items if item.get_closest_marker("spark") is not None]
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item.get_closest_marker("spark") is None]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each process begins with one half of the list, in its order, and takes of the other's end when it is done.

    Tests dealt out in turns would open what the tests of a module share (curators, copies, servers) in both processes.
    """
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.option.dist == "load" else None


def pytest_collection_finish() -> None:
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # modules that look for leaks at the end would find all of it


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    with draws.named(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Iterator[Any]:
    if fixturedef.scope == "function":
        return (yield)
    # Which test meets a shared fixture first depends on how tests were dealt to processes.
    with draws.named(f"{fixturedef.baseid} {fixturedef.argname} {getattr(request, 'param', '')}"):
        return (yield)


@pytest.fixture(autouse=True)
def _same_precision_for_every_test() -> Iterator[None]:
    # mpmath keeps its precision in a global; a module that sets its own would otherwise set everybody's.
    with mpmath.workdps(DIGITS):
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server, started when the first test asks for one. Make a database of your own in it."""
    if BINARIES is None:
        pytest.skip(MISSING)
    with running() as server:
        yield server
