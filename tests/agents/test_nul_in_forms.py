"""A NUL in a form of a session's pages: PostgreSQL cannot even look for it."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.support.chat import Chat

FIELDS = [
    ("fork", "up_to"),
    ("head", "head"),
    ("resolve", "action"),
    ("resolve", "note"),
    ("untag", "tag"),
    ("tag", "tag"),
    ("rename", "title"),
    ("transfer", "q"),
    ("transfer", "ai"),
]


@pytest.mark.parametrize(("act", "field"), FIELDS)
def test_it_is_refused_or_replaced(client: Client, alice: User, chat: Chat, act: str, field: str) -> None:
    client.force_login(alice)
    chat.say("m1", "one")
    shown = client.get(f"/sessions/{chat.id}/transfer/").context["form"]
    form = {**{name: shown[name] for name in ("epoch", "token", "mode", "on_conflict")}, "decision": "approve"}
    assert client.post(f"/sessions/{chat.id}/{act}/", {**form, field: "a\0b"}).status_code < 500
    assert chat.texts() == ["one"]
