"""pytest's part of `make mutants`: runs the tests once as they are, then once for each mutant, in a fork of this process.

So a mutant costs its tests alone: what was imported, collected and set up (the database too) is there already.
`STILLHERE_TEST_MUTANTS` names a JSON file with the mutants' names; it is overwritten with `{name: was it noticed?}`.
"""

import gc
import json
import os
import resource
import shutil
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import hypothesis
import pytest
from _pytest.runner import runtestprotocol
from django.db import connections
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state
from mutmut.utils.format_utils import mangled_name_from_mutant_name

# A mutant may count for ever: it has this many times the processor's seconds that its tests took, and so many more.
TIMES, MORE_SECONDS = 10, 10
# A test that takes longer waits for what a fault keeps from coming: the process ends. The timeout of pytest does not reach tests
# that are run one by one.
WAITS_SECONDS = 60
# An exit code has eight bits.
MOST_NUMBERED = 255


# A plugin has to be hashable: pytest collects those of folders that have a conftest of their own in sets.
@dataclass(eq=False)
class Loop:
    """The tests by the functions that they reach; the one that noticed the last mutant comes first."""

    session: pytest.Session
    tests: dict[str, list[pytest.Item]] = field(default_factory=lambda: defaultdict(list))
    seconds: dict[str, float] = field(default_factory=dict)
    failed: bool = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        self.failed = self.failed or report.failed

    def run(self, items: list[pytest.Item], each_seconds: int = 0) -> int:
        """Up to the first failure; the number of the test that failed, from 1, or 0. `each_seconds`: the process ends when one
        test takes longer; 0: never."""
        # What was set up for all tests is left standing.
        for number, (item, following) in enumerate(pairwise([*items, no_test(self.session)]), 1):
            signal.alarm(each_seconds)
            runtestprotocol(item, log=True, nextitem=following)
            if self.failed:
                return number
        return 0

    def run_clean(self) -> None:
        set_mutant_under_test("stats")
        for item in self.session.items:
            began = time.process_time()
            state()._stats.clear()
            if self.run([item]):
                raise pytest.UsageError(f"{item.nodeid} fails without any mutant")
            self.seconds[item.nodeid] = time.process_time() - began
            for function in state()._stats:
                self.tests[function].append(item)
        for items in self.tests.values():
            items.sort(key=lambda item: self.seconds[item.nodeid])

    def try_all(self, mutants: list[str], at_once: int) -> dict[str, bool]:
        """For each mutant, whether a test failed."""
        found: dict[str, bool] = {}
        running: dict[int, tuple[str, list[pytest.Item]]] = {}
        left = mutants[::-1]
        while left or running:
            while left and len(running) < at_once:
                mutant = left.pop()
                items = self.tests[mangled_name_from_mutant_name(mutant)]
                running[self._fork(mutant, items)] = (mutant, list(items))
            pid, status = os.wait()
            if pid not in running:  # A server that a test had started.
                continue
            mutant, items = running.pop(pid)
            found[mutant] = status != 0
            number = os.waitstatus_to_exitcode(status)
            if 0 < number < MOST_NUMBERED:
                mine = self.tests[mangled_name_from_mutant_name(mutant)]
                mine.remove(items[number - 1])
                mine.insert(0, items[number - 1])
        return found

    def _fork(self, mutant: str, items: list[pytest.Item]) -> int:
        connections.close_all()
        pid = os.fork()
        if pid:
            return pid
        number = MOST_NUMBERED
        try:
            seconds = int(TIMES * sum(self.seconds[item.nodeid] for item in items)) + MORE_SECONDS
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            for stream in (sys.stdout, sys.stderr):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            set_mutant_under_test(mutant)
            with own_database():
                number = min(self.run(items, WAITS_SECONDS), MOST_NUMBERED)
        finally:
            os._exit(number)


def no_test(session: pytest.Session) -> Any:
    """What comes next needs the session's fixtures and no other."""
    return SimpleNamespace(listchain=lambda: [session])


@contextmanager
def own_database() -> Iterator[None]:
    """A copy, so that two may run side by side and none leaves anything to the next. PostgreSQL's is one for all."""
    default = connections["default"]
    name = str(default.settings_dict["NAME"])
    if default.vendor != "sqlite":
        yield
        return
    with TemporaryDirectory(dir=Path(name).parent) as folder:
        default.settings_dict["NAME"] = shutil.copy(name, folder)
        yield


def pytest_configure() -> None:
    """A failing example is enough: nobody reads which is the smallest one."""
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
    hypothesis.settings.register_profile("mutants", phases=phases, database=None, derandomize=True, deadline=None)
    hypothesis.settings.load_profile("mutants")


def pytest_runtestloop(session: pytest.Session) -> bool:
    path = Path(os.environ["STILLHERE_TEST_MUTANTS"])
    loop = Loop(session)
    session.config.pluginmanager.register(loop)
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        loop.run_clean()
        gc.collect()
        gc.freeze()
        found = loop.try_all(json.loads(path.read_text()), int(os.environ.get("STILLHERE_TEST_WORKERS", os.cpu_count() or 1)))
    path.write_text(json.dumps(found))
    return True
