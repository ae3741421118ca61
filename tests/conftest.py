"""The users of tests: alice is the owner, bob another user, carol is disabled."""

import gc
import logging
import shutil
import signal
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client, TransactionTestCase
from hypothesis import settings as hypothesis_settings

from sessions_app.accounts import api_keys
from sessions_app.accounts.users import create_user
from sessions_app.chats.search import message_search, session_search, sources, text_matching, word_index
from sessions_app.core.callers import caller_of_user
from sessions_app.core.limits import stream_slots
from sessions_app.models import HandoffSnapshot, Purge
from tests.support.chat import Chat
from tests.support.databases import ON_POSTGRESQL, TEMPLATE, flush, own_database
from tests.support.example_objects import World, world_of
from tests.support.live_server import LiveServer
from tests.support.page_load import Page
from tests.support.saves import Writer
from tests.support.server_process import ServerProcess, new_store
from tests.support.sockets import House
from tests.support.stores import Store
from tests.support.suite import choose, list_failures

# Every request of theirs as a line would bury what failed.
for name in ("httpx", "stillhere.requests"):
    logging.getLogger(name).setLevel(logging.WARNING)
# A run in the background ignores these, and so would each process that a test starts.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)
# A busy machine may take any time for an example: what must be quick is marked `timed`.
hypothesis_settings.register_profile("stillhere", deadline=None)
hypothesis_settings.load_profile("stillhere")


def pytest_configure() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """A look of Python's collector at all modules and tests, which stay, would be taken again and again."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    choose(config, items)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    list_failures(terminalreporter)


@pytest.fixture(autouse=True)
def quick(settings: Any) -> None:
    """Hashing passwords is slow on purpose; tests have nothing to hide. And every client of a test starts the
    application again, which would look through all static files before its first answer."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture(autouse=True)
def quick_collector(request: pytest.FixtureRequest) -> None:
    """A look of Python's collector at all that a run of tests has made takes up to half a second, which is no time of what is
    measured."""
    if request.node.get_closest_marker("timed") is not None:
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def no_streams_left() -> None:
    """A test's client that does not read a stream to its end does not close it either, as servers do."""
    stream_slots._taken.clear()


@pytest.fixture
def alice(db: None) -> User:
    return create_user(username="alice")


@pytest.fixture
def bob(db: None) -> User:
    return create_user(username="bob")


@pytest.fixture
def carol(db: None) -> User:
    return create_user(username="carol", is_active=False)


type Alone = Callable[[str], AbstractContextManager[None]]


@pytest.fixture
def alone(db: None, subtests: pytest.Subtests) -> Alone:
    """For tests that go over a table: `with alone("a row"):` fails by itself, and what was done in it is undone."""

    @contextmanager
    def row(name: str) -> Iterator[None]:
        with subtests.test(row=name), transaction.atomic():
            yield
            transaction.set_rollback(True)

    return row


