"""Small saves in groups: what is one, who is in which group, and that each gets its outcome whatever becomes of the others."""

import asyncio
import threading
import time
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any

import pytest

from config.http.save_batching import LATER, MOST_IN_A_GROUP, PAUSE_SECONDS, SMALL_BYTES, TRIES, Later, SaveBatcher, is_small_save

CHANGES = "/api/v1/sessions/0b0e/changes"
SECONDS = 10


class Loop:
    """The server's event loop, in a thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    def run[T](self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(SECONDS)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(SECONDS)
        self.loop.close()


class Submitted:
    def __init__(self, loop: Loop, future: "asyncio.Future[str | Later]") -> None:
        self._loop, self._future = loop, future

    def result(self) -> str | Later:
        async def outcome() -> str | Later:
            return await asyncio.wait_for(self._future, SECONDS)

        return self._loop.run(outcome())

    def error(self) -> BaseException | None:
        """Not by `result`: an event loop ends with some of them."""

        async def error() -> BaseException | None:
            await asyncio.wait([self._future], timeout=SECONDS)
            return self._future.exception()

        return self._loop.run(error())

    def cancel(self) -> bool:
        async def cancel() -> bool:
            return self._future.cancel()

        return self._loop.run(cancel())


class Saves:
    """The thread, held until `go`: what is submitted before waits together. `works`: the groups as they were run."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.go, self.is_closed = threading.Event(), False
        self.loop = Loop()
        self.saves = SaveBatcher[str, str](self.run)
        self.saves.thread.submit(self.go.wait, SECONDS)

    def run(self, works: Sequence[str]) -> list[str | Later]:
        self.groups.append(list(works))
        if "stops" in works:
            raise KeyboardInterrupt
        return [LATER if work.startswith("later") else work.upper() for work in works]

    def submit(self, *works: str, size: int = 1) -> list[Submitted]:
        async def submit() -> list[Submitted]:
            return [Submitted(self.loop, self.saves.submit(work, size)) for work in works]

        return self.loop.run(submit())

    def finish(self) -> list[list[str]]:
        """Lets it run, to its end."""
        self.go.set()
        if not self.is_closed:
            self.is_closed = True
            self.saves.close()
        return self.groups


