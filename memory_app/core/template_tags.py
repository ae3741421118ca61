"""The current writer of a project's memory, for pages of the other app."""

import uuid

from django import template

from memory_app.core.store_queries import get_store
from memory_app.models import Run
from sessions_app.core.public_names import now

register = template.Library()


@register.simple_tag
def writer_of(project_id: uuid.UUID) -> Run | None:
    """The run that holds the lease."""
    return get_store(project_id=project_id).holder_at(now())
