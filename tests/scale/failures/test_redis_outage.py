"""Redis carries news, not chats: with it stopped, dead or behind a network that swallows all, saves go on at their speed and
the news arrive after.

On PostgreSQL two servers share the store, one is saved to and the other is listened to.
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests.support.databases import ON_POSTGRESQL
from tests.support.machine_speed import allowed, percentile_99
from tests.support.redis_server import AVAILABLE, Proxy, RedisServer
from tests.support.server_process import ServerProcess
from tests.support.sockets import House
from tests.support.stores import Store

pytestmark = [
    pytest.mark.scale,
    pytest.mark.timed,
    pytest.mark.skipif(not AVAILABLE, reason="no redis-server to start"),
]
SAVES = 60
SLOWER_SECONDS = 0.3
HEALED_SECONDS = 30
FAULTS = ["stopped", "killed", "swallowed"]


class Pair:
    """Where is saved, and where is listened."""

    def __init__(self, saving: ServerProcess, listening: ServerProcess, redis: RedisServer, proxy: Proxy) -> None:
        self.redis, self.proxy = redis, proxy
        self.saving = House(saving)
        self.listening = House(listening) if listening is not saving else self.saving
        _, self.session = self.saving.api.session("/outage")
        self.saves = 0

    def save(self, number: int) -> list[float]:
        """The seconds of each."""
        took = []
        for _ in range(number):
            self.saves += 1
            began = time.monotonic()
            self.saving.api.save(self.session, f"m{self.saves}", writer="w", seq=self.saves)
            took.append(time.monotonic() - began)
        return took

    @property
    def newest(self) -> int:
        return self.saves + 1


@pytest.fixture
def pair(store: Store, tmp_path: Path) -> Iterator[Pair]:
    with ExitStack() as stack:
        redis = stack.enter_context(RedisServer(tmp_path))
        proxy = stack.enter_context(closing(Proxy(redis.port)))
        ours = {"REDIS_URL": proxy.url, "HEARTBEAT_SECONDS": "2"}
        saving = stack.enter_context(ServerProcess(store, **ours))
        listening = stack.enter_context(ServerProcess(store, **ours)) if ON_POSTGRESQL else saving
        pair = Pair(saving, listening, redis, proxy)
        yield pair
        for house in {pair.saving, pair.listening}:
            house.api.close()


@contextmanager
def outage(pair: Pair, fault: str) -> Iterator[None]:
    redis = pair.redis
    faults: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
        "stopped": (lambda: redis.signal(signal.SIGSTOP), lambda: redis.signal(signal.SIGCONT)),
        "killed": (redis.stop, redis.start),
        "swallowed": (pair.proxy.swallow, pair.proxy.pass_on),
    }
    begin, end = faults[fault]
    begin()
    try:
        yield
    finally:
        end()


def save_through(pair: Pair, fault: str, *, seconds: float) -> None:
    usual = percentile_99(pair.save(SAVES))
    with pair.listening.listen("/outage", since=0) as socket:
        socket.until_number(pair.newest)
        with outage(pair, fault):
            during = pair.save(SAVES)
            began = time.monotonic()
            while time.monotonic() < began + seconds:
                during += pair.save(10)
                socket.silence(0.05)  # Reads what came: a listener that does not is cut off.
            assert percentile_99(during) <= usual + allowed(SLOWER_SECONDS)
            socket.until_number(pair.newest, HEALED_SECONDS)
        pair.save(5)
        socket.until_number(pair.newest, HEALED_SECONDS)
        assert socket.numbers == list(range(1, pair.newest + 1))


@pytest.mark.parametrize(
    "fault", ["swallowed", *(pytest.param(fault, marks=pytest.mark.slow) for fault in ("stopped", "killed"))]
)
def test_saves_go_on_at_their_speed_and_the_events_arrive_after(pair: Pair, fault: str) -> None:
    save_through(pair, fault, seconds=0)


@pytest.mark.prove
@pytest.mark.parametrize("fault", FAULTS)
def test_a_minute_without_redis_holds_up_nobody(pair: Pair, fault: str) -> None:
    save_through(pair, fault, seconds=60)
