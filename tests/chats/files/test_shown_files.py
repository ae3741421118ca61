"""How messages show the files that they name: images, downloads, what is not stored here. Nothing is loaded from elsewhere."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.pages.session.parts import attachments
from tests.chats.files.conftest import Upload
from tests.support.chat import Chat
from tests.support.files import PNG, upload, with_file


def page(user: User, chat: Chat) -> str:
    client = Client()
    client.force_login(user)
    return client.get(f"/sessions/{chat.id}/").content.decode()


def shown(alice: User, chat: Chat, *parts: dict[str, Any]) -> str:
    chat.ops({"op": "upsert", "id": "m1", "role": "user", "parts": list(parts)})
    return page(alice, chat)


def image(reference: str) -> str:
    return f'<img src="/api/v1/files/{reference}"'


PARTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "ours": lambda file: {"type": "file", "file": file},
    "the AI SDK's": lambda file: {"type": "file", "mediaType": "image/png", "url": "", "file": file},
    "by address": lambda file: {"type": "file", "mediaType": "image/png", "url": f"/api/v1/files/{file}"},
    "OpenAI's": lambda file: {"type": "file", "file": {"file_id": file, "filename": "dot.png"}},
    "of a response": lambda file: {"type": "input_image", "file_id": file},
}


@pytest.mark.parametrize("form", PARTS)
def test_an_image_is_shown_however_it_is_named(alice: User, chat: Chat, sent: Upload, form: str) -> None:
    reference = sent(PNG, name="dot.png", media_type="text/html").json()["file"]
    html = shown(alice, chat, PARTS[form](reference))
    assert f'{image(reference)} alt="dot.png" loading="lazy"' in html
    assert 'download="dot.png"' in html


def test_openai_s_messages_show_their_files(alice: User, chat: Chat, sent: Upload) -> None:
    reference = sent(PNG).json()["file"]
    blocks = [{"type": "file", "file": {"file_id": reference, "filename": "dot.png"}}]
    chat.ops({"op": "upsert", "id": "m1", "format": "openai.chat", "raw": {"role": "user", "content": blocks}})
    item = {"type": "message", "role": "user", "content": [{"type": "input_image", "file_id": reference}]}
    chat.ops({"op": "upsert", "id": "m2", "format": "openai.responses", "raw": item})
    assert page(alice, chat).count(image(reference)) == 2


def test_any_other_file_is_a_download_with_its_size(alice: User, chat: Chat, sent: Upload) -> None:
    reference = sent(b"<svg onload='alert(1)'/>", name="<b>.svg", media_type="image/svg+xml").json()["file"]
    html = shown(alice, chat, {"type": "file", "mediaType": "image/png", "filename": "x.png", "file": reference})
    assert "<img" not in html
    assert f'href="/api/v1/files/{reference}" download="x.png"' in html
    assert "image/svg+xml" in html


def test_a_large_image_is_not_loaded(alice: User, chat: Chat, sent: Upload, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachments, "LARGEST_SHOWN", len(PNG) - 1)
    reference = sent(PNG).json()["file"]
    html = shown(alice, chat, {"type": "file", "file": reference})
    assert image(reference) not in html
    assert f'href="/api/v1/files/{reference}"' in html


def test_a_file_that_is_not_stored_here_is_said_to_be_missing(
    alice: User, chat: Chat, api: Callable[..., Any], bob: User
) -> None:
    of_bob = upload(Chat(api(bob), project="/bobs"), PNG).json()["file"]
    for reference in (of_bob, "sha256:" + "0" * 64):
        html = shown(alice, chat, {"type": "file", "filename": "dot.png", "file": reference})
        assert "not stored here" in html
        assert "/api/v1/files/" not in html
        chat.ops({"op": "delete", "id": "m1"})
        chat = Chat(chat.api, project="/another")


@pytest.mark.parametrize("reference", [None, 7, [], {}, {"file_id": 7}, "sha256:", "sha256:x", "../../x", "sha256:" + "A" * 64])
def test_a_reference_that_is_none_harms_nothing(alice: User, chat: Chat, reference: Any) -> None:
    assert "Look." in shown(alice, chat, {"type": "text", "text": "Look."}, {"type": "file", "file": reference})


def test_remote_images_are_still_not_loaded(alice: User, chat: Chat) -> None:
    html = shown(alice, chat, {"type": "file", "mediaType": "image/png", "url": "https://elsewhere.example/api/v1/files/a.png"})
    assert "<img" not in html


def test_the_chat_renders_them_too(alice: User, chat: Chat, sent: Upload) -> None:
    reference = sent(PNG, name="dot.png").json()["file"]
    client = Client()
    client.force_login(alice)
    message = {"role": "user", "text": "Look.", "parts": with_file("m1", reference)["parts"]}
    answer = client.post("/chat/words", {"messages": [message]}, content_type="application/json")
    assert image(reference) in answer.json()["articles"][0]
