"""A long session is forked, and a clear of it undone, beside clients that save: none of them is refused, none waits for long.

A server that is killed in the middle of a fork leaves nothing that anybody sees, and the same request makes the fork once.
"""

import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from sessions_app.models.live import POSITIONS_A_REV
from tests.scale.savers_beside import BEFORE_SECONDS, eight_savers
from tests.support.machine_speed import allowed
from tests.support.server_process import Api, ServerProcess
from tests.support.stores import Store

pytestmark = pytest.mark.scale
P99_SECONDS, INDEXED_SECONDS = 0.25, 100
MANY, ALL = 20_000, 100_000
FILL = """
from sessions_app.models import ChatSession, Message
rows = (Message(session_id="{session}", epoch=1, message_id=f"m{{n}}", position=n, rev=n, role="user", writer_id="w",
                writer_seq=n, size_bytes=400, text=f"message {{n}} of many " * 19) for n in range(1, {many} + 1))
Message.objects.bulk_create(rows, batch_size=2000)
ChatSession.objects.filter(pk="{session}").update(
    rev={many}, last_position={many}, message_count={many}, size_bytes=400 * {many})
"""
WATCH = """
import time
from sessions_app.models import Message
print("watching", flush=True)
while not Message.objects.filter(session__project__owner=None).exists():
    time.sleep(0.002)
print("copied", flush=True)
"""
AGE = """
from datetime import timedelta
from sessions_app.models import ChatSession
from sessions_app.models.times import now
ChatSession.objects.filter(project__owner=None).update(updated_at=now() - timedelta(hours=2))
"""


@pytest.fixture
def server(store: Store) -> Iterator[ServerProcess]:
    with ServerProcess(store) as process:
        yield process


@pytest.fixture
def api(server: ServerProcess) -> Iterator[Api]:
    client = server.api(server.key("ana"))
    client.http.timeout = httpx.Timeout(60)
    yield client
    client.http.close()


def long_session(server: ServerProcess, api: Api, many: int) -> tuple[str, str]:
    """Its project and its id."""
    project, session = api.session("/long")
    server.shell(FILL.format(session=session, many=many))
    return project, session


def sessions_of(api: Api, project: str) -> dict[str, int]:
    return {item["id"]: item["message_count"] for item in api.call("GET", f"/projects/{project}/sessions")["items"]}


def beside_savers(server: ServerProcess, act: Any) -> Any:
    with eight_savers(server) as before:
        time.sleep(BEFORE_SECONDS)
    with eight_savers(server) as during:
        answer = act()
        time.sleep(0.5)
    assert not during.refused
    assert during.p99 <= max(allowed(P99_SECONDS), 2 * before.p99), f"p99 {during.p99:.3f} s, before {before.p99:.3f} s"
    return answer


def fork_and_check(server: ServerProcess, api: Api, many: int) -> None:
    project, session = long_session(server, api, many)
    fork = beside_savers(server, lambda: api.call("POST", f"/sessions/{session}/fork", {}))
    assert sessions_of(api, project) == {session: many, fork["id"]: many}
    newest = api.call("GET", f"/sessions/{fork['id']}/messages", after=f"m{many - 3}")["items"]
    assert [message["id"] for message in newest] == [f"m{many - 2}", f"m{many - 1}", f"m{many}"]
    until = time.monotonic() + INDEXED_SECONDS
    while {hit["session"] for hit in api.call("GET", "/search", q=f"message {many // 2} of")["items"]} != {session, fork["id"]}:
        assert time.monotonic() < until, "the fork is not found"


@pytest.mark.timed
@pytest.mark.slow
def test_saves_go_on_beside_a_fork(server: ServerProcess, api: Api) -> None:
    fork_and_check(server, api, MANY)


@pytest.mark.prove
@pytest.mark.timed
def test_saves_go_on_beside_a_fork_of_100_000_messages(server: ServerProcess, api: Api) -> None:
    fork_and_check(server, api, ALL)


def undo_and_check(server: ServerProcess, api: Api, many: int) -> None:
    """Readers see none of the messages or all of them: in the counter, the window, the newest and the oldest."""
    _, session = long_session(server, api, many)
    api.call("POST", f"/sessions/{session}/clear", {"writer_id": "w", "seq": many + 1, "epoch": 1})
    seen, ended = set[Any](), threading.Event()

    def read() -> None:
        reader = server.api(server.key("ana"))
        while not ended.is_set():
            whole = reader.call("GET", f"/sessions/{session}")
            oldest = reader.call("GET", f"/sessions/{session}/messages", since_rev=0, limit=1)["items"] if many < ALL else []
            seen.add((whole["session"]["message_count"], len(whole["messages"]), len(oldest) in (0, POSITIONS_A_REV)))
        reader.http.close()

    reading = threading.Thread(target=read)
    reading.start()
    undo = {"writer_id": "w", "seq": many + 2, "epoch": 2}
    answer = beside_savers(server, lambda: api.call("POST", f"/sessions/{session}/undo-clear", undo))
    ended.set()
    reading.join()
    assert answer["restored"] == many
    assert seen == {(0, 0, True), (many, 200, True)}


@pytest.mark.timed
def test_saves_go_on_beside_an_undo_and_nobody_sees_half_of_it(server: ServerProcess, api: Api) -> None:
    undo_and_check(server, api, 2_000)


@pytest.mark.prove
@pytest.mark.timed
def test_saves_go_on_beside_an_undo_of_100_000_messages(server: ServerProcess, api: Api) -> None:
    undo_and_check(server, api, ALL)


def kill_in_the_middle(server: ServerProcess, api: Api, session: str, body: dict[str, Any]) -> None:
    def send() -> None:
        with pytest.raises(httpx.TransportError):
            api.http.post(f"/sessions/{session}/fork", json=body)

    sender = threading.Thread(target=send)
    with server.begin("shell", "--no-imports", "-c", WATCH) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline() == b"watching\n"
        sender.start()
        assert watching.stdout.readline() == b"copied\n"
        server.kill()
    sender.join()
    server.start()


@pytest.mark.slow
def test_a_fork_that_was_killed_is_not_seen_and_is_made_once_when_asked_for_again(server: ServerProcess, api: Api) -> None:
    project, session = long_session(server, api, MANY)
    body = {"writer_id": "w", "seq": MANY + 1}
    kill_in_the_middle(server, api, session, body)
    assert sessions_of(api, project) == {session: MANY}
    server.shell(AGE)
    made = [api.call("POST", f"/sessions/{session}/fork", body)["id"] for _ in range(2)]
    assert sessions_of(api, project) == {session: MANY, made[0]: MANY}
    assert made[0] == made[1]


@pytest.mark.slow
def test_what_a_killed_fork_left_is_pruned(server: ServerProcess, api: Api) -> None:
    project, session = long_session(server, api, MANY)
    kill_in_the_middle(server, api, session, {})
    count = "from sessions_app.models import Message; print(Message.objects.count())"
    assert int(server.shell(count)) > MANY
    server.shell(AGE)
    server.manage("prune")
    assert int(server.shell(count)) == MANY
    assert sessions_of(api, project) == {session: MANY}
