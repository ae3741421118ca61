"""The socket `/ws/events/`: authenticates, forwards the project's events, and answers requests.

A plain ASGI application: Channels' consumer classes give every socket tasks and a channel of its own, and an idle
socket should cost little.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import UTC, datetime
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import orjson
from django.conf import settings
from django.db import Error as DatabaseError

from sessions_app.core.errors import AppError, Invalid, Unavailable
from sessions_app.core.storage.database_errors import as_app_error
from sessions_app.core.storage.sql import rfc3339
from sessions_app.events import hub, socket_frames
from sessions_app.events.listener import CLOSE_FAULT, CLOSE_TOO_MANY, CLOSE_TRY_LATER, Listener
from sessions_app.events.listener_queries import Admission, newest_number
from sessions_app.frontends.app_state.queries import DEFAULT_CLIENT
from sessions_app.frontends.resume.queries import Resume, find_resume
from sessions_app.frontends.resume.services import announce_restored
from sessions_app.frontends.sockets.authentication import Handshake, Refused, admit
from sessions_app.models.event import EventType

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
# A client that wants missed events asks at once. Live events are held until then, or for this long, to keep the order.
HOLD_SECONDS = 0.25
BIGGEST = 2**63 - 1
# What a command takes besides its type.
ARGUMENTS = {"subscribe": "since", "resume": "client"}
# Of one account. A bundle has up to 2 MB, and stays in memory several times over until its client has read it.
RESUMES_AT_ONCE = 16
_resuming: WeakValueDictionary[int, asyncio.Semaphore] = WeakValueDictionary()
logger = logging.getLogger(__name__)


class Unreadable(Invalid):
    code = "unreadable"
    message = 'Send one JSON object a frame: {"type": "subscribe", "since": 0} or {"type": "resume"}.'


async def events_socket(scope: Message, receive: Receive, send: Send) -> None:
    """Handles one socket from handshake to close."""
    handshake = Handshake.take(scope)
    if (await receive())["type"] != "websocket.connect":
        return
    live = await hub.running()
    try:
        admission = await live.read(partial(admit, handshake))
    except Exception as error:
        await _refuse(send, error)
        return
    since = handshake.query.get("since")
    del handshake
    await _listen(live, admission, since, receive, send)


async def _listen(live: hub.Hub, admission: Admission, since: str | None, receive: Receive, send: Send) -> None:
    if settings.ACCOUNT_SOCKETS and live.sockets_of(admission.caller.user_id) >= settings.ACCOUNT_SOCKETS:
        await _refuse(send, Refused(CLOSE_TOO_MANY, f"this account has {settings.ACCOUNT_SOCKETS:,} sockets open; close some"))
        return
    listener = Listener(admission=admission, send=send, read_log=live.read_log, owner=asyncio.current_task())
    live.add(listener)
    try:
        # After the listener was added: an event is either included in this read or delivered live.
        try:
            listener.begin(await live.read(partial(newest_number, admission.project_id)))
        except Exception as error:
            await _refuse(send, error)
            return
        await send({"type": "websocket.accept"})
        if since is None:
            asyncio.get_running_loop().call_later(HOLD_SECONDS, listener.release)
        else:
            await _subscribe_by_address(listener, since)
        await _converse(live, listener, receive)
    except asyncio.CancelledError:
        if not listener.closed:  # Otherwise the hub already dropped this socket.
            raise
    finally:
        live.remove(listener)


async def _converse(live: hub.Hub, listener: Listener, receive: Receive) -> None:
    """Handles one message at a time (backpressure): while a client does not read responses, its messages are not read."""
    while (message := await receive())["type"] == "websocket.receive":
        if listener.closed:
            continue
        try:
            await _answer(live, listener, message)
        except AppError as error:
            await _explain(listener, error)
        except DatabaseError as error:
            await _explain(listener, as_app_error(error) or Unavailable())


async def _answer(live: hub.Hub, listener: Listener, message: Message) -> None:
    asked = _parse(message)
    kind = asked.pop("type")
    if kind not in ARGUMENTS:
        raise Unreadable("Unknown type. This socket takes `subscribe` and `resume`.", code="unknown_type")
    if strange := sorted(asked.keys() - {ARGUMENTS[kind]}):
        raise Invalid(f"`{strange[0][:64]}` is unknown. `{kind}` takes `{ARGUMENTS[kind]}` alone.", code="unknown_field")
    if kind == "subscribe":
        _subscribe(listener, asked.get("since"))
    else:
        await _resume(live, listener, asked.get("client", DEFAULT_CLIENT))


async def _subscribe_by_address(listener: Listener, since: str) -> None:
    """A client whose `&since=` is not read would miss events without knowing it: so it is told, as by a `subscribe`."""
    is_number = since.isascii() and since.isdigit() and len(since) <= len(str(BIGGEST))
    try:
        _subscribe(listener, int(since) if is_number else since)
    except AppError as error:
        await _explain(listener, error)


def _subscribe(listener: Listener, since: Any) -> None:
    if since is None:
        listener.release()
    elif type(since) is int and 0 <= since <= BIGGEST:
        listener.subscribe(since)
    else:
        raise Invalid("`since` is an event_seq: a whole number from 0.")


async def _resume(live: hub.Hub, listener: Listener, client: Any) -> None:
    if not isinstance(client, str) or not 1 <= len(client) <= 64:
        raise Invalid("`client` is a frontend's name of 1 to 64 characters.")
    listener.release()
    async with _places_of(listener.admission.caller.user_id):
        for event_seq, frame in await live.read(partial(_restore, listener, client)):
            await listener.reply(event_seq, frame)


def _places_of(user_id: int) -> asyncio.Semaphore:
    places = _resuming.get(user_id)
    if places is None:
        places = _resuming[user_id] = asyncio.Semaphore(RESUMES_AT_ONCE)
    return places


def _parse(message: Message) -> dict[str, Any]:
    try:
        asked = orjson.loads(message.get("text") or "")
    except orjson.JSONDecodeError:
        raise Unreadable from None
    if not isinstance(asked, dict) or not isinstance(asked.get("type"), str):
        raise Unreadable
    return asked


def _restore(listener: Listener, client: str) -> list[tuple[int, str]]:
    """The resume bundle for this socket; events without content for the project's other listeners."""
    caller, path = listener.admission.caller, listener.admission.path
    found = find_resume(caller=caller, path=path, client=client)
    body = found.body()
    with hub.sparing(listener):
        announce_restored(caller=caller, resume=found, has_plan=body.has_plan)
    restored = [(found.event_cursor, _restored_frame(listener, EventType.SESSION_RESTORED, found, orjson.Fragment(body.content)))]
    if body.has_plan:
        plan = orjson.loads(body.content)["agent_state"]["plan"]
        restored.append((found.event_cursor, _restored_frame(listener, EventType.PLAN_RESTORED, found, plan)))
    return restored


