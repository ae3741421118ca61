"""Transfers and forks: work moved or copied into another session."""

import uuid

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.agents.transfer.forking import Fork, fork_session
from sessions_app.agents.transfer.schemas import ForkIn, TransferIn, TransferOut
from sessions_app.agents.transfer.services import NoTarget, Transfer, transfer
from sessions_app.chats.reading.sessions import session_uuid
from sessions_app.chats.saving.api import answer_of
from sessions_app.chats.saving.receipts import Request
from sessions_app.chats.saving.request_identity import same_request, step_of
from sessions_app.chats.sessions.schemas import SessionOut
from sessions_app.core.callers import caller_of
from sessions_app.core.id_parsing import parse_id
from sessions_app.core.web.responses import IDEMPOTENCY_KEY, refusals, takes

NO_BODY = ForkIn()


router = Router(tags=["Transfer"])


@router.post(
    "/{session_id}/transfer",
    response={200: TransferOut, 201: TransferOut, **refusals(404, 409, 410)},
    operation_id="transfer_session",
    openapi_extra=takes(IDEMPOTENCY_KEY),
)
def transfer_session(request: HttpRequest, session_id: str, payload: TransferIn) -> HttpResponse:
    """Copy or move states, messages and opening step to another session, or a new one (201). Conflicts in the target → 409."""
    source = session_uuid(session_id)
    wanted = Transfer(
        to_session=None if payload.to_session is None else parse_id(payload.to_session, NoTarget),
        to_project=payload.to_project,
        choice=payload.choice(),
        epoch=payload.epoch,
        request=_same(request, source, payload),
        current=payload.current,
        dry_run=payload.dry_run,
    )
    return answer_of(transfer(caller=caller_of(request), session_id=source, wanted=wanted))


def _same(request: HttpRequest, source: uuid.UUID, payload: TransferIn) -> Request | None:
    """A dry run uses up no `seq`. A move must identify its request, because it clears the source."""
    if payload.dry_run:
        return None
    if payload.mode == "move":
        step_of(request, payload)
    return same_request(request, source, payload)


@router.post(
    "/{session_id}/fork",
    response={201: SessionOut, **refusals(404, 409, 410)},
    operation_id="fork_session",
    tags=["Session life"],
    openapi_extra=takes(IDEMPOTENCY_KEY),
)
def fork(request: HttpRequest, session_id: str, payload: ForkIn = NO_BODY) -> HttpResponse:
    """A new session with the messages up to one, here or in another project; the current one unless `current` is false."""
    own_id = session_uuid(session_id)
    wanted = Fork(payload.up_to, payload.project, same_request(request, own_id, payload), payload.current)
    return answer_of(fork_session(caller=caller_of(request), session_id=own_id, fork=wanted))
