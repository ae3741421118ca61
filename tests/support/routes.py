"""The table of all operations and pages, with what a call needs.

A row names its operation and has an address in which `{project}`, `{session}` and so on are filled in by the
test: with objects of alice, or unused ids. Every operation of the API and every page has a row; the tests of
who may call it, and from where, run over this table.
"""

from dataclasses import dataclass, field
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from config.api.ninja_api import api as the_api

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
NOTED = {"op": "get", "namespace": "notes", "key": "n"}
TAKEN_OVER = {"op": "put", "namespace": "notes", "key": "n", "value": "taken over"}
CHECKPOINT = "/projects/{project}/threads/{thread}/checkpoints/~/{checkpoint}"
GRAPH = {"checkpoint": {"type": "json", "base64": "e30="}, "metadata": {"run_id": "r"}}
STEP = {"epoch": 1, "writer_id": "w", "seq": 1}


@dataclass(frozen=True)
class Row:
    """`named`: the address names a thing that is somebody's. `cookie_only`, `open_to_all`: who else may call it."""

    method: str
    address: str
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    named: bool = True
    cookie_only: bool = False
    # Carries its own credentials in the body.
    credentials_inside: bool = False
    # A client names the new thing itself, so that a taken name cannot look like a free one.
    makes_named: bool = False

    @property
    def writes(self) -> bool:
        return self.method in WRITES


