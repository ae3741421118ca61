from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.auth import caller_of_user
from sessions_app.services import keys
from tests.chat import Chat
from tests.live_server import LiveServer
from tests.page_load import Page


@pytest.fixture
def chat(api: Any, alice: Any) -> Chat:
    """A new session of alice's."""
    return Chat(api(alice))


@pytest.fixture
def secret(transactional_db: None, alice: User) -> str:
    return keys.create_key(caller=caller_of_user(alice)).secret


@pytest.fixture
def reload(server: LiveServer, secret: str) -> Iterator[Callable[[], Page]]:
    """A hard refresh: whatever a page held is gone, another one opens."""
    pages: list[Page] = []

    def opened() -> Page:
        for page in pages:
            page.api.close()
        pages[:] = [Page(server.host, secret)]
        return pages[0]

    yield opened
    for page in pages:
        page.api.close()


@pytest.fixture
def page(reload: Callable[[], Page]) -> Page:
    return reload()