def _restored_frame(listener: Listener, type: EventType, found: Resume, data: Any) -> str:
    caller, session = listener.admission.caller, found.session
    return orjson.dumps(
        {
            "type": type.value,
            "event_seq": found.event_cursor,
            "at": rfc3339(datetime.now(UTC)),
            "project": session.project_path,
            "session": str(session.id),
            "epoch": session.epoch,
            "rev": session.rev,
            "by": {"user": caller.username, **({"key": caller.key_name} if caller.key_name else {})},
            "data": data,
        }
    ).decode()


async def _explain(listener: Listener, error: AppError) -> None:
    """Sends an expected error as a frame; the socket stays open."""
    listener.release()
    project = listener.admission.path
    frame = socket_frames.error(event_seq=listener.last_seq, project=project, code=error.code, message=error.message)
    await listener.reply(0, frame)


async def _refuse(send: Send, error: Exception) -> None:
    """Accepts before closing: a browser does not show a page why a handshake failed."""
    if isinstance(error, Refused):
        code, reason = error.code, error.reason
    elif isinstance(error, DatabaseError):
        code, reason = CLOSE_TRY_LATER, "the store does not answer, try again shortly"
    else:
        logger.error("a socket could not be opened", exc_info=error)
        code, reason = CLOSE_FAULT, "something went wrong"
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.close", "code": code, "reason": reason})
