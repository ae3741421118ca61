"""The API: authentication and routers."""

from config.api.query_parameters import StrictApi
from config.api.requests_and_refusals import JsonRenderer, StrictParser, add_refusals
from memory_app.checkpoints import api as checkpoint_api
from memory_app.checkpoints.threads import api as thread_api
from memory_app.context import api as context_api
from memory_app.errors import api as error_api
from memory_app.key_value.batches import api as batch_api
from memory_app.key_value.entries import api as entry_api
from memory_app.key_value.namespaces import api as namespace_api
from memory_app.performance import api as performance_api
from memory_app.portability.folder import api as _folder_api  # noqa: F401 - adds operations to the router of its path
from memory_app.runs import api as run_api
from sessions_app.accounts import api as account_api
from sessions_app.accounts.authentication import ApiAuth
from sessions_app.agents.handoff import api as handoff_api
from sessions_app.agents.states import agent_state_api, ai_state_api
from sessions_app.agents.transfer import api as transfer_api
from sessions_app.chats.beacon import api as beacon_api
from sessions_app.chats.files import api as file_api
from sessions_app.chats.lifecycle import api as lifecycle_api
from sessions_app.chats.lifecycle import project_deletion_api as _project_deletion_api  # noqa: F401 - adds operations to the router of its path
from sessions_app.chats.lifecycle import session_deletion_api as _session_deletion_api  # noqa: F401 - adds operations to the router of its path
from sessions_app.chats.lifecycle.bulk import api as bulk_api
from sessions_app.chats.lifecycle.moving import move_api
from sessions_app.chats.saving import api as saving_api
from sessions_app.chats.search import api as search_api
from sessions_app.chats.sessions import api as session_api
from sessions_app.chats.sessions import list_api as _list_api  # noqa: F401 - adds operations to the router of its path
from sessions_app.chats.sessions import message_api
from sessions_app.core.extension import extensions
from sessions_app.events import api as event_api
from sessions_app.frontends.app_state import api as app_state_api
from sessions_app.frontends.resume import api as resume_api
from sessions_app.portability.exports import api as export_api
from sessions_app.portability.imports import api as import_api
from sessions_app.portability.imports import upload_api as _upload_api  # noqa: F401 - adds operations to the router of its path
from sessions_app.projects import api as project_api

api = StrictApi(
    title="Stillhere",
    version="1",
    urls_namespace="api",
    description="Save a chat while it streams, resume it anywhere. Every refusal: `{error: {code, message, details}}`.",
    auth=ApiAuth(),
    parser=StrictParser(),
    renderer=JsonRenderer(),
)
api.add_router("", resume_api.router)
api.add_router("", app_state_api.router)
api.add_router("/projects", project_api.router)
api.add_router("", session_api.router)
api.add_router("/sessions", saving_api.router)
api.add_router("/sessions", message_api.router)
api.add_router("", file_api.router)
api.add_router("/sessions", lifecycle_api.router)
api.add_router("/sessions", agent_state_api.router)
api.add_router("/sessions", ai_state_api.router)
api.add_router("/sessions", transfer_api.router)
api.add_router("/sessions", move_api.router)
api.add_router("", bulk_api.router)
api.add_router("/projects", handoff_api.router)
api.add_router("/sessions", beacon_api.router)
api.add_router("", account_api.router)
api.add_router("", event_api.router)
api.add_router("/projects", batch_api.router)
api.add_router("/projects", entry_api.router)
api.add_router("/projects", namespace_api.router)
api.add_router("/projects", thread_api.router)
api.add_router("/projects", checkpoint_api.router)
api.add_router("/projects", run_api.router)
api.add_router("/projects", performance_api.router)
api.add_router("/projects", context_api.router)
api.add_router("/projects", error_api.router)
api.add_router("", search_api.router)
api.add_router("", export_api.router)
api.add_router("", import_api.router)
for _extension in extensions():
    for _prefix, _router in _extension.routers:
        api.add_router(_prefix, _router)
add_refusals(api)
