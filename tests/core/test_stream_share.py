"""Long answers of one user leave room for those of the others."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User

from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from sessions_app.core.limits import stream_slots
from sessions_app.core.limits.stream_slots import StreamSlot
from sessions_app.pages.chat import backends
from tests.pages.test_chat import session_of
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

AT_ONCE = 8


def endless(**_: object) -> Iterator[str]:
    while True:
        yield "word " * 1_000


def test_streams_of_one_user_leave_room_for_others(
    settings: Any, monkeypatch: pytest.MonkeyPatch, transactional_db: None, alice: User, bob: User, api: Callable[..., Any]
) -> None:
    settings.CHAT_STREAMS = AT_ONCE
    monkeypatch.setattr(backends, "answer", endless)
    secret = api_keys.create_key(caller=caller_of_user(bob)).secret
    session = Chat(api(bob)).id
    with LiveServer() as server, ExitStack() as stack:

        def ask(user: User) -> httpx.Response:
            cookies = {"sessionid": session_of(user), "csrftoken": "c" * 32}
            client = stack.enter_context(httpx.Client(cookies=cookies, headers={"X-CSRFToken": "c" * 32}))
            body = {"messages": [{"role": "user", "text": "Hello"}]}
            return stack.enter_context(client.stream("POST", f"{server.url}/chat/answer", json=body))

        of_alice = [ask(alice) for _ in range(AT_ONCE)]
        assert [answer.status_code for answer in of_alice] == [200] * stream_slots.share() + [429] * (
            AT_ONCE - stream_slots.share()
        )
        assert int(of_alice[-1].headers["Retry-After"]) > 0
        assert ask(bob).status_code == 200
        with httpx.Client(headers={"Authorization": f"Bearer {secret}"}) as client:
            assert client.get(f"{server.url}/api/v1/sessions/{session}/export").status_code == 200


def test_a_place_is_free_again_when_its_stream_is_closed_or_never_came_about(settings: Any) -> None:
    settings.CHAT_STREAMS = 1
    with StreamSlot(user_id=1) as place:
        stream = place.stream(iter([b"words"]))
    with pytest.raises(stream_slots.StreamsBusy), StreamSlot(user_id=2):
        pass
    stream.close()
    with pytest.raises(ZeroDivisionError), StreamSlot(user_id=2) as place:
        place.stream(iter([bytes(1 // 0)]))
    with StreamSlot(user_id=2):
        pass
    assert not stream_slots._taken
