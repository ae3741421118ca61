"""PostgreSQL: the first requests do not wait for connections and prepared statements."""

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from sessions_app.accounts import api_keys
from sessions_app.accounts.authentication import caller_of_key
from sessions_app.chats.saving.save_batches import Save, save_together
from sessions_app.chats.saving.services import Changes
from sessions_app.core.callers import caller_of_user
from sessions_app.frontends.resume.queries import find_resume
from sessions_app.frontends.resume.warm_up_reads import run_warm_up_reads
from tests.support.chat import Chat
from tests.support.databases import ON_POSTGRESQL
from tests.support.live_server import LiveServer

pytestmark = pytest.mark.skipif(not ON_POSTGRESQL, reason="A file is open at once, and SQLite prepares nothing for long.")
READERS = 16


def prepared() -> set[str]:
    """The reads that this connection has prepared."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        return {statement for (statement,) in cursor.fetchall() if statement.lstrip().startswith("SELECT")}


@pytest.mark.django_db(transaction=True)
def test_a_thread_that_has_rehearsed_has_the_reads_of_saves_and_resumes_prepared(api: Callable[..., Any], alice: User) -> None:
    chat = Chat(api(alice))
    connection.close()
    caller_of_key("")
    caller_of_key("")
    run_warm_up_reads()
    before = prepared()
    assert len(before) > 5
    for seq in (1, 2, 3):
        changes = Changes(
            epoch=1, writer_id="w", seq=seq, body_sha256="0" * 64, ops=[{"op": "upsert", "id": f"{seq}", "role": "user"}]
        )
        [answer] = save_together([Save(caller_of_user(alice), uuid.UUID(chat.id), changes)])
        assert answer.status == 200  # type: ignore[union-attr]
        find_resume(caller=caller_of_user(alice), path=chat.project, client="default").body()
    late = prepared() - before
    # Of a client that was never there, the rehearsal cannot ask: its project comes first.
    assert {statement for statement in late if "sessions_app_appstate" not in statement} == set()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One for each connection that a thread for requests opens; chores open theirs when they have something to do."""
    found: list[object] = []
    connect = BaseDatabaseWrapper.connect

    def counted(self: BaseDatabaseWrapper) -> None:
        if threading.current_thread().name.startswith(("http", "saves")):
            found.append(self)
        connect(self)

    monkeypatch.setattr(BaseDatabaseWrapper, "connect", counted)
    return found


def test_a_server_that_answers_has_all_its_connections(
    api: Callable[..., Any], alice: User, opened: list[object], server: LiveServer
) -> None:
    chat = Chat(api(alice))
    secret = api_keys.create_key(caller=caller_of_user(alice)).secret
    chat.say("m", "words")
    opened.clear()

    def read(_: int) -> int:
        address = f"{server.url}/api/v1/resume?project={chat.project}"
        return httpx.get(address, headers={"Authorization": f"Bearer {secret}"}, timeout=30).status_code

    with ThreadPoolExecutor(READERS) as clients:
        assert list(clients.map(read, range(READERS * 3))) == [200] * READERS * 3
    assert opened == []
