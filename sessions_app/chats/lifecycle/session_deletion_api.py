"""Deletes a session: added to the sessions' router, because Ninja needs one router for each path."""

from django.http import HttpRequest, HttpResponse

from sessions_app.chats.lifecycle.deletion import delete_session, purge_session
from sessions_app.chats.reading.sessions import session_uuid
from sessions_app.chats.saving.schemas import IF_REV
from sessions_app.chats.sessions.api import router
from sessions_app.core.callers import caller_of
from sessions_app.core.web.responses import no_content, refusals
from sessions_app.models import Caller


@router.delete("/sessions/{session_id}", response={204: None, **refusals(404, 410, 412)}, operation_id="delete_session")
def delete(request: HttpRequest, session_id: str, purge: bool = False, if_rev: int | None = IF_REV) -> HttpResponse:
    """Move to the trash for 30 days: later saves are refused with 410. `?purge=1` erases it at once. `if_rev`: only if this is
    the session's rev."""
    return delete_reply(caller_of(request), session_id, purge=purge, if_rev=if_rev)


def delete_reply(caller: Caller, session_id: str, *, purge: bool, if_rev: int | None) -> HttpResponse:
    act = purge_session if purge else delete_session
    act(caller=caller, session_id=session_uuid(session_id), if_rev=if_rev)
    return no_content()
