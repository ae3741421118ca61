"""What an endpoint is given of attached files: texts, images within a budget, and of others the name."""

import asyncio
import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from django.contrib.auth.models import User

from generation_app.generations.model import attachments
from generation_app.generations.model.endpoint import Endpoint
from generation_app.generations.model.pieces import EndpointFailed
from generation_app.generations.queries import question_of
from tests.generation.generations.steps import claimed
from tests.generation.generations.test_generations import asked
from tests.support.chat import Chat
from tests.support.files import PNG, folder_of_files, upload, with_file

ANSWER = b'data: {"choices": [{"delta": {"content": "A dot."}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}"}}


@pytest.fixture
def chat(api: Callable[..., Any], alice: User, settings: Any, tmp_path: Path) -> Iterator[Chat]:
    with folder_of_files(settings, tmp_path / "files"):
        yield Chat(api(alice))


def attach(chat: Chat, message_id: str, content: bytes, name: str, media_type: str) -> str:
    reference: str = upload(chat, content, name=name, media_type=media_type).json()["file"]
    chat.ops(with_file(message_id, reference, mediaType=media_type, filename=name))
    return reference


def questions(chat: Chat) -> list[Any]:
    chat.post_plain("generations", {})
    return [message["content"] for message in asked(question_of(claimed())) if message["role"] == "user"]


def test_a_text_is_told_and_an_image_shown(chat: Chat) -> None:
    attach(chat, "q1", b"a,b\n1,2\n", "table.csv", "text/csv")
    attach(chat, "q2", PNG, "dot.png", "image/png")
    text, image = questions(chat)
    assert text == "Look.\n\ntable.csv:\n\na,b\n1,2\n"
    assert image == [{"type": "text", "text": "Look.\n\n(Attached image: dot.png)"}, PICTURE]


def test_other_files_and_what_is_not_a_text_are_named(chat: Chat) -> None:
    attach(chat, "q1", b"\xff\xfe\x00", "broken.txt", "text/plain")
    attach(chat, "q2", b"%PDF-1.7", "paper.pdf", "application/pdf")
    assert questions(chat) == ["Look.\n\n(Attached file: broken.txt)", "Look.\n\n(Attached file: paper.pdf)"]


def test_somebody_else_s_file_is_not_read(chat: Chat, api: Callable[..., Any], bob: User) -> None:
    reference = attach(chat, "q1", b"alice's words", "secret.txt", "text/plain")
    other = Chat(api(bob), project="/home/bob/shop")
    other.ops(with_file("q1", reference, mediaType="text/plain", filename="secret.txt"))
    assert questions(other) == ["Look.\n\n(Attached file: secret.txt)"]


def test_the_newest_files_have_the_budget(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachments, "MOST_IMAGES", 1)
    monkeypatch.setattr(attachments, "TEXT_BYTES", 6)
    for number in (1, 2):
        attach(chat, f"t{number}", f"text{number}".encode(), f"{number}.txt", "text/plain")
        attach(chat, f"i{number}", PNG, f"{number}.png", "image/png")
    old_text, old_image, text, image = questions(chat)
    assert (old_text, old_image) == ("Look.\n\n(Attached file: 1.txt)", "Look.\n\n(Attached file: 1.png)")
    assert (text, image[1]) == ("Look.\n\n2.txt:\n\ntext2", PICTURE)


def test_so_have_texts_that_are_in_their_message(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachments, "TEXT_BYTES", 10)
    for number in (1, 2):
        part = {"type": "file", "filename": f"{number}.txt", "url": f"{attachments.TEXT_FILE}%C3%A4{number}%20text"}
        chat.ops(
            {
                "op": "upsert",
                "id": f"q{number}",
                "role": "user",
                "text": "Look.",
                "parts": [{"type": "text", "text": "Look."}, part],
            }
        )
    assert questions(chat) == ["Look.\n\n(Attached file: 1.txt)", "Look.\n\n2.txt:\n\nä2 text"]


@pytest.mark.parametrize(("takes_text", "said"), [(True, "A dot."), (False, "")])
def test_an_endpoint_that_refuses_images_is_asked_once_more_without(settings: Any, takes_text: bool, said: str) -> None:
    settings.CHAT_URL = "http://model.invalid/v1"
    contents: list[Any] = []

    def reply(request: httpx.Request) -> httpx.Response:
        content = orjson.loads(request.content)["messages"][0]["content"]
        contents.append(content)
        taken = takes_text and isinstance(content, str)
        return httpx.Response(200 if taken else 400, content=ANSWER if taken else b"")

    async def ask() -> str:
        endpoint = Endpoint()
        await endpoint.close()
        endpoint._client = httpx.AsyncClient(transport=httpx.MockTransport(reply))
        message = {"role": "user", "content": [{"type": "text", "text": "Look."}, PICTURE]}
        pieces = [piece.value async for piece in endpoint.ask(model="", messages=[message])]
        await endpoint.close()
        return "".join(pieces)

    if takes_text:
        assert asyncio.run(ask()) == said
    else:
        with pytest.raises(EndpointFailed, match="HTTP 400"):
            asyncio.run(ask())
    assert contents == [[{"type": "text", "text": "Look."}, PICTURE], "Look."]
