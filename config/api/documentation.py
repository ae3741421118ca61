"""Summaries, example bodies and the shape of refusals for the API's document.

The default summary of an operation is its id (`list_sessions`: "List sessions"); SUMMARIES has those that need another text.
Every operation with a body needs an example; the tests send each of them.
"""

import hashlib
import json
from typing import Any

from sessions_app.core.extension import extensions
from sessions_app.core.web.schemas import Error
from sessions_app.portability.exports.export_file import FORMAT, VERSION

_SCHEMAS = "#/components/schemas/"
# Of the statuses.
FIRST_REFUSAL, FULL = 400, 507
READS = {"get", "head"}
SUMMARIES = {
    "resume": "Resume a project: its session, messages and states",
    "can_resume": "Check for something to resume",
    "get_app_state": "Get the selected project and phase",
    "save_app_state": "Select a project or a phase",
    "undelete_project": "Restore a project from the trash",
    "undelete_session": "Restore a session from the trash",
    "list_all_sessions": "List sessions of all projects",
    "get_session_by_external_id": "Get a session by your own id for it",
    "put_session_by_external_id": "Get or create a session by your own id for it",
    "get_message": "Get a message",
    "upload_file": "Upload a file for a session's messages",
    "list_session_files": "List the files of a session",
    "get_file": "Download a file",
    "has_file": "Check for a file",
    "put_session": "Create a session under your own id",
    "get_session": "Get a session with its messages",
    "save_changes": "Save changes to messages",
    "save_session": "Save all messages of a session",
    "clear_session": "Clear a session",
    "undo_clear": "Undo a clear",
    "list_messages": "List messages, or their changes",
    "list_removed": "List removed messages",
    "restore_message": "Restore a removed message",
    "list_conflicts": "List conflict copies",
    "settle_conflict": "Settle a conflict copy",
    "move_session": "Move a session to another project",
    "transfer_session": "Transfer states and messages to another session",
    "flush": "Save the last changes of a closing page (beacon)",
    "has_agent_state": "Check for an agent state",
    "save_agent_state": "Save an agent state whole",
    "update_agent_state": "Update fields of an agent state",
    "update_plan_step": "Update a step of the plan",
    "restore_agent_state": "Restore an earlier agent state",
    "resolve_action": "Approve or reject a pending action",
    "list_ai_states": "List AI states",
    "get_ai_state": "Get an AI state",
    "save_ai_state": "Save an AI state whole",
    "update_ai_state": "Update fields of an AI state",
    "delete_ai_state": "Delete an AI state",
    "list_ai_state_history": "List earlier versions of an AI state",
    "restore_ai_state": "Restore an earlier AI state",
    "get_handoff": "Get the live handoff",
    "list_snapshots": "List handoff snapshots",
    "get_snapshot": "Get a handoff snapshot",
    "export_snapshot": "Export a handoff snapshot as Markdown",
    "diff_snapshots": "Compare two handoff snapshots",
    "create_ws_ticket": "Create a ticket for a WebSocket",
    "export_session_markdown": "Export a session as Markdown",
    "import_file": "Import an export",
    "search": "Search sessions, memory, handoffs and errors",
    "list_memory": "List memory namespaces",
    "batch_memory": "Read and write many memory entries at once",
    "purge_memory_namespace": "Erase a memory namespace for good",
    "list_memory_settings": "List the settings of memory namespaces",
    "get_memory_settings": "Get the settings of a memory namespace",
    "put_memory_settings": "Set how a memory namespace is kept",
    "delete_memory_settings": "Delete the settings of a memory namespace",
    "list_memory_versions": "List versions of a memory entry",
    "restore_memory_version": "Restore a version of a memory entry",
    "list_deleted_memory": "List deleted memory entries",
    "undelete_memory_entry": "Restore a deleted memory entry",
    "export_memory": "Export a project's memory as ZIP",
    "list_threads": "List threads of checkpoints",
    "delete_thread": "Erase a thread of checkpoints",
    "copy_thread": "Copy a thread of checkpoints",
    "prune_thread": "Erase old checkpoints of a thread",
    "list_checkpoints": "List checkpoints, or read the latest",
    "put_checkpoint_writes": "Store what a task wrote after a checkpoint",
    "delete_checkpoints_of_runs": "Erase the checkpoints of runs",
    "take_over_run": "Take over the writer's lease",
    "heartbeat_run": "Keep a run alive",
    "list_performance": "List durations of endpoints",
    "record_performance": "Record durations of endpoints",
    "start_stream": "Start a stream of an answer",
    "append_chunks": "Append chunks to a stream",
    "read_stream": "Read a stream, live",
    "read_session_stream": "Read the stream of a session's present answer",
    "start_generation": "Let the server answer",
    "get_generation": "Get the state of an answer",
    "list_generations": "List a session's answers",
    "list_models": "List the models of the endpoint",
    "stop_generation": "Stop an answer",
    "continue_generation": "Continue an interrupted answer",
    "load_session_context": "Load a project's context for a new run",
}

