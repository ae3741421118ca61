"""An account with every kind of content, and all that its owner can read of it."""

import base64
import json
from collections.abc import Callable
from typing import Any

from sessions_app.models import Project
from tests.support.chat import Chat

STATES = (
    "/agent-state", "/agent-state/history", "/agent-state/pending-action/a1", "/ai-states", "/ai-states/claude/history",
    "/ai-states/gone/history",
)  # fmt: skip
PARTS = [{"type": "text", "text": "see"}, {"type": "tool-look", "input": {"b": 1, "a": 2.50}}]


def fill(api: Any, sessions: int) -> None:
    """Projects with sessions that hold every kind of content, in every state."""
    for number in range(sessions):
        chat = Chat(api, project=f"/home/alice/{number % 3}")
        api.patch(f"/sessions/{chat.id}", {"title": f"No. {number} 中文 🦊"})
        for index in range(3 + number % 4):
            chat.say(f"m{index}", f"text {index} of {number}\n```\ncode", role=("user", "assistant")[index % 2])
        whole = {"op": "upsert", "id": "rich", "role": "assistant", "parts": PARTS, "metadata": {"z": 1, "a": None}}
        chat.ops({**whole, "format": "x", "raw": [1, {"k": 10**30}], "parent_id": "m0"}, opening_step="plan")
        chat.ops({"op": "delete", "id": "m1"}, {"op": "delete", "id": "never seen"})
        other = Chat(api, project=chat.project, session_id=chat.id)
        other.ops({"op": "upsert", "id": "m0", "role": "user", "text": f"another {number}"})
        epoch = 1
        if number % 2:
            epoch = chat.clear()["epoch"]
            chat.say("m0", "after the clear", epoch=epoch)
        if number % 4 == 1:
            chat.undo(of=1, epoch=epoch)
        if number % 5 == 4:
            api.delete(f"/sessions/{chat.id}")
    api.put("/app-state", {"selected_project": "/home/alice/1"})
    api.put("/app-state?client=other", {"selected_project": "/home/alice/2", "active_phase": "work"})
    project = api.get("/projects").json()["items"][0]
    api.patch(f"/projects/{project['id']}", {"settings": {"redaction": "off"}, "name": "Named"})
    # As another version may have stored it.
    Project.objects.filter(id=project["id"]).update(settings={"redaction": "off", "n": 1.5})


def fill_states(chat: Chat, number: int) -> None:
    """What agents hold, and the project's handoff, live and frozen."""
    state, ais = f"/sessions/{chat.id}/agent-state", f"/sessions/{chat.id}/ai-states"
    asked = {"id": "a1", "kind": "deploy", "payload": {"to": "中文", "n": 10**30}, "expires_at": "2030-01-01T00:00:00Z"}
    step = {"id": "s1", "title": f"of {number}", "status": "failed"}
    chat.api.put(state, {"plan": {"steps": [step]}, "pending_action": asked, "context": {"z": 1, "a": None}})
    if number % 2:
        chat.api.post(f"{state}/pending-action/a1/resolve", {"decision": "reject", "note": "no"})
    for version in range(3):
        chat.api.patch(
            f"{ais}/claude", {"working_notes": f"version {version}", "todos": [{"content": "🦊", "status": "pending"}]}
        )
    chat.api.put(f"{ais}/gone", {"working_notes": "deleted, but its history stays"})
    chat.api.delete(f"{ais}/gone")
    carried = {"to_project": "/home/alice/carried", "include": ["ai_states", "agent_state"]}
    chat.api.post("/projects", {"path": "/home/alice/carried"})
    there = chat.api.post(f"/sessions/{chat.id}/transfer", carried).json()["to_session"]
    chat.api.patch(f"/sessions/{there}/agent-state", {"context": "other"})
    chat.api.post(
        f"/sessions/{chat.id}/transfer", {**carried, "to_project": None, "to_session": there, "on_conflict": "overwrite"}
    )
    handoff = f"/projects/{chat.read()['session']['project_id']}/handoff"
    chat.api.post(f"{handoff}/decisions", {"text": f"decision {number} — «{chr(0x2028)}»", "rejected": ["b", "a"]})
    chat.api.post(f"{handoff}/freeze")
    chat.api.patch(handoff, {"summary": f"after {number}"})


