"""Long exports of one user leave room for those of the others, and for saves."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User

from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from sessions_app.core.limits import stream_slots
from sessions_app.core.limits.stream_slots import StreamSlot
from sessions_app.models import ChatSession, Message
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

AT_ONCE = 8


def test_exports_of_one_user_leave_room_for_others_and_for_saves(
    settings: Any, transactional_db: None, alice: User, bob: User, api: Callable[..., Any]
) -> None:
    settings.CHAT_STREAMS, settings.THREADS = AT_ONCE, 1
    long, small = ChatSession.objects.get(id=Chat(api(alice)).id), Chat(api(bob)).id
    Message.objects.bulk_create(
        Message(session=long, epoch=1, message_id=str(number), role="user", text="x" * 100_000, position=number, rev=1)
        for number in range(1, 100)
    )
    with LiveServer() as server, ExitStack() as stack:

        def client_of(user: User) -> httpx.Client:
            headers = {"Authorization": f"Bearer {api_keys.create_key(caller=caller_of_user(user)).secret}"}
            return stack.enter_context(httpx.Client(base_url=f"{server.url}/api/v1", headers=headers))

        of_alice, of_bob = client_of(alice), client_of(bob)
        # Nobody reads them, so they last.
        begun = [stack.enter_context(of_alice.stream("GET", f"/sessions/{long.id}/export")) for _ in range(AT_ONCE)]
        share = stream_slots.share()
        assert [answer.status_code for answer in begun] == [200] * share + [429] * (AT_ONCE - share)
        assert int(begun[-1].headers["Retry-After"]) > 0
        assert of_bob.get(f"/sessions/{small}/export").status_code == 200
        created = of_alice.put(f"/sessions/{'0' * 31}1", json={"project": "shop"}, headers={"If-None-Match": "*"})
        assert created.status_code == 201


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
