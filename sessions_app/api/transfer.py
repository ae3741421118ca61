"""Carrying work over into another session."""

import uuid

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.api.caller import caller_of
from sessions_app.api.messages import answer_of, identity_of
from sessions_app.api.replies import refusals
from sessions_app.queries.ids import parse_id
from sessions_app.queries.sessions import session_uuid
from sessions_app.schemas.transfer import TransferIn, TransferOut
from sessions_app.services.receipts import Request
from sessions_app.services.transfer import NoTarget, Transfer, transfer

router = Router(tags=["Transfer"])


@router.post(
    "/{session_id}/transfer",
    response={200: TransferOut, 201: TransferOut, **refusals(404, 409, 410)},
    operation_id="transfer_session",
)
def transfer_session(request: HttpRequest, session_id: str, payload: TransferIn) -> HttpResponse:
    """Copy or move states, messages and opening step to another session, or into a new one (201). What is in the way → 409."""
    source = session_uuid(session_id)
    wanted = Transfer(
        to_session=None if payload.to_session is None else parse_id(payload.to_session, NoTarget),
        to_project=payload.to_project,
        choice=payload.choice(),
        epoch=payload.epoch,
        request=_same(request, source, payload),
        dry_run=payload.dry_run,
    )
    return answer_of(transfer(caller=caller_of(request), session_id=source, wanted=wanted))


def _same(request: HttpRequest, source: uuid.UUID, payload: TransferIn) -> Request | None:
    """A dry run uses up no number."""
    if payload.dry_run or payload.writer_id is None or payload.seq is None:
        return None
    return Request(source, payload.writer_id, payload.seq, identity_of(request, payload))
