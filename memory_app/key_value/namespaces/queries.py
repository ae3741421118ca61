"""Reading the settings of namespaces."""

import uuid
from typing import Any

from memory_app.core.namespaces import as_sent, labels_of
from memory_app.models import NamespaceSettings
from sessions_app.core.errors import NotFound
from sessions_app.core.public_names import Caller
from sessions_app.projects.queries import get_project

FIELDS = ("exact", "leased", "versions", "ttl_minutes", "refresh_on_read", "quota_bytes", "entry_bytes")


class SettingsNotFound(NotFound):
    kind = "memory settings"
    message = "This namespace has no settings of its own. Those of the namespaces above it apply, or the defaults."


def list_settings(*, caller: Caller, project_id: uuid.UUID) -> list[NamespaceSettings]:
    """Those of all namespaces that have settings, in the order of the namespaces."""
    get_project(caller=caller, project_id=project_id)
    return list(NamespaceSettings.objects.filter(project_id=project_id))


def get_settings(*, caller: Caller, project_id: uuid.UUID, namespace: str) -> NamespaceSettings:
    """The namespace's own, not those that apply to it from above."""
    get_project(caller=caller, project_id=project_id)
    found = NamespaceSettings.objects.filter(project_id=project_id, namespace=namespace).first()
    if found is None:
        raise SettingsNotFound
    return found


def settings_json(row: NamespaceSettings) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in FIELDS}
    return {"namespace": as_sent(row.namespace), "labels": labels_of(row.namespace), **values}
