from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Router

from generation_app.generations import services
from generation_app.generations.model.model_list import list_models
from generation_app.generations.queries import as_json, find_generation, generation_uuid, list_generations
from generation_app.generations.schemas import GenerationIn, GenerationList, GenerationOut, ModelList
from generation_app.generations.services import Asked, reply_of
from sessions_app.chats.reading.sessions import session_uuid
from sessions_app.core.callers import caller_of
from sessions_app.core.web.responses import json_reply, refusals

router = Router(tags=["Generations"])
model_router = Router(tags=["Generations"])
ONE = "/{session_id}/generations/{generation_id}"
NOTHING_NEW = GenerationIn.model_validate({})


@router.post(
    "/{session_id}/generations", response={202: GenerationOut, **refusals(404, 409, 410)}, operation_id="start_generation"
)
def start(request: HttpRequest, session_id: str, payload: GenerationIn = NOTHING_NEW) -> HttpResponse:
    """Let the server answer: it saves the question, asks the configured endpoint, and saves the answer as it
    comes, with or without a reader. Read `stream` meanwhile."""
    question = None if payload.message is None else payload.message.model_dump(exclude_none=True)
    asked = Asked(question, **payload.model_dump(exclude={"message"}))
    made = services.start_generation(caller=caller_of(request), session_id=session_uuid(session_id), asked=asked)
    return json_reply(reply_of(made), status=202)


@router.get("/{session_id}/generations", response={200: GenerationList, **refusals(404, 410)}, operation_id="list_generations")
def browse(request: HttpRequest, session_id: str, message: str | None = None) -> HttpResponse:
    """The session's newest generations, the newest first, at most 20. `message`: only that of this answer."""
    found = list_generations(caller=caller_of(request), session_id=session_uuid(session_id), message_id=message)
    return json_reply({"items": [as_json(generation) for generation in found]})


@router.get(ONE, response={200: GenerationOut, **refusals(404, 410)}, operation_id="get_generation")
def get(request: HttpRequest, session_id: str, generation_id: str) -> HttpResponse:
    """How far an answer is."""
    found = find_generation(
        caller=caller_of(request), session_id=session_uuid(session_id), generation_id=generation_uuid(generation_id)
    )
    return json_reply(reply_of(found))


@router.post(ONE + "/stop", response={200: GenerationOut, **refusals(404, 410)}, operation_id="stop_generation")
def stop(request: HttpRequest, session_id: str, generation_id: str) -> HttpResponse:
    """Stop an answer; the text so far stays. It ends a moment later. Idempotent."""
    stopped = services.stop_generation(
        caller=caller_of(request), session_id=session_uuid(session_id), generation_id=generation_uuid(generation_id)
    )
    return json_reply(reply_of(stopped))


@router.post(ONE + "/continue", response={202: GenerationOut, **refusals(404, 409, 410)}, operation_id="continue_generation")
def go_on(request: HttpRequest, session_id: str, generation_id: str) -> HttpResponse:
    """Continue an answer that was interrupted, stopped or failed, in the same message and a new stream."""
    continued = services.continue_generation(
        caller=caller_of(request), session_id=session_uuid(session_id), generation_id=generation_uuid(generation_id)
    )
    return json_reply(reply_of(continued), status=202)


@model_router.get("/models", response={200: ModelList, **refusals()}, operation_id="list_models")
def models(request: HttpRequest) -> HttpResponse:
    """The models that a generation can name: what the configured endpoint lists, at most five minutes old."""
    caller_of(request)
    return json_reply({"items": [{"id": name} for name in list_models()], "default": settings.CHAT_MODEL or None})