API: dict[str, Row] = {
    "resume": Row("GET", "/resume?project={path}"),
    "can_resume": Row("HEAD", "/resume?project={path}"),
    "get_app_state": Row("GET", "/app-state", named=False),
    "save_app_state": Row("PUT", "/app-state", {"selected_project": "x"}, named=False),
    "list_projects": Row("GET", "/projects", named=False),
    "create_project": Row("POST", "/projects", {"path": "{path}"}, named=False),
    "get_project": Row("GET", "/projects/{project}"),
    "update_project": Row("PATCH", "/projects/{project}", {"name": "taken over"}),
    "delete_project": Row("DELETE", "/projects/{project}"),
    "undelete_project": Row("POST", "/projects/{project}/undelete", {}),
    "list_events": Row("GET", "/projects/{project}/events?since=0"),
    "list_all_sessions": Row("GET", "/sessions?tag=x", named=False),
    "list_sessions": Row("GET", "/projects/{project}/sessions"),
    "create_session": Row("POST", "/projects/{project}/sessions", {}),
    "get_session_by_external_id": Row("GET", "/projects/{project}/sessions/by-external/{external}"),
    "put_session_by_external_id": Row("PUT", "/projects/{project}/sessions/by-external/{external}", {}),
    "put_session": Row("PUT", "/sessions/{session}", {"project": "x"}, {"If-None-Match": "*"}, named=False, makes_named=True),
    "get_session": Row("GET", "/sessions/{session}"),
    "update_session": Row("PATCH", "/sessions/{session}", {"title": "taken over"}),
    "delete_session": Row("DELETE", "/sessions/{session}"),
    "undelete_session": Row("POST", "/sessions/{session}/undelete", {}),
    "save_changes": Row("POST", "/sessions/{session}/changes", {**STEP, "ops": []}),
    "save_session": Row("PUT", "/sessions/{session}/messages", {**STEP, "messages": []}),
    "list_messages": Row("GET", "/sessions/{session}/messages?before={message}"),
    "get_message": Row("GET", "/sessions/{session}/messages/{message}"),
    "upload_file": Row("POST", "/sessions/{session}/files?name=a.json", {}),
    "list_session_files": Row("GET", "/sessions/{session}/files"),
    "get_file": Row("GET", "/files/{file}"),
    "has_file": Row("HEAD", "/files/{file}"),
    "clear_session": Row("POST", "/sessions/{session}/clear", STEP),
    "undo_clear": Row("POST", "/sessions/{session}/undo-clear", {**STEP, "of": 1}),
    "list_removed": Row("GET", "/sessions/{session}/removed"),
    "restore_message": Row("POST", "/sessions/{session}/removed/{removed}/restore", {}),
    "list_conflicts": Row("GET", "/sessions/{session}/conflicts"),
    "settle_conflict": Row("POST", "/sessions/{session}/conflicts/{copy}/settle", {"keep": "both"}),
    "fork_session": Row("POST", "/sessions/{session}/fork", {}),
    "get_agent_state": Row("GET", "/sessions/{session}/agent-state"),
    "has_agent_state": Row("HEAD", "/sessions/{session}/agent-state"),
    "save_agent_state": Row("PUT", "/sessions/{session}/agent-state", {"context": "taken over"}),
    "update_agent_state": Row("PATCH", "/sessions/{session}/agent-state", {"context": "taken over"}),
    "delete_agent_state": Row("DELETE", "/sessions/{session}/agent-state"),
    "update_plan_step": Row("PATCH", "/sessions/{session}/agent-state/plan/steps/{step}", {"status": "failed"}),
    "list_agent_state_history": Row("GET", "/sessions/{session}/agent-state/history"),
    "restore_agent_state": Row("POST", "/sessions/{session}/agent-state/history/1/restore", {}),
    "get_pending_action": Row("GET", "/sessions/{session}/agent-state/pending-action/{action}"),
    "resolve_action": Row("POST", "/sessions/{session}/agent-state/pending-action/{action}/resolve", {"decision": "approve"}),
    "list_ai_states": Row("GET", "/sessions/{session}/ai-states"),
    "get_ai_state": Row("GET", "/sessions/{session}/ai-states/claude"),
    "save_ai_state": Row("PUT", "/sessions/{session}/ai-states/claude", {"working_notes": "taken over"}),
    "update_ai_state": Row("PATCH", "/sessions/{session}/ai-states/claude", {"working_notes": "taken over"}),
    "delete_ai_state": Row("DELETE", "/sessions/{session}/ai-states/claude"),
    "list_ai_state_history": Row("GET", "/sessions/{session}/ai-states/claude/history"),
    "restore_ai_state": Row("POST", "/sessions/{session}/ai-states/claude/history/1/restore", {}),
    "transfer_session": Row("POST", "/sessions/{session}/transfer", {"to_project": "{path}"}),
    "move_session": Row("POST", "/sessions/{session}/move", {"to_project": "{path}"}),
    "change_sessions": Row("POST", "/sessions-bulk", {"act": "delete", "sessions": ["{session}"]}, named=False),
    "get_handoff": Row("GET", "/projects/{project}/handoff"),
    "update_handoff": Row("PATCH", "/projects/{project}/handoff", {"summary": "taken over"}),
    "add_decision": Row("POST", "/projects/{project}/handoff/decisions", {"text": "taken over"}),
    "add_file": Row("POST", "/projects/{project}/handoff/files", {"path": "taken over"}),
    "add_risk": Row("POST", "/projects/{project}/handoff/risks", {"text": "taken over"}),
    "update_handoff_item": Row("PATCH", "/projects/{project}/handoff/decisions/d1", {"text": "taken over"}),
    "delete_handoff_item": Row("DELETE", "/projects/{project}/handoff/decisions/d1"),
    "freeze_handoff": Row("POST", "/projects/{project}/handoff/freeze", {}),
    "list_snapshots": Row("GET", "/projects/{project}/handoff/snapshots"),
    "get_snapshot": Row("GET", "/projects/{project}/handoff/snapshots/1"),
    "export_snapshot": Row("GET", "/projects/{project}/handoff/snapshots/1.md"),
    "diff_snapshots": Row("GET", "/projects/{project}/handoff/snapshots/1/diff/1"),
    "flush": Row("POST", "/sessions/{session}/flush", {**STEP, "ops": []}, credentials_inside=True),
    "create_flush_token": Row("POST", "/sessions/{session}/flush-tokens", {}),
    "export_account": Row("GET", "/export", named=False),
    "export_session": Row("GET", "/sessions/{session}/export"),
    "export_session_markdown": Row("GET", "/sessions/{session}/export.md"),
    "import_file": Row("POST", "/import", {}, named=False),
    "list_imports": Row("GET", "/imports", named=False),
    "start_import": Row("POST", "/imports", {}, named=False),
    "get_import": Row("GET", "/imports/{import}"),
    "stop_import": Row("DELETE", "/imports/{import}"),
    "undo_import": Row("POST", "/imports/{import}/undo", {}),
    "search": Row("GET", "/search?q=nobody", named=False),
    "list_keys": Row("GET", "/keys", named=False, cookie_only=True),
    "create_key": Row("POST", "/keys", {"name": "x"}, named=False, cookie_only=True),
    "revoke_key": Row("DELETE", "/keys/{key}", cookie_only=True),
    "list_memory": Row("GET", "/projects/{project}/memory"),
    "get_memory_stats": Row("GET", "/projects/{project}/memory-stats"),
    "list_memory_keys": Row("GET", "/projects/{project}/memory/notes"),
    "purge_memory_namespace": Row("DELETE", "/projects/{project}/memory/notes?purge=1"),
    "batch_memory": Row("POST", "/projects/{project}/memory/batch", {"ops": [NOTED, TAKEN_OVER]}),
    "list_memory_settings": Row("GET", "/projects/{project}/memory-settings"),
    "get_memory_settings": Row("GET", "/projects/{project}/memory-settings/notes"),
    "put_memory_settings": Row("PUT", "/projects/{project}/memory-settings/notes", {"exact": True}),
    "delete_memory_settings": Row("DELETE", "/projects/{project}/memory-settings/notes"),
    "get_memory_entry": Row("GET", "/projects/{project}/memory/notes/{entry}"),
    "put_memory_entry": Row("PUT", "/projects/{project}/memory/notes/{entry}", {"taken": "over"}),
    "delete_memory_entry": Row("DELETE", "/projects/{project}/memory/notes/{entry}"),
    "list_memory_versions": Row("GET", "/projects/{project}/memory/notes/{entry}/versions"),
    "restore_memory_version": Row("POST", "/projects/{project}/memory/notes/{entry}/versions/1/restore", {}),
    "list_threads": Row("GET", "/projects/{project}/threads"),
    "delete_thread": Row("DELETE", "/projects/{project}/threads/{thread}"),
    "copy_thread": Row("POST", "/projects/{project}/threads/{thread}/copy", {"to": "taken over"}),
    "prune_thread": Row("POST", "/projects/{project}/threads/{thread}/prune", {"strategy": "delete"}),
    "list_checkpoints": Row("GET", "/projects/{project}/threads/{thread}/checkpoints?limit=1"),
    "get_checkpoint": Row("GET", "/projects/{project}/threads/{thread}/checkpoints/~/{checkpoint}"),
    "put_checkpoint": Row("PUT", "/projects/{project}/threads/{thread}/checkpoints/~/{checkpoint}", GRAPH),
    "delete_checkpoint": Row("DELETE", "/projects/{project}/threads/{thread}/checkpoints/~/{checkpoint}"),
    "put_checkpoint_writes": Row("PUT", f"{CHECKPOINT}/writes/t", {"writes": []}),
    "delete_checkpoints_of_runs": Row("POST", "/projects/{project}/checkpoints/delete-runs", {"run_ids": ["r"]}),
    "start_run": Row("POST", "/projects/{project}/runs", {}),
    "heartbeat_run": Row("POST", "/projects/{project}/runs/{run}/heartbeat", {}),
    "take_over_run": Row("POST", "/projects/{project}/runs/{run}/takeover", {}),
    "end_run": Row("POST", "/projects/{project}/runs/{run}/end", {}),
    "record_performance": Row("POST", "/projects/{project}/performance", {"samples": []}),
    "list_performance": Row("GET", "/projects/{project}/performance"),
    "record_errors": Row("POST", "/projects/{project}/errors", {"errors": []}),
    "list_errors": Row("GET", "/projects/{project}/errors"),
    "get_error": Row("GET", "/projects/{project}/errors/{error}"),
    "resolve_error": Row("POST", "/projects/{project}/errors/{error}/resolve", {}),
    "reopen_error": Row("POST", "/projects/{project}/errors/{error}/reopen", {}),
    "mute_error": Row("POST", "/projects/{project}/errors/{error}/mute", {"times": 1}),
    "unmute_error": Row("POST", "/projects/{project}/errors/{error}/unmute", {}),
    "change_errors": Row("POST", "/projects/{project}/errors-bulk", {"act": "resolve", "fingerprints": ["{error}"]}),
    "start_generation": Row("POST", "/sessions/{session}/generations", {"message": {"text": "taken over"}}),
    "list_generations": Row("GET", "/sessions/{session}/generations"),
    "list_models": Row("GET", "/models", named=False),
    "get_generation": Row("GET", "/sessions/{session}/generations/{generation}"),
    "stop_generation": Row("POST", "/sessions/{session}/generations/{generation}/stop", {}),
    "continue_generation": Row("POST", "/sessions/{session}/generations/{generation}/continue", {}),
    "start_stream": Row("POST", "/sessions/{session}/streams", {"message": "m1"}),
    "append_chunks": Row("POST", "/streams/{stream}/chunks", {"offset": 0, "chunks": ["taken over"]}),
    "end_stream": Row("POST", "/streams/{stream}/end", {}),
    "read_stream": Row("GET", "/streams/{stream}"),
    "read_session_stream": Row("GET", "/sessions/{session}/stream"),
    "export_memory": Row("GET", "/projects/{project}/memory-export"),
    "list_deleted_memory": Row("GET", "/projects/{project}/memory-deleted"),
    "undelete_memory_entry": Row("POST", "/projects/{project}/memory-deleted/{deleted}/restore", {}),
    "load_session_context": Row("GET", "/projects/{project}/context"),
    "create_ws_ticket": Row("POST", "/ws-tickets", {}, named=False),
}

