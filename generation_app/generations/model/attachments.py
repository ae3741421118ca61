"""Files of questions as the endpoint reads them: texts as text, images as images, of other files the name.

The newest questions come first: what is larger than the budget, and all that is older, is only named.
"""

import base64
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import orjson

from sessions_app.chats.files import blobs
from sessions_app.chats.files.queries import digest_of, visible_files
from sessions_app.chats.reading.frameworks.conversion import stored_value
from sessions_app.core.public_names import Caller

TEXT_FILE = "data:text/plain;charset=utf-8,"
IMAGE_URL = "data:image/"
TEXT_TYPES = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml"})
# What models read.
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
# Of one question to the endpoint.
MOST_IMAGES = 10
IMAGE_BYTES = 10_000_000
TEXT_BYTES = 400_000

type Message = dict[str, Any]


def with_files(messages: list[Message], caller: Caller) -> list[Message]:
    """The messages with the files of questions as parts. A message in a framework's own format stays as it is."""
    reader = _Reader(caller)
    return [reader.read(message) for message in reversed(messages)][::-1]


def without_images(body: bytes) -> bytes | None:
    """A request whose images are left out; None if it has none. Their names are in the text."""
    request = orjson.loads(body)
    found = False
    for message in request["messages"]:
        if isinstance(content := message.get("content"), list):
            kept = [part for part in content if part.get("type") != "image_url"]
            found = found or len(kept) < len(content)
            message["content"] = kept[0]["text"] if [part.get("type") for part in kept] == ["text"] else kept
    return orjson.dumps(request) if found else None


@dataclass(slots=True)
class _Content:
    """Of one file: the text that the model reads, and the image, if it is one."""

    text: str
    image: str | None = None


class _Reader:
    """What is left of the budget."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._images, self._image_bytes, self._text_bytes = MOST_IMAGES, IMAGE_BYTES, TEXT_BYTES

    def read(self, message: Message) -> Message:
        if message["role"] != "user" or "raw" in message:
            return message
        files = [part for part in stored_value(message["parts"]) or [] if _is_file(part)]
        if not files:
            return message
        contents = [self._content(part) for part in files]
        text = "\n\n".join(said for said in (message["text"], *(content.text for content in contents)) if said)
        images = [{"type": "file", "mediaType": "image/*", "url": one.image} for one in contents if one.image]
        return {**message, "text": text, "parts": [{"type": "text", "text": text}, *images]}

    def _content(self, part: dict[str, Any]) -> _Content:
        name, url = part.get("filename") or "", part.get("url")
        if isinstance(url, str) and url.startswith(TEXT_FILE):
            text = unquote(url.removeprefix(TEXT_FILE))
            if self._has_room_for_text(len(text.encode(errors="replace"))):
                return _Content(f"{name or 'file'}:\n\n{text}")
        if isinstance(url, str) and url.startswith(IMAGE_URL) and self._has_room_for_image(len(url)):
            return _image(name, url)
        return self._stored(part.get("file"), name) or _Content(f"(Attached file: {name or 'without a name'})")

    def _stored(self, reference: Any, name: str) -> _Content | None:
        """None if it is not stored, does not fit, or is of another kind."""
        digest = digest_of(reference) if isinstance(reference, str) else None
        file = visible_files(self._caller).filter(sha256=digest).first() if digest else None
        if file is None:
            return None
        with suppress(OSError, UnicodeDecodeError):
            if file.media_type in IMAGE_TYPES and self._has_room_for_image(file.size_bytes):
                encoded = base64.b64encode(_bytes_at(file.key)).decode()
                return _image(name or file.name, f"data:{file.media_type};base64,{encoded}")
            if _is_text(file.media_type) and self._has_room_for_text(file.size_bytes):
                return _Content(f"{name or file.name}:\n\n{_bytes_at(file.key).decode()}")
        return None

    def _has_room_for_text(self, size: int) -> bool:
        if size > self._text_bytes:
            return False
        self._text_bytes -= size
        return True

    def _has_room_for_image(self, size: int) -> bool:
        if self._images == 0 or size > self._image_bytes:
            return False
        self._images -= 1
        self._image_bytes -= size
        return True


def _image(name: str, url: str) -> _Content:
    return _Content(f"(Attached image: {name or 'without a name'})", url)


def _is_text(media_type: str) -> bool:
    kind = media_type.partition(";")[0].strip().lower()
    return kind.startswith("text/") or kind in TEXT_TYPES or kind.endswith(("+json", "+xml"))


def _bytes_at(key: str) -> bytes:
    with blobs.read(key) as content:
        return content.read()


def _is_file(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "file"
