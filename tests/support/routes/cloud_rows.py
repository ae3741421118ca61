"""The rows of the operations for the client `assistant-cloud`, below `/v1`. Each names its project in a header."""

from tests.support.routes.row import Row

NAMES_PROJECT = {"Aui-Workspace-Id": "{project}"}
THREAD = "/threads/{session}"
MESSAGE = f"{THREAD}/messages/{{message}}"
CLOUD: dict[str, Row] = {
    "create_page_token": Row("POST", "/auth/tokens", {}, named=False),
    "list_cloud_threads": Row("GET", "/threads", named=False),
    "create_cloud_thread": Row("POST", "/threads", {"title": "taken over"}, named=False),
    "get_cloud_thread": Row("GET", THREAD),
    "update_cloud_thread": Row("PUT", THREAD, {"title": "taken over"}),
    "delete_cloud_thread": Row("DELETE", THREAD),
    "stream_thread_title": Row(
        "POST", "/runs/stream", {"thread_id": "{session}", "assistant_id": "system/thread_title", "messages": []}
    ),
    "list_cloud_messages": Row("GET", f"{THREAD}/messages"),
    "create_cloud_message": Row("POST", f"{THREAD}/messages", {"format": "aui/v0", "content": {"text": "taken over"}}),
    "delete_cloud_messages": Row("DELETE", f"{THREAD}/messages", {"message_ids": ["m1"]}),
    "update_cloud_message": Row("PUT", MESSAGE, {"content": {"text": "taken over"}}),
    "give_cloud_message_feedback": Row("POST", f"{MESSAGE}/feedback", {"type": "negative"}),
}
