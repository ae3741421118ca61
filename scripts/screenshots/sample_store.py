"""A sample store after a week of use: invented projects and sessions, saved through the API."""

import json
import struct
import uuid
import zlib
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.test import Client as Browser

from mcp_app.activity.services import store_recorded
from mcp_app.core.calls import Call, Client
from mcp_app.core.tool import run_tool
from mcp_app.tools.catalog import TOOLS
from scripts.screenshots import sample_words as words
from scripts.screenshots.sample_parts import add_parts
from scripts.screenshots.sample_words import CHECKOUT, PROJECTS, SESSIONS
from sessions_app.accounts import api_keys
from sessions_app.accounts.users import create_user
from sessions_app.core.callers import caller_of_user
from sessions_app.models import ChatSession, Event, Message, Project
from sessions_app.models.times import now

OWNER = "ana"
EVENTS_A_DAY = 24


class Store:
    """Calls the API like ana's frontends and agents."""

    def __init__(self) -> None:
        self.user: User = create_user(username=OWNER)
        made = api_keys.create_key(caller=caller_of_user(self.user), name="laptop")
        self.key_id = made.row.id
        self._http = Browser(headers={"Authorization": f"Bearer {made.secret}"})

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        content = json.dumps({} if body is None else body)
        reply = self._http.generic(method, f"/api/v1{path}", content, content_type="application/json", headers=headers)
        if reply.status_code >= 300:
            raise RuntimeError(f"{method} {path}: {reply.status_code} {reply.content.decode()}")
        return reply.json() if reply.content else None

    def session(self, project: str, title: str, messages: list[dict[str, Any]], *, step: str = "") -> str:
        session_id = str(uuid.uuid4())
        made = {"project": project, "title": title, "opening_step": step}
        self.call("PUT", f"/sessions/{session_id}", made, **{"If-None-Match": "*"})
        self.say(session_id, messages)
        return session_id

    def say(self, session_id: str, messages: list[dict[str, Any]], *, writer: str = "") -> None:
        ops = [{"op": "upsert", "id": f"m{number}", **message} for number, message in enumerate(messages, 1)]
        body = {"epoch": 1, "writer_id": writer or str(uuid.uuid4()), "seq": 1, "ops": ops}
        self.call("POST", f"/sessions/{session_id}/changes", body)

    def upload(self, session_id: str, name: str, media_type: str, content: bytes) -> str:
        """Returns the file's reference."""
        address = f"/api/v1/sessions/{session_id}/files?name={name}"
        return str(self._http.generic("POST", address, content, content_type=media_type).json()["file"])


def fill() -> dict[str, str]:
    """Fills the empty store of this process. Returns the user and the ids that pages need."""
    store = Store()
    caller = caller_of_user(store.user)
    for path, name, _ in PROJECTS:
        store.call("POST", "/projects", {"path": path, "name": name})
    api_keys.create_key(caller=caller, name="shop frontend", project_path=PROJECTS[0][0], days=90)
    api_keys.create_key(caller=caller, name="nightly report", scopes=("read",))
    for path, title, messages in SESSIONS:
        store.session(path, title, messages)
    checkout = _checkout(store)
    content = store.session(PROJECTS[1][0], "Sales figures and a formula", words.CONTENT)
    versions = _versions(store)
    parts = add_parts(lambda title, messages: store.session(PROJECTS[1][0], title, messages), _picture())
    empty = store.session(PROJECTS[-1][0], "", [])
    _remember(store, Project.objects.get(path=PROJECTS[0][0]))
    error = _fail(store, Project.objects.get(path=PROJECTS[0][0]), checkout)
    _work_by_mcp(store, Project.objects.get(path=PROJECTS[0][0]))
    _spread_over_days()
    history, trace = _changed_often(store), _traced(store)
    project = Project.objects.get(path=PROJECTS[0][0])
    return {
        "user": str(store.user.pk),
        "project": str(project.id),
        "path": project.path,
        "session": checkout,
        "content": content,
        "versions": versions,
        "empty": empty,
        **parts,
        "history": history,
        "trace": trace,
        "error": error,
    }


def _checkout(store: Store) -> str:
    """A session with a plan, a conflict and two AIs."""
    checkout = store.session(PROJECTS[0][0], "Checkout fails with an empty cart", CHECKOUT, step="brainstorm")
    other = {"op": "upsert", "id": "m3", "role": "user", "text": "Could it be the cookie's SameSite setting?"}
    store.call("POST", f"/sessions/{checkout}/changes", {"epoch": 1, "writer_id": "phone", "seq": 1, "ops": [other]})
    store.call("PUT", f"/sessions/{checkout}/agent-state", words.AGENT_STATE)
    store.call("PUT", f"/sessions/{checkout}/ai-states/reviewer", words.AI_STATE)
    return checkout


