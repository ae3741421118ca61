"""A process that is forked (by multiprocessing, or by a server that loads the program first) has copies of the connections, files
and numbers of its parent. Used by both, they mix up answers and saves, so that the child gets its own."""

# `threading.Lock` is a function in Python 3.12: `threading.Lock | None` must not be evaluated.
from __future__ import annotations

import os
import threading
from typing import Protocol
from weakref import WeakKeyDictionary


class Renewed(Protocol):
    def renew(self) -> None:
        """In the child, where other threads than this one do not exist: abandons what belongs to the parent, without a word to
        those at its other end."""


_known: WeakKeyDictionary[Renewed, threading.Lock | None] = WeakKeyDictionary()
_forking = threading.Lock()
_held: list[threading.Lock] = []


def renew_in_forks(thing: Renewed, lock: threading.Lock | None = None) -> None:
    """`lock`: a fork waits for it, so that the child has nothing that a thread of the parent had half done."""
    with _forking:
        _known[thing] = lock


def _before() -> None:
    _forking.acquire()
    for lock in _known.values():
        if lock is not None:
            lock.acquire()
            _held.append(lock)


def _release() -> None:
    while _held:
        _held.pop().release()
    _forking.release()


def _in_child() -> None:
    _release()
    for thing in list(_known):
        thing.renew()


if hasattr(os, "register_at_fork"):  # Not on Windows, which has no forks.
    os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_child)