class Api:
    """The JSON API as a client with one key sees it. `headers` go by their real names."""

    def __init__(self, secret: str) -> None:
        self.secret = secret
        self.client = Client(headers={"Authorization": f"Bearer {secret}"})

    def _do(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        sent: dict[str, Any] = {} if body is None else {"data": body, "content_type": "application/json"}
        return getattr(self.client, method)(f"/api/v1{path}", headers=headers, **sent)

    def get(self, path: str, **headers: str) -> Any:
        return self._do("get", path, **headers)

    def head(self, path: str, **headers: str) -> Any:
        return self._do("head", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self._do("post", path, {} if body is None else body, **headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Any:
        return self._do("put", path, body, **headers)

    def patch(self, path: str, body: Any = None, **headers: str) -> Any:
        return self._do("patch", path, body, **headers)

    def delete(self, path: str, **headers: str) -> Any:
        return self._do("delete", path, **headers)


@pytest.fixture
def api() -> Callable[..., Api]:
    """`api(alice, scopes=["read"])`: a client with a fresh key of alice's."""
    return lambda user, **key: Api(api_keys.create_key(caller=caller_of_user(user), **key).secret)


@pytest.fixture
def alices_world(api: Callable[..., Any], alice: User) -> World:
    """One of each thing, as alice has them."""
    return world_of(api, alice)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """SQLite in a file, as users have it: in memory, several threads would share locks that a file does not have."""
    test: dict[str, Any] = settings.DATABASES["default"].setdefault("TEST", {})
    if TEMPLATE:
        test["MIGRATE"] = False
    if ON_POSTGRESQL:
        test["TEMPLATE"] = TEMPLATE or None
        return
    test["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")
    if TEMPLATE:
        shutil.copy(TEMPLATE, test["NAME"])


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_keepdb: bool) -> bool:
    """What was copied is not made again."""
    return django_db_keepdb or (bool(TEMPLATE) and not ON_POSTGRESQL)


@pytest.fixture(scope="session", autouse=True)
def quick_flush() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda self: flush())
        yield


@pytest.fixture(scope="session", autouse=True)
def own_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The content of files is stored by account, and accounts of other processes' databases have the same numbers: a test that
    deletes one would delete the content of another process's test."""
    settings.STORAGES["files"]["OPTIONS"]["location"] = tmp_path_factory.mktemp("files")


@pytest.fixture
def server(transactional_db: None) -> Iterator[LiveServer]:
    """The server on a port of its own, in this process and on this test's database."""
    with LiveServer() as live:
        yield live
    # Emptying the tables after the test is no purge, so the frozen handoffs would refuse it.
    Purge.objects.bulk_create(
        Purge(project_id=frozen) for frozen in HandoffSnapshot.objects.order_by().values_list("project_id", flat=True).distinct()
    )
    HandoffSnapshot.objects.all().delete()


@pytest.fixture(scope="session")
def first_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """For copies: to make one takes seconds."""
    folder = tmp_path_factory.mktemp("store")
    if TEMPLATE and not ON_POSTGRESQL:
        shutil.copy(TEMPLATE, folder / "stillhere.sqlite3")
    with own_database(like=TEMPLATE) as settings:
        yield new_store(folder, settings)


@pytest.fixture
def store(first_store: Store, tmp_path: Path) -> Iterator[Store]:
    """The test's own, for a server as a process."""
    with first_store.copied(tmp_path) as store:
        yield store


@pytest.fixture(scope="module")
def house(first_store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """The server as a process, on a store of its own, for the tests of one file."""
    folder = tmp_path_factory.mktemp("house")
    with first_store.copied(folder) as store, ServerProcess(store, HEARTBEAT_SECONDS="1") as process:
        house = House(process)
        yield house
        house.api.close()


@pytest.fixture
def path() -> str:
    """The path of a project that is nobody else's."""
    return f"/home/ana/{uuid.uuid4()}"


@pytest.fixture
def chat(api: Any, alice: Any) -> Chat:
    """A new session of alice's."""
    return Chat(api(alice))


@pytest.fixture
def tab(chat: Chat) -> Writer:
    """Writes to that session, as `other` does."""
    return Writer(chat)


@pytest.fixture
def other(chat: Chat) -> Writer:
    return Writer(chat)


@pytest.fixture
def secret(transactional_db: None, alice: User) -> str:
    return api_keys.create_key(caller=caller_of_user(alice)).secret


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
def patient_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that runs out of its time finds less, which on a busy machine can happen to any."""
    for module, names in (
        (session_search, ("SEARCH_SECONDS", "INDEX_SECONDS")),
        (text_matching, ("SEARCH_SECONDS", "INDEX_SECONDS")),
        (message_search, ("HITS_SECONDS",)),
        (sources, ("SOURCE_SECONDS",)),
        (word_index, ("INDEX_SECONDS",)),
    ):
        for name in names:
            monkeypatch.setattr(module, name, 30.0)


@pytest.fixture
def page(reload: Callable[[], Page]) -> Page:
    return reload()