_WRITER = {"epoch": 1, "writer_id": "0b8f2c3a-6f5e-4a35-9d0e-8e5c1b7a2d10", "seq": 17}
_QUESTION = {"id": "m41", "role": "user", "text": "Why does the build fail?"}
_PLAN = {
    "title": "Ship it",
    "steps": [
        {"id": "s1", "title": "Build", "status": "completed"},
        {"id": "s2", "title": "Deploy", "status": "pending"},
    ],
}
_AI_STATE = {
    "todos": [{"content": "Write the tests", "status": "in_progress", "activeForm": "Writing the tests"}],
    "working_notes": "The cache is the slow part.",
}
# The export of an empty account.
_FIRST = json.dumps({"format": FORMAT, "version": VERSION}) + "\n"
_LAST = json.dumps({"end": True, "sha256": hashlib.sha256(_FIRST.encode()).hexdigest(), "counts": {}}) + "\n"
# An example for each operation with a body, by its id.
EXAMPLES: dict[str, Any] = {
    "save_app_state": {"selected_project": "/home/ana/shop", "active_phase": "work"},
    "create_project": {"path": "/home/ana/shop", "name": "Shop"},
    "update_project": {"name": "The shop", "settings": {"redaction": "flag"}},
    "create_session": {"title": "The failing build", "opening_step": "brainstorm", "external_id": "thread-7", "tags": ["build"]},
    "put_session_by_external_id": {
        "title": "The failing build",
        "metadata": {"graph": "triage", "user": {"id": 7}},
        "tags": ["build"],
        "pinned": True,
        "current": False,
    },
    "put_session": {"project": "/home/ana/shop", "title": "The failing build"},
    "update_session": {"title": "The build that failed", "metadata": {"user": None, "step": 2}, "tags": ["build", "ci"]},
    "save_changes": {
        **_WRITER,
        "base_rev": 41,
        "ops": [
            {"op": "upsert", **_QUESTION},
            {"op": "upsert", "id": "m42", "role": "assistant", "text": "The cache", "status": "streaming", "if_ver": 0},
            {"op": "append", "id": "m42", "at": 9, "text": " is stale."},
            {"op": "patch", "id": "m42", "status": "complete", "metadata": {"model": "small"}},
            {"op": "upsert", "id": "m43", "role": "assistant", "text": "Another answer", "parent_id": "m41"},
            {"op": "delete", "id": "m40"},
            {"op": "pop", "n": 1},
        ],
        "session": {"title": "The failing build"},
    },
    "save_session": {**_WRITER, "base_rev": 41, "messages": [_QUESTION]},
    "clear_session": _WRITER,
    "undo_clear": {**_WRITER, "of": 1},
    "settle_conflict": {"keep": "both"},
    "fork_session": {"up_to": "m1"},
    "move_session": {"to_project": "/home/ana/shop"},
    "transfer_session": {"to_project": "/home/ana/shop", "include": ["ai_states", "agent_state"], "on_conflict": "merge"},
    "save_agent_state": {
        "context": {"branch": "main"},
        "plan": _PLAN,
        "pending_action": {"id": "deploy-1", "kind": "deploy", "payload": {"to": "production"}},
    },
    "update_agent_state": {"last_error": None, "context": {"branch": "fix"}},
    "update_plan_step": {"status": "completed"},
    "resolve_action": {
        "decision": "approve",
        "note": "After five o'clock.",
        "seen": {"kind": "deploy", "payload": {"to": "production"}},
    },
    "save_ai_state": _AI_STATE,
    "update_ai_state": {"context_summary": "The build fails since the cache was added."},
    "update_handoff": {"summary": "The build is green again.", "risks": [{"text": "The cache is not cleared."}]},
    "add_decision": {"text": "Use SQLite", "rationale": "One file, no server.", "rejected": ["MySQL"]},
    "add_file": {"path": "config/settings.py", "note": "The cache is set here."},
    "add_risk": {"text": "The cache is not cleared."},
    "update_handoff_item": {"text": "Use SQLite in WAL mode"},
    "create_key": {"name": "Laptop", "scopes": ["read", "write"], "days": 90},
    "put_memory_entry": {"colour": "blue", "tried": 3},
    "batch_memory": {
        "ops": [
            {"op": "put", "namespace": ["users", "1"], "key": "likes", "value": {"colour": "blue", "n": 3}, "if_match": None},
            {"op": "get", "namespace": "notes", "key": "cart"},
            {"op": "list", "namespace": ["users"], "deep": True, "filter": {"n": {"$gte": 2}}, "values": True, "limit": 10},
            {"op": "delete", "namespace": ["users", "1"], "key": "old"},
            {"op": "purge", "namespace": ["users", "2"]},
        ]
    },
    "put_memory_settings": {"exact": True, "leased": False, "versions": 0, "ttl_minutes": 43200, "refresh_on_read": True},
    "put_checkpoint": {
        "parent": "1f0c1a2e-0d5b-6e1c-bfff-0f1f6c7a9e10",
        "checkpoint": {"type": "json", "base64": "eyJ2IjogMX0="},
        "metadata": {"source": "loop", "step": 1, "run_id": "3c4f"},
        "versions": {"messages": "00000002.7"},
        "values": {"messages": {"type": "json", "base64": "WyJoZWxsbyJd"}},
    },
    "put_checkpoint_writes": {
        "path": "~__pregel_pull, answer",
        "writes": [{"idx": 0, "channel": "messages", "type": "json", "base64": "WyJoZWxsbyJd"}],
    },
    "copy_thread": {"to": "thread-8"},
    "prune_thread": {"strategy": "keep_latest"},
    "delete_checkpoints_of_runs": {"run_ids": ["3c4f"]},
    "start_run": {"agent": "reviewer"},
    "end_run": {
        "entries": [{"namespace": "baselines", "key": "login", "value": {"p95_ms": 120}}],
        "errors": [{"message": "KeyError: 'cart'", "kind": "KeyError"}],
    },
    "record_performance": {"samples": [{"endpoint": "GET /cart", "duration_ms": 12.5}]},
    "record_errors": {
        "errors": [
            {
                "message": "KeyError: 'cart'",
                "kind": "KeyError",
                "stack": [{"file": "shop/cart.py", "function": "add", "line": 12}],
                "session": "9f6f2d1c-43a5-4a1e-9f1e-6a2b8c0d4e5f",
                "message_id": "m42",
            }
        ]
    },
    "change_sessions": {"act": "tag", "sessions": ["9f6f2d1c-43a5-4a1e-9f1e-6a2b8c0d4e5f"], "tags": ["release"]},
    "change_errors": {"act": "resolve", "fingerprints": ["0f2c5d…"], "known_fix": "Create the cart first."},
    "mute_error": {"times": 10},
    "resolve_error": {"known_fix": "Create the cart first."},
    "import_file": _FIRST + _LAST,
    "start_import": _FIRST + _LAST,
    "upload_file": "name,price\ncup,4.50\n",
    **{name: example for extension in extensions() for name, example in extension.examples.items()},
}


def summary_of(operation_id: str) -> str:
    return SUMMARIES.get(operation_id) or operation_id.replace("_", " ").capitalize()


def describe(document: Any) -> Any:
    """The API's document with a summary for every operation, an example for every body, and the shape of every refusal."""
    error = Error.model_json_schema(ref_template=f"{_SCHEMAS}{{model}}")
    document["components"]["schemas"] |= {**error.pop("$defs"), Error.__name__: error}
    for methods in document["paths"].values():
        for method, shape in methods.items():
            if method in READS:
                shape["responses"].pop(FULL, None)
            shape["summary"] = summary_of(shape["operationId"])
            for content in shape.get("requestBody", {}).get("content", {}).values():
                if shape["operationId"] in EXAMPLES:
                    content["example"] = EXAMPLES[shape["operationId"]]
            for status, answer in shape["responses"].items():
                if int(status) >= FIRST_REFUSAL:
                    answer["content"] = {"application/json": {"schema": {"$ref": f"{_SCHEMAS}{Error.__name__}"}}}
    return document
