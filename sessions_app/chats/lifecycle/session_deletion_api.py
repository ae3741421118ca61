"""Deletes a session: added to the sessions' router, because Ninja needs one router for each path."""

from django.http import HttpRequest, HttpResponse

from sessions_app.chats.lifecycle.deletion import delete_session, purge_session
from sessions_app.chats.reading.sessions import session_uuid
from sessions_app.chats.sessions.api import router
from sessions_app.core.callers import caller_of
from sessions_app.core.web.responses import refusals


@router.delete("/sessions/{session_id}", response={204: None, **refusals(404, 410)}, operation_id="delete_session")
def delete(request: HttpRequest, session_id: str, purge: bool = False) -> HttpResponse:
    """Move to the trash for 30 days: later saves are refused with 410. `?purge=1` erases it at once."""
    act = purge_session if purge else delete_session
    act(caller=caller_of(request), session_id=session_uuid(session_id))
    return HttpResponse(status=204)
