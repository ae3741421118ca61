"""What templates show of a project's memory: its current writer, and namespaces as people read them."""

import json
import uuid
from urllib.parse import quote

from django import template
from django.urls import reverse

from memory_app.core.namespaces import as_sent, as_shown
from memory_app.core.store_queries import get_store
from memory_app.models import Run
from sessions_app.core.public_names import now

register = template.Library()


@register.simple_tag
def writer_of(project_id: uuid.UUID) -> Run | None:
    """The run that holds the lease."""
    return get_store(project_id=project_id).holder_at(now())


@register.filter
def labels(namespace: str) -> str:
    """`users / 1 / notes`."""
    return as_shown(namespace)


@register.filter
def as_in_events(namespace: str) -> str:
    """The namespace as events name it, as JSON without spaces."""
    return json.dumps(as_sent(namespace), ensure_ascii=False, separators=(",", ":"))


@register.simple_tag
def raw_address(project_id: uuid.UUID, namespace: str, key: str) -> str:
    """The entry's address in the API; empty if the API has none, because an address names one label and no `/`."""
    label = as_sent(namespace)
    if not isinstance(label, str) or "/" in label + key or {label, key} & {".", ".."}:
        return ""
    return f"{reverse('api:api-root')}projects/{project_id}/memory/{quote(label, safe='')}/{quote(key, safe='')}"
