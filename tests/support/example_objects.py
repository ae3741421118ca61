"""One example of each object that an address can name, existing or not: they fill the rows of `routes.py`."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from memory_app.models import DeletedEntry
from sessions_app.core.text import login_hash
from sessions_app.models import ApiKey, ImportJob, Project
from sessions_app.models.import_job import ImportState
from tests.support.chat import Chat
from tests.support.files import upload
from tests.support.routes import FRAGMENTS, NOUNS, PAGES, Row

SECRET_TEXT = "nobody else's words"


@dataclass(frozen=True)
class World:
    """Names to fill addresses with."""

    names: dict[str, str]

    def address(self, row: Row) -> str:
        return row.address.format_map(self.names)

    def body(self, row: Row) -> Any:
        if isinstance(row.body, dict):
            return {key: value.format_map(self.names) if isinstance(value, str) else value for key, value in row.body.items()}
        return row.body

    def seen_by(self, api: Any) -> list[bytes]:
        """The session, the project and all projects, as the API shows them."""
        addresses = [f"/sessions/{self.names['session']}", f"/projects/{self.names['project']}", "/projects"]
        return [api.get(address).content for address in addresses]


def world_of(api: Callable[..., Any], user: User) -> World:
    """One of each thing, as `user` has them."""
    chat = Chat(api(user), project="/home/alice/shop")
    _add_messages(chat)
    project = Project.objects.get(path=chat.project, owner=user)
    chat.api.put(f"/projects/{project.id}/sessions/by-external/thread-1", {"title": SECRET_TEXT, "current": False})
    chat.api.put(f"/projects/{project.id}/memory-settings/notes", {"versions": 5})
    _add_agent_data(chat, project)
    stream = chat.api.post(f"/sessions/{chat.id}/streams", {"message": "m1"}).json()["stream"]
    generation = chat.api.post(f"/sessions/{chat.id}/generations").json()["generation"]
    chat.api.post(f"/sessions/{chat.id}/generations/{generation}/stop")
    login = Client()
    login.force_login(user)
    names = {
        "login": login_hash(str(login.session.session_key)),
        **_add_memory(chat.api, project),
        "path": chat.project,
        "project": str(project.id),
        "session": chat.id,
        "message": "m1",
        "external": "thread-1",
        "file": upload(chat, SECRET_TEXT.encode()).json()["file"],
        "removed": "m2",
        "step": "s1",
        "action": "a1",
        "copy": chat.conflicts()[0]["copy_id"],
        "import": str(ImportJob.objects.create(user=user, state=ImportState.DONE, dry_run=True).id),
        "stream": stream,
        "generation": generation,
        "key": str(ApiKey.objects.filter(user=user)[0].id),
    }
    for noun in NOUNS:
        names |= noun.add(chat, SECRET_TEXT)
    return World(names)


def _add_messages(chat: Chat) -> None:
    """A message with a conflict copy, and a removed one."""
    chat.say("m1", SECRET_TEXT)
    chat.say("m2", "taken out")
    chat.ops({"op": "delete", "id": "m2"})
    other = Chat(chat.api, session_id=chat.id)
    other.ops({"op": "upsert", "id": "m1", "role": "user", "text": "another text"})


def _add_memory(api: Any, project: Project) -> dict[str, str]:
    """An entry, a deleted one, a checkpoint, an error and a run: their names in addresses."""
    api.put(f"/projects/{project.id}/memory/notes/n", {"note": SECRET_TEXT})
    api.put(f"/projects/{project.id}/memory/notes/gone", {"note": SECRET_TEXT})
    api.delete(f"/projects/{project.id}/memory/notes/gone")
    recorded = api.post(f"/projects/{project.id}/errors", {"errors": [{"message": SECRET_TEXT}]}).json()
    graph = {"checkpoint": {"type": "json", "base64": "e30="}, "metadata": {"run_id": "r", "note": SECRET_TEXT}}
    assert api.put(f"/projects/{project.id}/threads/graph-1/checkpoints/~/c1", graph).status_code == 201
    return {
        "thread": "graph-1",
        "checkpoint": "c1",
        "entry": "n",
        "deleted": str(DeletedEntry.objects.get(project=project).id),
        "error": recorded["fingerprints"][0],
        "run": api.post(f"/projects/{project.id}/runs").json()["run_id"],
    }


def _add_agent_data(chat: Chat, project: Project) -> None:
    """A plan with a question, an AI's notes, and a frozen handoff."""
    plan = {"title": SECRET_TEXT, "steps": [{"id": "s1", "title": SECRET_TEXT, "status": "pending"}]}
    asked = {"plan": plan, "pending_action": {"id": "a1", "kind": "deploy", "payload": SECRET_TEXT}}
    chat.api.put(f"/sessions/{chat.id}/agent-state", asked)
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"working_notes": SECRET_TEXT})
    chat.api.post(f"/projects/{project.id}/handoff/decisions", {"id": "d1", "text": SECRET_TEXT})
    chat.api.post(f"/projects/{project.id}/handoff/freeze")


def whole_pages(world: World) -> dict[str, str]:
    """The address of every page that a person signed in may open."""
    rows = {name: row for name, row in PAGES.items() if row and row.method == "GET" and name not in FRAGMENTS}
    return {name: world.address(row) for name, row in rows.items()}


def unknown_world() -> World:
    made = {
        name: str(uuid.uuid4())
        for name in ("project", "session", "copy", "key", "run", "deleted", "login", "import", "stream", "generation")
    }
    made |= {name: str(uuid.uuid4()) for noun in NOUNS for name in noun.ids}
    return World(
        {
            **made,
            "path": "/home/nobody/nothing",
            "message": "m1",
            "external": "thread-1",
            "file": f"sha256:{'0' * 64}",
            "removed": "m2",
            "thread": "graph-1",
            "checkpoint": "c1",
            "entry": "n",
            "step": "s1",
            "action": "a1",
            "error": "e",
        }
    )
