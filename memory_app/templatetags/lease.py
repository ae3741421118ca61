"""Who writes a project's memory just now, for pages of the other context."""

import uuid

from django import template

from memory_app.models import Run
from memory_app.queries.lease import get_store
from sessions_app.queries.shared import now

register = template.Library()


@register.simple_tag
def writer_of(project_id: uuid.UUID) -> Run | None:
    """The run that holds the lease."""
    return get_store(project_id=project_id).holder_at(now())
