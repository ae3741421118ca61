"""A producer that could not be heard for a while has the same time again before its stream is ended."""

from datetime import timedelta
from types import SimpleNamespace

import pytest

from generation_app.models import Stream
from generation_app.streams import silent_streams
from generation_app.streams.silent_streams import SilenceWatch
from sessions_app.core.public_names import now
from tests.support.chat import Chat
from tests.support.saves import refusal

pytestmark = pytest.mark.django_db
SECONDS = 60


class Clocks:
    """The time of day, and the time that has passed. `written_at` is compared with the former."""

    def __init__(self) -> None:
        self.of_day, self.passed = 1_800_000_000.0, 1_000.0

    def go_on(self, seconds: float) -> None:
        self.passed += seconds
        self.set_forward(seconds)

    def set_forward(self, seconds: float) -> None:
        self.of_day += seconds
        for stream in Stream.objects.all():
            Stream.objects.filter(id=stream.id).update(written_at=stream.written_at - timedelta(seconds=seconds))


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    made = Clocks()
    clocks = SimpleNamespace(time=lambda: made.of_day, monotonic=lambda: made.passed)
    monkeypatch.setattr(silent_streams, "time", clocks)
    return made


@pytest.fixture
def stream(chat: Chat) -> str:
    return str(chat.post_plain("streams", {"message": "m1"}).json()["stream"])


def says(chat: Chat, stream: str, offset: int, *chunks: str) -> int:
    """The status: 409 of a stream that has ended."""
    answer = chat.api.post(f"/streams/{stream}/chunks", {"offset": offset, "chunks": list(chunks)})
    if answer.status_code != 200:
        assert refusal(answer) == (409, "stream_ended")
    return int(answer.status_code)


def test_a_clock_that_is_set_forward_ends_no_stream(chat: Chat, stream: str, clocks: Clocks) -> None:
    watch = SilenceWatch()
    assert watch() == 0
    for _ in range(2 * SECONDS // 5):
        clocks.go_on(5)
        assert watch() == 0
        assert says(chat, stream, 0) == 200
        Stream.objects.update(written_at=now())
    clocks.set_forward(3_600)
    for _ in range(SECONDS // 5):
        assert watch() == 0
        clocks.go_on(5)
    assert says(chat, stream, 0, "a") == 200
    assert watch() == 0


def test_one_that_stays_silent_afterwards_ends(chat: Chat, stream: str, clocks: Clocks) -> None:
    watch = SilenceWatch()
    watch()
    clocks.go_on(5)
    clocks.set_forward(3_600)
    assert watch() == 0
    clocks.go_on(SECONDS - 1)
    assert watch() == 0
    clocks.go_on(1)
    assert watch() == 1
    assert says(chat, stream, 0, "a") == 409


def test_after_a_start_producers_have_the_time_to_come_again(chat: Chat, stream: str, clocks: Clocks) -> None:
    """The server was away: what they had to say waits."""
    clocks.go_on(3_600)
    watch = SilenceWatch()
    assert watch() == 0
    clocks.go_on(SECONDS - 1)
    assert watch() == 0
    assert says(chat, stream, 0, "a") == 200


def test_a_clock_that_is_set_back_or_corrected_a_little_holds_up_nothing(chat: Chat, stream: str, clocks: Clocks) -> None:
    watch = SilenceWatch()
    watch()
    for step in (0.9, -3_600.0):
        clocks.go_on(SECONDS / 2 - 1)
        assert watch() == 0
        clocks.of_day += step
    clocks.go_on(2)
    assert watch() == 1
