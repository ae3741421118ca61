"""Moving a session to another project."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.chats.lifecycle.moving.move_schemas import MoveIn
from sessions_app.chats.lifecycle.moving.session_move import Move, move_to_path
from sessions_app.chats.reading.sessions import session_uuid
from sessions_app.chats.saving.api import answer_of
from sessions_app.chats.saving.request_identity import same_request
from sessions_app.chats.sessions.schemas import SessionOut
from sessions_app.core.callers import caller_of
from sessions_app.core.web.responses import IDEMPOTENCY_KEY, IF_MATCH, conditions_of, refusals, takes

router = Router(tags=["Session life"])


@router.post(
    "/{session_id}/move",
    response={200: SessionOut, **refusals(404, 409, 410, 412)},
    operation_id="move_session",
    openapi_extra=takes(IF_MATCH, IDEMPOTENCY_KEY),
)
def move(request: HttpRequest, session_id: str, payload: MoveIn) -> HttpResponse:
    """Move a session with everything in it to another project. Its id stays, and clients continue to save to it.

    It becomes the current session there only if the project has none. 409 if its `external_id` is taken there, or if only
    that project removes secrets before messages are stored.
    """
    own_id = session_uuid(session_id)
    wanted = Move(payload.to_project, conditions_of(request), same_request(request, own_id, payload))
    return answer_of(move_to_path(caller=caller_of(request), session_id=own_id, move=wanted))