# Pages by the name of their address. `open_to_all` ones are listed with None.
PAGES: dict[str, Row | None] = {
    **dict.fromkeys(
        ("healthz", "readyz", "login", "logout", "welcome", "chat_words", "chat_sign_in_state", "service_worker", "offline")
    ),
    "home": Row("GET", "/", named=False),
    "account": Row("GET", "/account/", named=False),
    "end_login": Row("POST", "/account/logins/{login}/end/"),
    "delete_account": Row("POST", "/account/delete/", named=False),
    "import": Row("GET", "/import/", named=False),
    "import_act": Row("POST", "/import/{import}/stop/"),
    "keys": Row("GET", "/keys/", named=False),
    "search": Row("GET", "/search/?q=words", named=False),
    "revoke_key": Row("POST", "/keys/{key}/revoke/"),
    "restore_key": Row("POST", "/keys/{key}/restore/"),
    "project": Row("GET", "/projects/{project}/"),
    "project_handoff": Row("GET", "/projects/{project}/handoff/"),
    "compare_handoff": Row("GET", "/projects/{project}/handoff/compare/?from=1&to=live"),
    "handoff_snapshot": Row("GET", "/projects/{project}/handoff/1/"),
    "handoff_item": Row("GET", "/projects/{project}/handoff/item/?kind=decisions&item=d1"),
    "handoff_act": Row("POST", "/projects/{project}/handoff/freeze/"),
    "project_activity": Row("GET", "/projects/{project}/activity/"),
    "project_settings": Row("GET", "/projects/{project}/settings/"),
    "remove_project": Row("POST", "/projects/{project}/delete/"),
    "restore_project": Row("POST", "/projects/{project}/restore/"),
    "erase_project": Row("POST", "/projects/{project}/erase/"),
    "agents": Row("GET", "/projects/{project}/agents/"),
    "free_lease": Row("POST", "/projects/{project}/lease/free/"),
    "take_over_lease": Row("POST", "/projects/{project}/runs/{run}/takeover/"),
    "errors": Row("GET", "/projects/{project}/errors/"),
    "error": Row("GET", "/projects/{project}/errors/{error}/"),
    "resolve_error": Row("POST", "/projects/{project}/errors/{error}/resolve/"),
    "reopen_error": Row("POST", "/projects/{project}/errors/{error}/reopen/"),
    "mute_error": Row("POST", "/projects/{project}/errors/{error}/mute/"),
    "unmute_error": Row("POST", "/projects/{project}/errors/{error}/unmute/"),
    "change_errors": Row("POST", "/projects/{project}/errors-bulk/"),
    "add_noise_rule": Row("POST", "/projects/{project}/noise/"),
    "switch_noise_rule": Row("POST", "/projects/{project}/noise/switch/"),
    "delete_noise_rule": Row("POST", "/projects/{project}/noise/delete/"),
    "performance": Row("GET", "/projects/{project}/performance/"),
    "memory": Row("GET", "/projects/{project}/memory/"),
    "new_memory_entry": Row("GET", "/projects/{project}/memory-new/"),
    "undelete_memory_entry": Row("POST", "/projects/{project}/memory-deleted/{deleted}/restore/"),
    "memory_keys": Row("GET", "/projects/{project}/memory/notes/"),
    "memory_entry": Row("GET", "/projects/{project}/memory/notes/{entry}/"),
    "edit_memory_entry": Row("GET", "/projects/{project}/memory/notes/{entry}/edit/"),
    "delete_memory_entry": Row("POST", "/projects/{project}/memory/notes/{entry}/delete/"),
    "restore_memory_version": Row("POST", "/projects/{project}/memory/notes/{entry}/versions/1/restore/"),
    "session": Row("GET", "/sessions/{session}/"),
    "session_changes": Row("GET", "/sessions/{session}/changes/?since=0"),
    "session_rail": Row("GET", "/sessions/{session}/rail/"),
    "message_source": Row("GET", "/sessions/{session}/source/?id={message}"),
    "outline": Row("GET", "/sessions/{session}/contents/"),
    "find_in_session": Row("GET", "/sessions/{session}/find/?q=words"),
    "go_to_message": Row("GET", "/sessions/{session}/go/?to=1"),
    "compare_session": Row("GET", "/sessions/{session}/compare/?a=1&b=2"),
    "session_trace": Row("GET", "/sessions/{session}/trace/"),
    "session_history": Row("GET", "/sessions/{session}/history/?at=1"),
    "transfer": Row("GET", "/sessions/{session}/transfer/"),
    "move_session": Row("GET", "/sessions/{session}/move/"),
    "session_act": Row("POST", "/sessions/{session}/archive/"),
    "overview": Row("GET", "/overview/", named=False),
    "project_overview": Row("GET", "/projects/{project}/overview/"),
    "sessions": Row("GET", "/sessions/?agent=claude", named=False),
    "bulk_sessions": Row("POST", "/sessions/bulk/", named=False),
    "palette": Row("GET", "/palette/?q=shop", named=False),
    "chat": Row("GET", "/chat/?project={path}", named=False),
}
# Parts of a page, for scripts.
FRAGMENTS = {"go_to_message", "palette", "session_changes", "session_rail", "message_source"}


def operations() -> dict[str, tuple[str, str]]:
    """Every operation of the API's document: its method and its path."""
    paths = the_api.get_openapi_schema()["paths"]
    return {shape["operationId"]: (method.upper(), path) for path, methods in paths.items() for method, shape in methods.items()}


def page_names() -> set[str]:
    """Every named address of ours that is neither the API's nor the admin's."""
    return set(_names(get_resolver().url_patterns))


def _names(patterns: list[Any]) -> list[str]:
    found: list[str] = []
    for pattern in patterns:
        if isinstance(pattern, URLResolver) and pattern.namespace is None:
            found += _names(pattern.url_patterns)
        elif isinstance(pattern, URLPattern) and pattern.name:
            found.append(pattern.name)
    return found
