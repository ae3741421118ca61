"""Creating and changing projects."""

import uuid
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Q

from sessions_app.core.errors import Forbidden, Invalid
from sessions_app.core.id_parsing import uuid_or_none
from sessions_app.core.limits import quotas
from sessions_app.core.storage.transactions import StaleRead, write
from sessions_app.models import Caller, Project
from sessions_app.models.project import NAME_LENGTH, PATH_LENGTH
from sessions_app.models.times import now
from sessions_app.projects.queries import ProjectNotFound, get_project


class OtherProject(Forbidden):
    code, message = "other_project", "This key is limited to one project. Use that project's path, or another key."


def create_project(*, caller: Caller, path: str, name: str = "") -> tuple[Project, bool]:
    """The project at `path`, and whether it was created."""
    return write(lambda: ensure_project(caller=caller, path=path, name=name))


def ensure_project(*, caller: Caller, path: str, name: str = "") -> tuple[Project, bool]:
    """As `create_project`, inside the caller's transaction. A project is found by its id too: none has that as its path."""
    check_path(path)
    if len(name) > NAME_LENGTH:
        raise Invalid(f"A name has at most {NAME_LENGTH} characters.", details={"field": "name"})
    own = Project.objects.filter(owner_id=caller.user_id, deleted_at=None)
    found = own.filter(path=path).first()
    if found is None and (project_id := uuid_or_none(path)) is not None:
        found = own.filter(id=project_id).first()
    if found is None:
        if caller.project_id is not None:
            raise OtherProject
        quotas.check_projects(caller.user_id)
        try:
            # A savepoint: on PostgreSQL another request may create it between the read and the insert.
            with transaction.atomic():
                return Project.objects.create(owner_id=caller.user_id, path=path, name=name), True
        except IntegrityError:
            found = own.filter(path=path).first()
            if found is None:  # And deleted again.
                raise StaleRead from None
    if caller.project_id not in {None, found.id}:
        raise OtherProject
    return found, False


def update_project(*, caller: Caller, project_id: uuid.UUID, fields: dict[str, Any]) -> Project:
    """Rename, or change settings; what `fields` omits stays."""

    def work() -> Project:
        project = get_project(caller=caller, project_id=project_id, locked=True)
        changed = fields.keys() & {"name", "settings"}
        if "name" in changed:
            project.name = fields["name"]
        if "settings" in changed:
            project.settings = {**project.settings, **fields["settings"]}
        project.updated_at = now()
        # Only these columns: another request may be changing the others.
        project.save(update_fields=[*changed, "updated_at"])
        return project

    return write(work)


def note_change(*, project_id: uuid.UUID) -> None:
    """Something of the project changed that no event tells of. Call it late: it locks the project's row."""
    Project.objects.filter(id=project_id).update(updated_at=now())


def count_run(*, project_id: uuid.UUID) -> int:
    """Count one more agent run; returns the total. Call it late in the caller's transaction: it locks the project's row."""
    Project.objects.filter(id=project_id).update(session_count=F("session_count") + 1, last_session_at=now())
    count = Project.objects.values_list("session_count", flat=True).filter(id=project_id).first()
    if count is None:  # Erased while this waited for its row.
        raise ProjectNotFound
    return count


def raise_run_count(*, project_id: uuid.UUID, count: int, last_at: datetime | None = None) -> None:
    """Raise the count to at least `count` runs, the last one at `last_at` or later: known from another source."""
    project = Project.objects.filter(id=project_id)
    project.filter(session_count__lt=count).update(session_count=count)
    if last_at is not None:
        project.filter(Q(last_session_at=None) | Q(last_session_at__lt=last_at)).update(last_session_at=min(last_at, now()))


def check_path(path: str) -> None:
    if not 1 <= len(path) <= PATH_LENGTH:
        raise Invalid(f"A project's path has 1 to {PATH_LENGTH} characters.", details={"field": "project"})
