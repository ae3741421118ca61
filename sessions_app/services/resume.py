"""What a resume does besides reading: it tells the project's other listeners."""

from sessions_app import events
from sessions_app.models import Caller
from sessions_app.models.event import EventType
from sessions_app.queries.resume import Resume


def announce_restored(*, caller: Caller, resume: Resume, has_plan: bool = False) -> None:
    """SESSION_RESTORED, then PLAN_RESTORED where there is a plan: to whoever listens, without content, in no log."""
    _announce(caller, resume, EventType.SESSION_RESTORED)
    if has_plan:
        _announce(caller, resume, EventType.PLAN_RESTORED)


def _announce(caller: Caller, resume: Resume, type: EventType) -> None:
    events.announce(
        project_id=resume.project_id,
        path=resume.session.project_path,
        event_seq=resume.event_cursor,
        type=type,
        caller=caller,
        session_id=resume.session.id,
        epoch=resume.session.epoch,
        rev=resume.session.rev,
    )
