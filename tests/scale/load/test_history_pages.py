"""Any moment of a session of 100,000 revisions (in the suite 40,000) is shown within 300 ms, however its messages came and went.

`python -m pytest tests/scale/load/test_history_pages.py -n0 -s` prints the figures.
"""

import re
import sys
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from sessions_app.models import AiState, AiStateVersion, ChatSession, Clearing, ConflictCopy, HandoffSnapshot, Message, Project
from sessions_app.models.message import Removal
from tests.support.live_server import LiveServer
from tests.support.machine_speed import allowed
from tests.support.suite import is_patient

pytestmark = [pytest.mark.scale, pytest.mark.timed]
# To fill the session takes longer than to look at it. A page that reads all of so many is as slow as to be noticed.
REVS = 100_000 if is_patient() else 40_000
SECONDS = 0.3
TRIES = 5 if is_patient() else 3
BEGUN = datetime(2026, 11, 1, tzinfo=UTC)
# What the session consists of: messages that were appended once; changed ten times each while they streamed; all changed again
# at the end; dropped at the cap, but the newest thousand; deleted, every second one; cleared every thousand.
KINDS = ("appended", "streamed", "edited", "dropped", "deleted", "cleared")
# The others are run by `make prove`: filling each takes longer than looking at it.
USUAL = {"edited"}
MOMENTS = (1, 777, REVS // 4, REVS // 2 + 1, REVS * 3 // 4 + 5, REVS - 679, REVS - 1, REVS)
TEXT = "What was said, with **some** `code` in it.\n\n" * 8


@pytest.fixture
def http(server: LiveServer, alice: User) -> Iterator[httpx.Client]:
    client = Client()
    client.force_login(alice)
    with httpx.Client(base_url=server.url, cookies={"sessionid": client.cookies["sessionid"].value}, timeout=60) as http:
        yield http


def at(rev: int) -> datetime:
    return BEGUN + timedelta(seconds=rev)


def message(session: ChatSession, kind: str, number: int) -> Message:
    """The message of this number, which was appended at this rev (`streamed`: at ten times of it)."""
    added, changed, removed, epoch = number, number, Removal.NONE, 1
    if kind == "streamed":
        added, changed = number * 10 - 9, number * 10
    elif kind == "edited":
        added, changed = number, REVS // 2 + number
    elif kind == "dropped" and number <= REVS - 1_000:
        changed, removed = number + 1_000, Removal.DROPPED
    elif kind == "deleted" and number % 2:
        changed, removed = number + 1, Removal.DELETED
    elif kind == "cleared":
        epoch = 1 + number // 1_000
    return Message(
        session=session, epoch=epoch, position=number, message_id=f"m{number}", role="assistant", text=f"{number}: {TEXT}",
        rev=changed, ver=1 if added == changed else 2, writer_id="w", writer_seq=changed, removed=removed, size_bytes=len(TEXT),
        created_at=at(added), updated_at=at(changed),
    )  # fmt: skip


def filled(project: Project, kind: str) -> uuid.UUID:
    session = ChatSession.objects.create(project=project, title=kind, created_at=BEGUN)
    count = {"streamed": REVS // 10, "edited": REVS // 2}.get(kind, REVS)
    Message.objects.bulk_create((message(session, kind, number) for number in range(1, count + 1)), batch_size=2_000)
    epoch = 1 + count // 1_000 if kind == "cleared" else 1
    if kind == "cleared":
        ends = [at(1_000 * number) - timedelta(milliseconds=500) for number in range(1, epoch)]
        Clearing.objects.bulk_create(
            Clearing(session=session, epoch=number, cleared_at=end, message_count=999) for number, end in enumerate(ends, 1)
        )
    ChatSession.objects.filter(pk=session.pk).update(rev=REVS, epoch=epoch, last_position=count, message_count=1_000)
    more(session, project)
    return session.pk


def more(session: ChatSession, project: Project) -> None:
    """Conflicts, todos and handoffs, as many as are kept."""
    ConflictCopy.objects.bulk_create(
        ConflictCopy(
            session=session, epoch=1, message_id=f"m{number}", role="user", text="x", created_at=at(number * REVS * 9 // 10_000)
        )
        for number in range(1_000)
    )
    for name in range(20):
        state = AiState.objects.create(session=session, ai_id=f"{name}", content="{}", rev=50, updated_at=at(REVS))
        AiStateVersion.objects.bulk_create(
            AiStateVersion(state=state, rev=rev, content='{"todos": []}', updated_at=at(rev * REVS // 50)) for rev in range(1, 51)
        )
    if not HandoffSnapshot.objects.filter(project=project).exists():
        HandoffSnapshot.objects.bulk_create(
            HandoffSnapshot(
                project=project, number=n, payload="{}", sha256="0" * 64, session_id=session.pk, created_at=at(n * REVS // 200)
            )
            for n in range(1, 200)
        )


def newest(kind: str, rev: int) -> str:
    """The id of the newest message at a rev. Revs of which nothing is left are one moment, that of the last of them: of the first
    thousand where all of those were dropped, of the first half where all messages were changed in the second."""
    return f"m{({'streamed': -(-rev // 10), 'edited': REVS // 2, 'dropped': max(rev, 1_000)}).get(kind, rev)}"


def taken(http: httpx.Client, address: str, message_id: str = "") -> float:
    """The median of a few tries, each whole. `message_id`: of the last message on the page."""
    tries = []
    for _ in range(TRIES):
        begun = time.perf_counter()
        reply = http.get(address)
        tries.append(time.perf_counter() - begun)
        assert reply.status_code == 200, address
        assert not message_id or re.findall(r'data-id="(m\d+)"', reply.text)[-1] == message_id, address
    return sorted(tries)[TRIES // 2]


@pytest.mark.parametrize("kind", [kind if kind in USUAL else pytest.param(kind, marks=pytest.mark.prove) for kind in KINDS])
def test_any_moment_comes_within_300_ms(kind: str, http: httpx.Client, alice: User, capsys: pytest.CaptureFixture[str]) -> None:
    project = Project.objects.create(owner=alice, path="long")
    session = filled(project, kind)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    pages = {rev: f"/sessions/{session}/history/?at={rev}" for rev in MOMENTS}
    times = {f"history/?at={rev}": taken(http, address, newest(kind, rev)) for rev, address in pages.items()}
    others = (f"trace/?after={REVS // 20}", f"compare/?a={REVS // 100}&b={REVS - 7}", f"compare/?a=777&b=888&before={REVS}")
    times |= {name: taken(http, f"/sessions/{session}/{name}") for name in others}
    slowest = max(times, key=times.__getitem__)
    with capsys.disabled():
        sys.stdout.write(
            f"\n  {connection.vendor}, {kind}: slowest of {len(times)} pages {times[slowest] * 1000:.0f} ms ({slowest})"
        )
    limit = allowed(SECONDS)
    assert {page: seconds for page, seconds in times.items() if seconds > limit} == {}
