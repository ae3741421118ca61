from sessions_app.models.agent_states import AgentState, AgentStateVersion, AiState, AiStateVersion, PendingAction
from sessions_app.models.app_state import AppState
from sessions_app.models.credentials import ApiKey, Caller, FlushToken, Login, SignInLink, SocketTicket
from sessions_app.models.event import Event
from sessions_app.models.file import FileReference, SessionFile, StoredFile
from sessions_app.models.handoff import Handoff, HandoffSnapshot, Purge
from sessions_app.models.import_job import ImportJob
from sessions_app.models.message import ConflictCopy, Message, SaveReceipt
from sessions_app.models.project import Project
from sessions_app.models.session import ChatSession, Clearing, SessionTag
from sessions_app.models.store import Store

__all__ = [
    "AgentState",
    "AgentStateVersion",
    "AiState",
    "AiStateVersion",
    "ApiKey",
    "AppState",
    "Caller",
    "ChatSession",
    "Clearing",
    "ConflictCopy",
    "Event",
    "FileReference",
    "FlushToken",
    "Handoff",
    "HandoffSnapshot",
    "ImportJob",
    "Login",
    "Message",
    "PendingAction",
    "Project",
    "Purge",
    "SaveReceipt",
    "SessionFile",
    "SessionTag",
    "SignInLink",
    "SocketTicket",
    "Store",
    "StoredFile",
]
