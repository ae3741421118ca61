"""A save beside a thread that computes, such as an import, does not wait a long interval at each of its steps."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

import pytest
from django.contrib.auth.models import User

from config.server import thread_switching
from sessions_app.accounts.api_keys import create_key
from sessions_app.core.callers import caller_of_user
from tests.support.live_server import LiveServer
from tests.support.server_process import Api

SAVES, MOST_TURNS = 9, 12
DEFAULT_SECONDS = 0.005


@pytest.fixture
def api(transactional_db: None) -> Iterator[Api]:
    usual = sys.getswitchinterval()
    # As a process begins, so that it is the server that changes it.
    sys.setswitchinterval(DEFAULT_SECONDS)
    with LiveServer() as server:
        owner = caller_of_user(User.objects.create_user("ana"))
        api = Api(server.url, create_key(caller=owner, name="tests").secret)
        yield api
        api.close()
    sys.setswitchinterval(usual)


@contextmanager
def computing() -> Iterator[None]:
    ended = threading.Event()

    def compute() -> None:
        while not ended.is_set():
            sum(range(100))

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def usual_seconds(api: Api, session: str, writer: str, interval: float) -> float:
    sys.setswitchinterval(interval)
    took = []
    for number in range(1, SAVES + 1):
        began = time.perf_counter()
        api.save(session, f"{writer}{number}", writer=writer, seq=number)
        took.append(time.perf_counter() - began)
    return median(took)


def test_a_server_has_its_threads_take_turns_often(api: Api) -> None:
    assert sys.getswitchinterval() == pytest.approx(thread_switching.SECONDS)


@pytest.mark.timed
def test_a_save_beside_a_thread_that_computes_takes_little_longer(api: Api) -> None:
    """Beside other programs a turn of both may meet different loads, to the advantage of either: three more have to show it."""
    _, session = api.session("/computing")
    as_served, turns = sys.getswitchinterval(), list[tuple[float, float]]()
    with computing():
        while more_show_it(turns) < 3:
            assert len(turns) < MOST_TURNS, turns
            ours = usual_seconds(api, session, f"a{len(turns)}-", as_served)
            turns.append((ours, usual_seconds(api, session, f"b{len(turns)}-", DEFAULT_SECONDS)))


def more_show_it(turns: list[tuple[float, float]]) -> int:
    """Than show the contrary."""
    return sum((ours < by_default / 2) - (by_default < ours / 2) for ours, by_default in turns)
