"""Every tool, called by the official client over HTTP."""

import uuid
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from pydantic import ValidationError

from mcp_app.core.calls import Call
from mcp_app.core.outcomes import size_of
from mcp_app.core.tool import Tool, run_tool
from mcp_app.tools import memory
from mcp_app.tools.catalog import TOOLS
from memory_app.core.namespaces import pack
from memory_app.key_value.entries.entry_values import NewEntry
from memory_app.key_value.entries.services import put_entry
from sessions_app.core.callers import caller_of_user
from sessions_app.core.web.preconditions import ANY
from sessions_app.projects.services import create_project
from tests.mcp.conftest import Connect
from tests.mcp.mcp_client import call_every_tool


@pytest.fixture
def connect(connect: Connect) -> Connect:
    """By the official client."""
    return partial(connect, official=True)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_null_is_an_argument_left_out(tool: Tool) -> None:
    """Models name every argument."""
    optional = {name for name, field in tool.arguments.model_fields.items() if not field.is_required()}
    assert not refused_fields(tool, dict.fromkeys(optional)) & optional


def refused_fields(tool: Tool, arguments: dict[str, Any]) -> set[Any]:
    try:
        tool.arguments.model_validate(arguments)
    except ValidationError as error:
        return {part for item in error.errors() for part in item["loc"]}
    return set()


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_every_tool_is_listed_with_what_a_client_needs(connect: Connect, mode: str) -> None:
    async def listed(client: Any) -> Any:
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in connect(mode=mode).run(listed)}
    assert len(tools) == 16
    for tool in tools.values():
        assert all([tool.title, tool.description, tool.output_schema, tool.annotations])
        assert tool.annotations.open_world_hint is False
        assert tool.input_schema["additionalProperties"] is False


def test_every_tool_answers(connect: Connect) -> None:
    client = connect()

    def call(name: str, arguments: dict[str, Any]) -> Any:
        return {"structuredContent": client.call(name, **arguments), "content": [{"text": name}]}

    call_every_tool(call)


def test_values_are_saved_loaded_listed_and_removed(connect: Connect) -> None:
    client = connect()
    saved = client.call("session_store", action="save", namespace="notes", key="db", data={"engine": "sqlite", "n": 2**70})
    assert (saved["key"], saved["created"], saved["redacted"]) == ("db", True, {})
    loaded = client.call("session_store", action="load", namespace="notes", key="db")
    assert loaded["stored"]["value"] == {"engine": "sqlite", "n": 2**70}
    assert [row["key"] for row in client.call("session_store", action="list", namespace="notes")["stored"]["items"]] == ["db"]
    assert [row["namespace"] for row in client.call("session_store", action="list")["stored"]["items"]] == ["notes"]
    assert client.call("session_store", action="stats")["stored"]["entries"] == {"notes": 1}
    assert client.call("session_store", action="delete", namespace="notes", key="db")["restorable"] is True
    assert client.refusal("session_store", action="load", namespace="notes", key="db")["error"]["code"] == "not_found"


def test_a_project_is_named_by_its_path_or_its_id(connect: Connect, house: Any) -> None:
    path = str(uuid.uuid4())  # Which looks like an id.
    made = house.api.call("POST", "/projects", {"path": path})
    saved = {"action": "save", "namespace": "notes", "key": "k", "data": 1}
    assert connect(project=path).call("session_store", **saved)["created"] is True
    assert connect(project=made["id"]).call("session_store", **saved)["created"] is False


def test_a_project_that_was_never_used_has_a_fresh_context(connect: Connect, path: str) -> None:
    fresh = connect().call("load_session_context")["stored"]
    assert (fresh["project"]["path"], fresh["session_count"], fresh["errors"]) == (path, 1, {"unresolved": [], "resolved": []})
    assert fresh["project"]["id"] is None
    used = connect()
    used.call("session_store", action="save", namespace="baselines", key="login", data={"ms": 3})
    assert used.call("load_session_context")["stored"].keys() == fresh.keys()
    assert used.call("load_session_context")["stored"]["baselines"] == {"count": 1, "names": ["login"]}


def test_a_conversation_is_saved_resumed_read_and_found(connect: Connect) -> None:
    client = connect()
    said = [
        {"id": f"m{number}", "role": "user" if number % 2 else "assistant", "text": f"word{number} " * 5} for number in range(9)
    ]
    saved = client.call("session_save", messages=said)
    assert [one["id"] for one in saved["applied"]] == [one["id"] for one in said]
    assert client.call("session_save", messages=said)["ignored"][0]["reason"] == "same"
    resumed = client.call("session_resume")["stored"]
    assert [one["id"] for one in resumed["messages"]] == [one["id"] for one in said]
    few = client.call("session_read", budget=100)["stored"]
    assert few["older"] is True
    assert few["messages"][-1]["id"] == "m8"
    around = client.call("session_read", around="m4", session_id=saved["session"])["stored"]["messages"]
    assert [one["id"] for one in around] == [one["id"] for one in said]
    hits = client.call("session_search", query="word4")["stored"]["items"]
    assert [(hit["kind"], hit["message"], hit["session"]) for hit in hits] == [("message", "m4", saved["session"])]


