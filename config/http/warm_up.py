"""Prepares threads before the first request."""

from collections.abc import Iterable
from concurrent.futures import wait
from contextlib import suppress

from django.db import DatabaseError

from sessions_app.accounts.authentication import caller_of_key
from sessions_app.core.storage.database_threads import DatabaseThreads
from sessions_app.frontends.resume.warm_up_reads import TIMES, run_warm_up_reads


def warm_up(pools: Iterable[DatabaseThreads]) -> None:
    """Afterwards every thread of the pools has its connection and prepared statements."""
    wait([done for pool in pools for done in pool.each(_read)])


def _read() -> None:
    with suppress(DatabaseError):
        for _ in range(TIMES):
            caller_of_key("")
    run_warm_up_reads()