def _changed_often(store: Store) -> str:
    """A session with an overwritten answer, a removed message, a conflict, a clear and its undo."""
    session = store.session(PROJECTS[2][0], "Beds for a wet spring, again", [words.SESSIONS[0][2][0]])
    answer = {"op": "upsert", "id": "a1", "role": "assistant"}
    steps: list[dict[str, Any]] = [{**answer, "text": "Raise it.", "status": "streaming"}]
    steps += [{**answer, "text": "Raise it by 30 cm, or grow what likes it: watercress, mint, marsh marigold."}]
    steps += [{"op": "upsert", "id": f"q{n}", "role": "user", "text": text} for n, text in enumerate(words.QUESTIONS)]
    steps += [{**answer, "text": "Raise it by 40 cm, or grow what likes it: watercress and mint."}, {"op": "delete", "id": "q1"}]
    step = {"epoch": 1, "writer_id": "phone"}
    for seq, op in enumerate(steps, 1):
        store.call("POST", f"/sessions/{session}/changes", {**step, "seq": seq, "ops": [op]})
    other = {
        **step,
        "writer_id": "laptop",
        "seq": 1,
        "ops": [{"op": "upsert", "id": "q0", "role": "user", "text": "Another text"}],
    }
    store.call("POST", f"/sessions/{session}/changes", other)
    store.call("POST", f"/sessions/{session}/clear", {**step, "seq": 90})
    store.call("POST", f"/sessions/{session}/undo-clear", {**step, "epoch": 2, "seq": 91, "of": 1})
    return session


def _traced(store: Store) -> str:
    """A session of an agent that names its model, its tokens and the times of its tools."""
    session = store.session(PROJECTS[0][0], "The cart's race, by an agent", [])
    ops, seconds = list[dict[str, Any]](), list[int]()
    for number, (role, content, second) in enumerate(words.TRACED):
        said: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            said |= {"model": "model-large", "usage": {"input_tokens": 900 + 400 * number, "output_tokens": 30 + 7 * number}}
        ops.append({"op": "upsert", "id": f"t{number}", "format": "anthropic", "raw": said})
        seconds.append(second)
    store.call("POST", f"/sessions/{session}/changes", {"epoch": 1, "writer_id": str(uuid.uuid4()), "seq": 1, "ops": ops})
    for position, second in enumerate(seconds, 1):
        at = now() - timedelta(seconds=600 - second)
        Message.objects.filter(session__id=uuid.UUID(session), position=position).update(
            created_at=at, updated_at=at + timedelta(seconds=3)
        )
    return session


def _versions(store: Store) -> str:
    """A session with two versions of an answer, a picture, a file, and a file that is not stored."""
    session = store.session(PROJECTS[4][0], "Which temple first?", words.TWO_ANSWERS)
    icon = store.upload(session, "map.png", "image/png", _picture())
    notes = store.upload(session, "notes.txt", "text/plain", b"Bring cash." * 900)
    parts = [{"type": "text", "text": "Here is the map, and my notes."}]
    parts += [{"type": "file", "file": icon, "filename": "map.png"}, {"type": "file", "file": notes, "filename": "notes.txt"}]
    parts += [{"type": "file", "file": "sha256:" + 64 * "0", "filename": "gone.pdf"}]
    ops: list[dict[str, Any]] = [{"op": "upsert", "id": "m9", "role": "user", "parts": parts, "parent_id": "m2b"}]
    ops = [{"op": "upsert", "id": "m2b", "parent_id": "m1", **words.OTHER_ANSWER}, *ops]
    store.call("POST", f"/sessions/{session}/changes", {"epoch": 1, "writer_id": "phone", "seq": 1, "ops": ops})
    return session


def _picture() -> bytes:
    """A PNG of 240 × 160 pixels: a blue sky above green."""
    width, height = 240, 160
    rows = b"".join(b"\0" + (b"\x5b\x9b\xd5" if row < 90 else b"\x6a\xa8\x4f") * width for row in range(height))
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    sizes = [(struct.pack(">I", len(data)), kind + data) for kind, data in chunks]
    png = b"".join(size + chunk + struct.pack(">I", zlib.crc32(chunk)) for size, chunk in sizes)
    return b"\x89PNG\r\n\x1a\n" + png