def test_messages_without_an_id_get_one(connect: Connect) -> None:
    client = connect()
    saved = client.call("session_save", messages=[{"role": "user", "text": "one"}], session_id="20251228_1847_pjcc")
    again = client.call("session_save", messages=[{"role": "user", "text": "two"}], session_id="20251228_1847_pjcc")
    assert saved["session"] == again["session"]
    found = client.call("session_read", session_id="20251228_1847_pjcc")["stored"]
    assert [one["text"] for one in found["messages"]] == ["one", "two"]


def test_another_writer_s_message_stays(connect: Connect, house: Any) -> None:
    client = connect()
    saved = client.call("session_save", messages=[{"id": "mine", "role": "user", "text": "mine"}])
    house.api.save(saved["session"], "theirs", text="theirs")
    tried = client.call("session_save", messages=[{"id": "theirs", "role": "user", "text": "overwritten"}])
    assert [one["id"] for one in tried["conflicts"]] == ["theirs"]
    texts = {one["id"]: one["text"] for one in client.call("session_read")["stored"]["messages"]}
    assert texts == {"mine": "mine", "theirs": "theirs"}
    changed = {"id": "mine", "role": "user", "text": "mine, changed", "if_ver": saved["applied"][0]["ver"]}
    assert client.call("session_save", messages=[changed])["applied"]


def test_the_brief_has_what_is_open(connect: Connect, house: Any) -> None:
    client = connect()
    session = client.call("session_save", messages=[{"role": "user", "text": "Where is Oslo?"}])["session"]
    plan = {"plan": {"title": "t", "steps": [{"id": "s1", "title": "Look", "status": "pending"}]}}
    house.api.call("PUT", f"/sessions/{session}/agent-state", plan)
    todos = [{"content": "done", "status": "completed"}, {"content": "open", "status": "pending"}]
    client.call("ai_state_save", ai_id="claude", todos=todos)
    client.call("handoff_add", kind="decision", text="Times are in UTC.", rationale="one clock")
    client.call("error_record", message="TimeoutError: no answer")
    brief = client.call("session_brief")["stored"]
    assert brief["last_question"]["text"] == "Where is Oslo?"
    assert [step["title"] for step in brief["plan"]] == ["Look"]
    assert [(todo["ai_id"], todo["content"]) for todo in brief["todos"]] == [("claude", "open")]
    assert [decision["text"] for decision in brief["decisions"]] == ["Times are in UTC."]
    assert [error["message"] for error in brief["errors"]] == ["TimeoutError: no answer"]


def test_a_handoff_is_filled_and_frozen(connect: Connect) -> None:
    client = connect()
    client.call("handoff_add", kind="file", text="src/app.py", note="the entry")
    client.call("handoff_add", kind="risk", text="no backups")
    client.call("handoff_add", kind="summary", text="half done")
    assert client.call("handoff_add", kind="risk", text="No  backups")["merged"] is True
    frozen = client.call("handoff_freeze")
    client.call("handoff_add", kind="risk", text="another")
    assert len(client.call("handoff_get")["stored"]["risks"]) == 2
    assert [risk["text"] for risk in client.call("handoff_get", number=frozen["number"])["stored"]["payload"]["risks"]] == [
        "no backups"
    ]
    assert client.refusal("handoff_add", kind="risk", text="x", note="y")["error"]["code"] == "invalid"


def test_an_error_that_was_seen_before_comes_with_its_fix(connect: Connect) -> None:
    client = connect()
    first = client.call("error_record", message="KeyError: 'cart'", stack="File app.py, line 3")
    assert (first["new"], first["stored"]["known_fix"]) == (True, "")
    assert client.call("error_resolve", fingerprint=first["fingerprint"], known_fix="use get")["state"] == "resolved"
    again = client.call("error_record", message="KeyError: 'cart'", stack="File app.py, line 3")
    assert (again["reopened"], again["stored"]) == (True, {"count": 2, "known_fix": "use get"})
    elsewhere = 'File "other.py", line 9, in another'
    similar = client.call("error_record", message="KeyError: 'cart'", stack=elsewhere)["stored"]
    assert (similar["known_fix"], similar["similar_fix"]["known_fix"]) == ("", "use get")


