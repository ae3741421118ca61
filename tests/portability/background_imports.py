"""Imports in the background, as tests run them: in one thread, step by step."""

import io
from typing import Any

from django.contrib.auth.models import User

from sessions_app.core.callers import caller_of_user
from sessions_app.models import ImportJob, Message
from sessions_app.models.import_job import ImportState
from sessions_app.models.times import now
from sessions_app.portability.imports.background_runner import ImportRunner
from sessions_app.portability.imports.jobs import STALE_AFTER, steps
from tests.support.account_contents import fill, fill_memory, fill_states, projects
from tests.support.chat import Chat
from tests.support.export_files import download


def post(api: Any, content: bytes, query: str = "") -> Any:
    answer = api.client.generic("POST", f"/api/v1/imports{query}", content, content_type="application/x-ndjson")
    assert answer.status_code == 202, answer.content
    return answer.json()


def work() -> None:
    runner = ImportRunner()
    while runner.work():
        pass


def status(api: Any, job: Any) -> Any:
    return api.get(f"/imports/{job['id']}").json()


def account(api: Any) -> bytes:
    fill(api, 3)
    fill_states(Chat(api, project="/home/alice/0"), 1)
    fill_memory(api, projects(api)[0])
    return download(api)


def pieces(user: User, content: bytes) -> tuple[ImportJob, Any]:
    """A job of this process and what it has left to do."""
    job = ImportJob.objects.create(user=user, state=ImportState.RUNNING, heartbeat_at=now())
    return job, steps(caller_of_user(user), job, io.BytesIO(content))


def leave(user: User) -> None:
    """As a process leaves its job when it is killed: nothing is tidied up, and after a while it is silent."""
    ImportJob.objects.filter(user=user).update(heartbeat_at=now() - 2 * STALE_AFTER)


def stop_in_the_middle(user: User, content: bytes) -> None:
    """An import whose process ends after its first messages."""
    _, left = pieces(user, content)
    while not Message.objects.exists():
        next(left)
    left.close()
    leave(user)