def _remember(store: Store, project: Project) -> None:
    """A handoff, frozen once; memory, errors and durations of two runs."""
    base = f"/projects/{project.id}"
    for kind, items in words.HANDOFF.items():
        for item in items:
            store.call("POST", f"{base}/handoff/{kind}", item)
    store.call("PATCH", f"{base}/handoff", {"summary": "The race is found and tested; the fix waits for a review."})
    store.call("POST", f"{base}/handoff/freeze")
    store.call("POST", f"{base}/handoff/risks", {"text": "No alarm yet when a cart is released during checkout."})
    for (namespace, key), value in words.MEMORY.items():
        store.call("PUT", f"{base}/memory/{namespace}/{key}", value)
    for message, kind, stack, times in words.ERRORS:
        store.call("POST", f"{base}/errors", {"errors": [{"message": message, "kind": kind, "stack": stack}] * times})
    for half in (slice(0, 2), slice(2, 4)):
        run = store.call("POST", f"{base}/runs", {"agent": "claude-code"})["run_id"]
        samples = [
            {"endpoint": endpoint, "duration_ms": duration}
            for endpoint, durations in words.DURATIONS.items()
            for duration in durations[half]
        ]
        store.call("POST", f"{base}/performance", {"samples": samples}, **{"Stillhere-Run": run})
        store.call("POST", f"{base}/runs/{run}/end")


def _fail(store: Store, project: Project, session: str) -> str:
    """An error of two runs that arose in a session, and a similar one with a known fix. Returns the first one's fingerprint."""
    base = f"/projects/{project.id}"
    told = {"kind": "EmptyCart", "stack": words.STACK, "session": session, "message_id": "m2"}
    fixed = {**told, "message": "the cart was released"}
    [known] = store.call("POST", f"{base}/errors", {"errors": [fixed]})["fingerprints"]
    store.call("POST", f"{base}/errors/{known}/resolve", {"known_fix": "Take the lock before the cart is read."})
    error = {**told, "message": "no lines after the payment"}
    for days, agent in ((0, "claude-code"), (2, "reviewer"), (3, "claude-code")):
        run = store.call("POST", f"{base}/runs", {"agent": agent})["run_id"]
        at = (now() - timedelta(days=days)).isoformat()
        errors = [{**error, "at": at}] * (days + 1)
        [found, *_] = store.call("POST", f"{base}/errors", {"errors": errors}, **{"Stillhere-Run": run})["fingerprints"]
        store.call("POST", f"{base}/runs/{run}/end")
    return str(found)


def _work_by_mcp(store: Store, project: Project) -> None:
    """Calls of a client, as the server records them, and two runs that are at work."""
    for agent in ("claude-code", "reviewer"):
        store.call("POST", f"/projects/{project.id}/runs", {"agent": agent})
    caller = replace(caller_of_user(store.user), key_id=store.key_id)
    call = Call(caller, project.path, client=Client("claude-code", "2.1.4"))
    for tool, arguments in words.CALLS:
        run_tool(TOOLS[tool], call, arguments)
    store_recorded()


def _spread_over_days() -> None:
    """Spreads the times over the last week."""
    today = now()
    Event.objects.exclude(project__path=PROJECTS[0][0]).update(at=today - timedelta(minutes=4))
    for path, _, days in PROJECTS:
        project = Project.objects.get(path=path)
        _invent_events(project, days)
        sessions = list(ChatSession.objects.filter(project=project).order_by("-created_at"))
        newest = next((back for back, count in enumerate(reversed(days)) if count), 0)
        for number, session in enumerate(sessions):
            at = today - timedelta(days=newest + number * 1.3, minutes=17 * number + 4)
            ChatSession.objects.filter(pk=session.pk).update(created_at=at - timedelta(hours=2), updated_at=at)
            for back, message in enumerate(Message.objects.filter(session=session).order_by("-position")):
                said = at - timedelta(minutes=3 * back)
                Message.objects.filter(pk=message.pk).update(created_at=said, updated_at=said)
        Project.objects.filter(pk=project.pk).update(updated_at=today - timedelta(days=newest, minutes=4))


def _invent_events(project: Project, days: list[int]) -> None:
    """Saves of earlier days, numbered before those of today."""
    sessions = list(ChatSession.objects.filter(project=project).values_list("pk", flat=True))
    former = [(back, number) for back, count in enumerate(reversed(days)) for number in range(count) if back]
    shift, today = len(former), now()
    for event in Event.objects.filter(project=project).order_by("-event_seq"):
        frame = {**json.loads(event.frame), "event_seq": event.event_seq + shift}
        Event.objects.filter(pk=event.pk).update(event_seq=event.event_seq + shift, frame=json.dumps(frame))
    Project.objects.filter(pk=project.pk).update(event_seq=project.event_seq + shift)
    made = []
    for seq, (back, number) in enumerate(reversed(former), 1):
        session = sessions[seq % len(sessions)]
        at = today - timedelta(days=back, minutes=number * (1440 // EVENTS_A_DAY))
        by = {"user": OWNER, "key": "laptop"}
        frame = {"type": "SESSION_SAVED", "event_seq": seq, "session": str(session), "rev": seq, "by": by}
        made.append(
            Event(project=project, event_seq=seq, type="SESSION_SAVED", session_id=session, frame=json.dumps(frame), at=at)
        )
    Event.objects.bulk_create(made)
