"""An undo of an import keeps what was set up or begun since, though no event tells of it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.accounts.api_keys import create_key, revoke_key
from sessions_app.core.callers import caller_of_user
from tests.portability.background_imports import post, status, work
from tests.support.account_contents import projects
from tests.support.chat import Chat
from tests.support.export_files import download, purge

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("short_pieces")]
SETTINGS = {"versions": 3, "ttl_minutes": 60}


@pytest.fixture
def mine(api: Callable[..., Any], alice: User) -> Any:
    return api(alice)


def imported(api: Any) -> tuple[Any, Chat]:
    """The job, and the only session of the account."""
    chat = Chat(api, project="/undo")
    chat.say("a", "of the file")
    api.put(f"/projects/{projects(api)[0]}/memory-settings/notes", {"versions": 2})
    content = download(api)
    purge(api)
    job = post(api, content)
    work()
    return job, chat


def undo(api: Any, job: Any) -> set[str]:
    """What was left out."""
    assert api.post(f"/imports/{job['id']}/undo").status_code == 200
    work()
    return {left["where"].split()[0] for left in status(api, job)["left_out"]}


def test_settings_of_a_namespace(mine: Any) -> None:
    job, _ = imported(mine)
    address = f"/projects/{projects(mine)[0]}/memory-settings/notes"
    assert mine.put(address, SETTINGS).status_code == 200
    assert undo(mine, job) == {"project"}
    assert mine.get(address).json()["ttl_minutes"] == 60


def test_settings_that_were_deleted_or_not_changed(mine: Any) -> None:
    job, _ = imported(mine)
    address = f"/projects/{projects(mine)[0]}/memory-settings/notes"
    assert mine.put(address, {"versions": 2}).status_code == 200
    assert undo(mine, job) == set()
    job, _ = imported(mine)
    assert mine.delete(f"/projects/{projects(mine)[0]}/memory-settings/notes").status_code == 204
    assert undo(mine, job) == {"project"}


def test_an_answer_that_streams(mine: Any) -> None:
    job, chat = imported(mine)
    stream = chat.post_plain("streams", {"message": "b"}).json()["stream"]
    sent = {"offset": 0, "chunks": ["words"]}
    assert mine.post(f"/streams/{stream}/chunks", sent).status_code == 200
    assert undo(mine, job) == {"session", "project"}
    assert mine.post(f"/streams/{stream}/chunks", {"offset": 1, "chunks": ["more"]}).status_code == 200


@pytest.mark.parametrize("revoked", [False, True])
def test_a_key_for_the_project(mine: Any, api: Callable[..., Any], alice: User, revoked: bool) -> None:
    job, _ = imported(mine)
    caller = caller_of_user(alice)
    made = create_key(caller=caller, project_path="/undo")
    if revoked:
        revoke_key(caller=caller, key_id=made.row.id)
    assert undo(mine, job) == (set() if revoked else {"project"})
