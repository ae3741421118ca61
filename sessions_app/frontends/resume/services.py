"""Side effect of a resume: it notifies the project's other listeners."""

from sessions_app.events import event_log
from sessions_app.frontends.resume.queries import Resume
from sessions_app.models import Caller
from sessions_app.models.event import EventType


def announce_restored(*, caller: Caller, resume: Resume, has_plan: bool = False) -> None:
    """Sends SESSION_RESTORED, then PLAN_RESTORED if there is a plan: to current listeners, without content, not logged."""
    _announce(caller, resume, EventType.SESSION_RESTORED)
    if has_plan:
        _announce(caller, resume, EventType.PLAN_RESTORED)


def _announce(caller: Caller, resume: Resume, type: EventType) -> None:
    event_log.announce(
        project_id=resume.project_id,
        path=resume.session.project_path,
        event_seq=resume.event_cursor,
        type=type,
        caller=caller,
        session_id=resume.session.id,
        epoch=resume.session.epoch,
        rev=resume.session.rev,
    )
