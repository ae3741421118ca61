"""Reading generations, and what a model is given for one."""

import uuid
from dataclasses import dataclass
from typing import Any

import orjson

from generation_app.generations.instructions import CONTINUE, instructions_for
from generation_app.generations.model.attachments import with_files
from generation_app.models import Generation, GenerationState
from generation_app.models.generation import ACTIVE
from sessions_app.chats.reading.frameworks.conversion import converted
from sessions_app.chats.reading.messages import find_message, page_before, position_of
from sessions_app.chats.reading.sessions import SessionRow, get_session
from sessions_app.core.errors import NotFound
from sessions_app.core.id_parsing import parse_id
from sessions_app.core.public_names import Caller, rfc3339
from sessions_app.core.serialization import strict_json
from sessions_app.core.serialization.stored_json import written_json
from sessions_app.models import Message, Project

FORMAT = "openai.chat"
MOST_MESSAGES = 200
MOST_LISTED = 20
COVERING = (*ACTIVE, GenerationState.COMPLETE.value)


class GenerationNotFound(NotFound):
    kind = "generation"
    message = "This session has no generation with this id."


@dataclass(frozen=True, slots=True)
class Question:
    """What the endpoint is asked, and the text and the parts that the answer has already."""

    model: str
    messages: list[Any]
    text: str
    parts: list[dict[str, Any]]


def generation_uuid(text: str) -> uuid.UUID:
    return parse_id(text, GenerationNotFound)


def find_generation(*, caller: Caller, session_id: uuid.UUID, generation_id: uuid.UUID) -> Generation:
    """Raises SessionNotFound, SessionDeleted, GenerationNotFound."""
    session = get_session(caller=caller, session_id=session_id)
    found = Generation.objects.filter(id=generation_id, session_id=session.id).first()
    if found is None:
        raise GenerationNotFound
    return found


def list_generations(*, caller: Caller, session_id: uuid.UUID, message_id: str | None = None) -> list[Generation]:
    """The newest ones first. `message_id`: only that of this answer. Raises SessionNotFound, SessionDeleted."""
    session = get_session(caller=caller, session_id=session_id)
    found = Generation.objects.filter(session_id=session.id)
    if message_id is not None:
        found = found.filter(message_id=message_id)
    return list(found.order_by("-created_at")[:MOST_LISTED])


def active_of(session_id: uuid.UUID) -> Generation | None:
    return Generation.objects.filter(session_id=session_id, ended_at=None).first()


def caller_of_generation(generation: Generation) -> Caller:
    """What it saves is saved in the name of the user who asked."""
    owner: Any = generation.owner
    return Caller(owner.pk, owner.get_username(), generation.key_id, generation.key_name)


def as_json(generation: Generation) -> dict[str, Any]:
    return {
        "generation": str(generation.id),
        "session": str(generation.session_id),
        "message": generation.message_id,
        "stream": None if generation.stream_id is None else str(generation.stream_id),
        "state": generation.state,
        "error": generation.error or None,
        "model": generation.model or None,
        "created_at": rfc3339(generation.created_at),
        "ended_at": None if generation.ended_at is None else rfc3339(generation.ended_at),
    }


def question_of(generation: Generation) -> Question:
    """Raises SessionNotFound, SessionDeleted."""
    caller = caller_of_generation(generation)
    session = get_session(caller=caller, session_id=generation.session_id)
    own = Project.objects.values_list("settings", flat=True).get(id=session.project_id).get("instructions", "")
    told = {"role": "system", "content": generation.instructions or instructions_for(session.opening_step, own)}
    text, parts = stored_answer(generation) if generation.continues else ("", [])
    messages = [told, *_history(session, generation.last_message_id, caller)]
    if text:
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": CONTINUE}]
    return Question(generation.model, messages, text, parts)


def stored_answer(generation: Generation) -> tuple[str, list[dict[str, Any]]]:
    """The text and the parts of its message, whether that is shown, removed, cleared or in the trash. Damaged parts: none."""
    rows = Message.objects.filter(session_id=generation.session_id, message_id=generation.message_id)
    text, stored = rows.order_by("-rev").values_list("text", "parts").first() or ("", None)
    try:
        parts = [{"type": "text", "text": text}] if stored is None else written_json(stored)
    except (ValueError, RecursionError):
        parts = []
    return text, [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def metadata_with_model(session: SessionRow, generation: Generation) -> dict[str, Any]:
    """The answer's metadata as a field of a patch, if it does not name a model and can."""
    found = find_message(session_id=session.id, live=session.live, message_id=generation.message_id) or {}
    metadata = _stored(found.get("metadata", {}))
    if not generation.model or not isinstance(metadata, dict) or "model" in metadata:
        return {}
    return {"metadata": {**metadata, "model": generation.model}}


def _stored(value: Any) -> Any:
    """Parts or metadata, which are read as JSON text. Numbers keep their notation."""
    return strict_json.loads(orjson.dumps(value))[0]


def generation_covering(session: SessionRow, message_id: str) -> Generation | None:
    """The session's newest generation, if it is active or complete and was given this message or a later one."""
    found = Generation.objects.filter(session_id=session.id, epoch=session.epoch).order_by("-created_at").first()
    if found is None or found.state not in COVERING:
        return None
    last, asked = (
        position_of(session_id=session.id, live=session.live, message_id=one) for one in (found.last_message_id, message_id)
    )
    return found if last is not None and asked is not None and asked <= last else None


def has_message(session: SessionRow, message_id: str) -> bool:
    """Is it on the path that the session shows?"""
    position = position_of(session_id=session.id, live=session.live, message_id=message_id)
    if position is None:
        return False
    found = page_before(session_id=session.id, live=session.live, position=position + 1, limit=1).items
    return bool(found) and found[-1]["id"] == message_id


def newest_message(session: SessionRow) -> str | None:
    page = page_before(session_id=session.id, live=session.live, position=2**53, limit=1)
    return page.items[-1]["id"] if page.items else None


def _history(session: SessionRow, last_message_id: str, caller: Caller) -> list[Any]:
    """As the endpoint reads it. Calls of tools without an output get one, so that the question is valid."""
    last = position_of(session_id=session.id, live=session.live, message_id=last_message_id) or 0
    page = page_before(session_id=session.id, live=session.live, position=last + 1, limit=MOST_MESSAGES)
    items: list[Any] = converted(with_files(page.items, caller), FORMAT, repair=True)["items"]
    return items