def fill_memory(api: Any, project: str) -> None:
    """Entries with versions, deleted ones, runs, errors resolved and reopened, noise that filtered some, timings of two runs."""
    memory = f"/projects/{project}"
    for number in range(3):
        api.put(f"{memory}/memory/notes/kept", json.dumps({"version": number, "n": 10**30, "words": "中文 🦊"}))
    api.put(f"{memory}/memory/notes/gone", json.dumps([1, None, 2.50]))
    api.delete(f"{memory}/memory/notes/gone")
    api.put(f"{memory}/memory-settings/exact/1", {"exact": True, "ttl_minutes": 50_000})
    put = {"op": "put", "namespace": ["exact", "1"], "key": "any / key", "value": {"token": "as it was sent", "nul": "a\0"}}
    assert api.post(f"{memory}/memory/batch", {"ops": [put]}).status_code == 200
    rule = {"id": "r1", "pattern": "harmless", "kind": "substring", "source": "manual", "enabled": True}
    api.put(f"{memory}/memory/noise/config", json.dumps({"rules": [rule]}))
    fill_threads(api, project)
    for number in range(2):
        run = api.post(f"{memory}/runs", {"agent": f"agent {number}"}).json()["run_id"]
        held = {"Stillhere-Run": run}
        broken = [{"message": f"broken {name}", "kind": "TypeError", "stack": "at cart.js:7"} for name in "abc"]
        api.post(f"{memory}/errors", {"errors": [*broken, {"message": "harmless"}]}, **held)
        found = api.get(f"{memory}/errors").json()["items"]
        api.post(f"{memory}/errors/{found[0]['fingerprint']}/resolve", {"known_fix": "mend it"}, **held)
        samples = [{"endpoint": "GET /cart", "duration_ms": 10 + 90 * number + each} for each in range(5)]
        api.post(f"{memory}/performance", {"samples": samples}, **held)
        assert api.post(f"{memory}/runs/{run}/end", {}).status_code == 200


def fill_threads(api: Any, project: str) -> None:
    """Threads of checkpoints that share values, with writes: bytes of every kind, names that addresses cannot write."""
    secret, all_bytes = {"type": "json", "base64": "InNrLWFudC1hcGkwMyI="}, base64.b64encode(bytes(range(256))).decode()
    thread = f"/projects/{project}/threads/a%20~1%20~0%20中文/checkpoints"
    for number, ns in ((1, "~"), (2, "~"), (1, "child:1|x")):
        body = {
            "parent": "c1" if number == 2 else None,
            "checkpoint": {"type": "msgpack", "base64": all_bytes},
            "metadata": {"step": number, "n": 10**30, "nul": "a\0", "run_id": "r"},
            "versions": {"shared": "1", "own": f"{number}.5"},
            "values": {"own": secret, **({"shared": {"type": "bytes", "base64": all_bytes}} if number == 1 else {})},
        }
        assert api.put(f"{thread}/{ns}/c{number}", body).status_code == 201
    writes = [{"idx": idx, "channel": "own", "type": "null", "base64": ""} for idx in (0, 1, -3)]
    assert api.put(f"{thread}/~/c2/writes/task", {"path": "~p", "writes": writes}).json() == {"stored": 3}


def of_memory(read: Callable[[str], Any], project: str) -> None:
    memory = f"/projects/{project}"
    for path in ("/memory-stats", "/memory-settings", "/context", "/performance"):
        read(memory + path)
    for state in ("unresolved", "resolved"):
        for error in read(f"{memory}/errors?state={state}")["items"]:
            read(f"{memory}/errors/{error['fingerprint']}")
    for thread in read(f"{memory}/threads")["items"]:
        named = thread["thread"].replace("~", "~0").replace("/", "~1")
        read(f"{memory}/threads/{named}/checkpoints")
    for namespace in read(f"{memory}/memory")["items"]:
        if len(namespace["labels"]) > 1:
            continue
        place = f"{memory}/memory/{namespace['namespace']}"
        for entry in read(place)["items"]:
            read(f"{place}/{entry['key']}")
            read(f"{place}/{entry['key']}/versions")


def projects(api: Any) -> list[str]:
    return [item["id"] for item in api.get("/projects?limit=500").json()["items"]]


def everything(api: Any) -> dict[str, tuple[int, bytes, str]]:
    """What every reading call answers."""
    answers: dict[str, tuple[int, bytes, str]] = {}

    def read(address: str) -> Any:
        answer = api.get(address)
        answers[address] = (answer.status_code, answer.content, answer.headers.get("ETag", ""))
        return answer.json()

    for address in ("/app-state", "/app-state?client=other"):
        read(address)
    for project in read("/projects?limit=500")["items"]:
        read(f"/resume?quiet=1&project={project['path']}")
        of_memory(read, project["id"])
        for session in read(f"/projects/{project['id']}/sessions?limit=500")["items"]:
            states = STATES if api.head(f"/sessions/{session['id']}/agent-state").status_code == 200 else ()
            for path in ("", "/messages?since_rev=0", "/messages?limit=2", "/removed", "/conflicts", *states):
                read(f"/sessions/{session['id']}{path}")
        for snapshot in [*read(f"/projects/{project['id']}/handoff/snapshots")["items"], None]:
            read(f"/projects/{project['id']}/handoff" + (f"/snapshots/{snapshot['number']}" if snapshot else ""))
        read(f"/projects/{project['id']}/sessions?deleted=1&limit=500")
    return answers