def test_todos_are_kept_and_carried_to_another_session(connect: Connect) -> None:
    """The usage patterns of an agent: save, restore, transfer; without a session it is the current one."""
    client = connect()
    todos = [{"content": "Task description", "status": "in_progress", "activeForm": "Working on task"}]
    client.call("session_save", messages=[{"role": "user", "text": "hi"}], session_id="s_pjcc")
    client.call(
        "ai_state_save", ai_id="claude", todos=todos, working_notes="Current focus areas", context_summary="What I was working on"
    )
    client.call("ai_state_save", ai_id="claude", working_notes="changed", todos=None)
    state = client.call("ai_state_get", ai_id="claude")["stored"]
    assert (state["todos"], state["working_notes"], state["context_summary"]) == (todos, "changed", "What I was working on")
    moved = client.call("ai_state_transfer", from_session="s_pjcc", to_session="s_newid", ai_id="claude")
    carried = client.call("ai_state_get", ai_id="claude", session_id="s_newid")["stored"]
    assert (carried["todos"], carried["transferred_from"]) == (todos, moved["from_session"])
    client.call("ai_state_save", ai_id="gemini", working_notes="mine", session_id="s_newid")
    listed = client.call("ai_state_list", session_id="s_newid")["stored"]["items"]
    assert [state["ai_id"] for state in listed] == ["claude", "gemini"]
    again = client.call("ai_state_transfer", from_session="s_pjcc", to_session="s_newid", ai_id="claude")
    assert again["how"] == "same"


def test_a_list_of_states_fits_into_its_budget(connect: Connect) -> None:
    """Short states stay whole; of long ones the beginning is shown."""
    client = connect()
    todos = [{"content": f'{number} ⌘"' * 50, "status": "pending"} for number in range(30)]
    for name in ("a", "b", "c"):
        client.call(
            "ai_state_save", ai_id=name, todos=todos, working_notes="notes⌘\n" * 3_000, context_summary="summed up " * 3_000
        )
    client.call("ai_state_save", ai_id="small", working_notes="short")
    stored = client.call("ai_state_list", budget=1_000)["stored"]
    assert 3_500 < size_of(stored) <= 4_000
    listed = stored["items"]
    assert [state["ai_id"] for state in listed] == ["a", "b", "c", "small"]
    assert ("cut" in listed[3], listed[3]["working_notes"]) == (False, "short")
    assert all(state["cut"] and state["working_notes"].startswith("notes") and state["context_summary"] for state in listed[:3])
    assert len(client.call("ai_state_get", ai_id="a", budget=100_000)["stored"]["todos"]) == 30
    assert not any("cut" in state for state in client.call("ai_state_list", budget=100_000)["stored"]["items"])


def test_refusals_name_what_an_agent_can_call(connect: Connect) -> None:
    client = connect()
    client.call("session_save", messages=[{"role": "user", "text": "hi"}], session_id="there")
    unknown = client.refusal("error_resolve", fingerprint="unknown")["error"]["message"]
    assert "`error_record`" in unknown
    carried = client.refusal("ai_state_transfer", from_session="nowhere", to_session="there", ai_id="claude")["error"]
    assert "`session_id`" not in carried["message"]
    assert "`session_search`" in carried["message"]
    stateless = client.refusal("ai_state_get", ai_id="nobody", session_id="there")["error"]["message"]
    assert "`ai_state_list`" in stateless
    assert "`number`" in client.refusal("handoff_get", number=9)["error"]["message"]


def test_an_answer_says_in_its_text_what_is_wrong(connect: Connect) -> None:
    """Some clients show a model the text only."""

    def told(tool: str, **arguments: Any) -> str:
        async def call(client: Any) -> Any:
            return await client.call_tool(tool, arguments)

        return str(connect().run(call).content[0].text)

    unknown = told("session_store", action="save", namespace="n", key="k", value=1)
    assert "`value`: There is no such field. The fields are: " in unknown
    assert ", data," in unknown
    missing = told("handoff_add")
    assert "`kind`: Field required" in missing
    assert "`text`: Field required" in missing
    long = told("session_save", messages=[{"id": "m1", "role": "user", "text": "x" * 100_001}])
    assert "Saved 0 of 1 messages. 1 were rejected: `m1`: " in long


@pytest.mark.django_db
def test_a_list_of_namespaces_goes_on_after_a_long_one(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "PAGE", 1)
    caller = caller_of_user(alice)
    project_id = create_project(caller=caller, path="/home/alice/shop")[0].id
    long = "/".join(["~0" * 120] * 10)
    for namespace in (long, "~1"):
        entry = NewEntry(namespace, "k", 1)
        put_entry(caller=caller, project_id=project_id, entry=entry, conditions=ANY, run_id=None)
    call, shown = Call(caller, "/home/alice/shop"), list[str]()
    cursor: str | None = ""
    while cursor is not None:
        page = run_tool(TOOLS["session_store"], call, {"action": "list", **({"cursor": cursor} if cursor else {})}).data
        shown += ["/".join(pack([label]) for label in name) if isinstance(name, list) else pack([name]) for name in named(page)]
        cursor = page["next"]
    assert shown == [long, "~1"]


def named(page: dict[str, Any]) -> list[str | list[str]]:
    return [row["namespace"] for row in page["stored"]["items"]]
