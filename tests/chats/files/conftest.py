"""Each test has a folder of its own for files."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.chat import Chat
from tests.support.files import folder_of_files, upload

type Upload = Callable[..., Any]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Any) -> Iterator[Path]:
    with folder_of_files(settings, tmp_path / "files") as folder:
        yield folder


@pytest.fixture
def sent(chat: Chat) -> Upload:
    """`sent(b"content", name="a.txt", media_type="text/plain")`: the response to an upload into alice's session."""

    def send(content: bytes, **told: str) -> Any:
        return upload(chat, content, **told)

    return send