@pytest.fixture
def held() -> Iterator[Saves]:
    saves = Saves()
    yield saves
    saves.finish()
    saves.loop.close()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the thread slept, each time."""
    told: list[float] = []
    monkeypatch.setattr(time, "sleep", told.append)
    return told


@pytest.mark.parametrize(
    ("method", "path", "size", "small"),
    [
        ("POST", CHANGES, 0, True),
        ("POST", CHANGES, SMALL_BYTES, True),
        ("POST", CHANGES, SMALL_BYTES + 1, False),
        ("PUT", CHANGES, 1, False),
        ("POST", f"{CHANGES}/", 1, False),
        ("POST", f"/x{CHANGES}", 1, False),
        ("POST", "/api/v1/sessions/0b0e/clear", 1, False),
        ("POST", "/api/v1/sessions//changes", 1, False),
        ("POST", "/api/v1/sessions/a/b/changes", 1, False),
    ],
)
def test_what_is_a_small_save(method: str, path: str, size: int, small: bool) -> None:
    assert is_small_save({"method": method, "path": path}, b" " * size) is small


def test_what_waits_is_one_group_in_the_order_in_which_it_came(held: Saves) -> None:
    futures = held.submit("a", "b", "c")
    assert held.finish() == [["a", "b", "c"]]
    assert [future.result() for future in futures] == ["A", "B", "C"]


def test_a_group_has_so_many_at_most(held: Saves) -> None:
    works = [f"w{number}" for number in range(MOST_IN_A_GROUP * 2 + 1)]
    held.submit(*works)
    groups = held.finish()
    assert [len(group) for group in groups] == [MOST_IN_A_GROUP, MOST_IN_A_GROUP, 1]
    assert [work for group in groups for work in group] == works


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([SMALL_BYTES // 2, SMALL_BYTES // 2, 1], [2, 1]),
        ([SMALL_BYTES, 1], [1, 1]),
        ([SMALL_BYTES - 1, 1, 1], [2, 1]),
        ([1, SMALL_BYTES, 1], [1, 1, 1]),
        # What is too large by itself is a group of its own.
        ([SMALL_BYTES + 1, SMALL_BYTES + 1], [1, 1]),
    ],
)
def test_a_group_has_so_many_bytes_at_most(held: Saves, sizes: list[int], groups: list[int]) -> None:
    for size in sizes:
        held.submit("w", size=size)
    assert [len(group) for group in held.finish()] == groups


def test_what_comes_when_nothing_is_left_is_run_too(held: Saves) -> None:
    held.go.set()
    for work in ("a", "b", "c"):
        (future,) = held.submit(work)
        assert future.result() == work.upper()
    assert held.finish() == [["a"], ["b"], ["c"]]


def test_what_could_not_be_run_is_tried_with_the_next_groups_and_then_told_so(held: Saves, pauses: list[float]) -> None:
    later, others = held.submit("later"), held.submit("a")
    groups = held.finish()
    assert groups == [["later", "a"], *[["later"]] * (TRIES - 1)]
    assert (later[0].result(), others[0].result()) == (LATER, "A")
    assert pauses == [PAUSE_SECONDS] * (TRIES - 1)


def test_what_is_tried_again_goes_before_what_came_since_and_waits_for_nobody(held: Saves, pauses: list[float]) -> None:
    held.submit("later 1", "later 2", "a", size=SMALL_BYTES // 3)
    held.submit("b", size=SMALL_BYTES // 3)
    groups = held.finish()
    assert groups[:2] == [["later 1", "later 2", "a"], ["later 1", "later 2", "b"]]
    assert groups[2:] == [["later 1", "later 2"]] * (TRIES - 2)
    # Only where nothing else was waiting.
    assert len(pauses) == TRIES - 2


def test_a_request_that_was_given_up_is_not_run(held: Saves) -> None:
    first, second = held.submit("a", "b")
    assert first.cancel()
    assert held.finish() == [["b"]]
    assert second.result() == "B"


def test_all_of_a_group_that_broke_are_told_and_the_next_one_is_run(held: Saves) -> None:
    futures = held.submit("a", "stops") + held.submit("b", size=SMALL_BYTES)
    assert held.finish() == [["a", "stops"], ["b"]]
    assert [type(future.error()) for future in futures] == [KeyboardInterrupt, KeyboardInterrupt, type(None)]
    assert futures[2].result() == "B"


def test_a_group_wakes_the_event_loop_once(held: Saves, monkeypatch: pytest.MonkeyPatch) -> None:
    futures = held.submit("a", "b", "c")
    woken: list[str] = []
    wake = held.loop.loop.call_soon_threadsafe

    def counted(*args: Any, **named: Any) -> Any:
        woken.append(threading.current_thread().name)
        return wake(*args, **named)

    monkeypatch.setattr(held.loop.loop, "call_soon_threadsafe", counted)
    held.finish()
    assert [name for name in woken if name.startswith("saves")] == ["saves_0"]
    assert [future.result() for future in futures] == ["A", "B", "C"]


def test_who_gave_up_while_it_ran_keeps_no_outcome_from_the_others(held: Saves, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = held.submit("a", "b")
    ran = held.saves._run

    def given_up(works: Sequence[str]) -> Sequence[str | Later]:
        assert first.cancel()
        return ran(works)

    monkeypatch.setattr(held.saves, "_run", given_up)
    assert held.finish() == [["a", "b"]]
    assert second.result() == "B"


def test_one_run_of_the_thread_serves_all(held: Saves, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[object] = []
    submit = held.saves.thread.submit

    def counted(work: Any) -> Any:
        begun.append(work)
        return submit(work)

    monkeypatch.setattr(held.saves.thread, "submit", counted)
    held.submit("a", "b")
    held.submit("c")
    assert begun == [held.saves._serve]


def test_after_the_end_nothing_is_taken(held: Saves) -> None:
    """It would wait for ever."""
    held.submit("a")
    held.finish()
    with pytest.raises(RuntimeError, match=r"^no save is taken after the end$"):
        held.submit("b")
