"""Writing the settings of namespaces."""

import uuid
from typing import Any

from memory_app.core.lease import lock_store
from memory_app.core.namespaces import check_namespace, check_new_names
from memory_app.key_value.namespaces.queries import SettingsNotFound
from memory_app.models import MemoryStore, NamespaceSettings
from sessions_app.core.errors import Conflict
from sessions_app.core.public_names import Caller
from sessions_app.core.storage.transactions import write
from sessions_app.projects.services import note_change

# Namespaces of a project with settings of their own: all are read with every write.
MOST_SETTINGS = 200


class TooManySettings(Conflict):
    code = "too_many_settings"
    message = f"A project has settings for at most {MOST_SETTINGS} namespaces. Set them for a namespace above."


def count_settings(project_id: uuid.UUID) -> int:
    """Of a project that an import made. Raises TooManySettings."""
    count = NamespaceSettings.objects.filter(project_id=project_id).count()
    if count > MOST_SETTINGS:
        raise TooManySettings(details={"limit": MOST_SETTINGS, "count": count})
    return count


def put_settings(
    *, caller: Caller, project_id: uuid.UUID, namespace: str, values: dict[str, Any]
) -> tuple[NamespaceSettings, bool]:
    """Replace the settings (`values` has all fields); returns them, and whether there were none. They apply to later writes."""
    check_new_names(namespace)
    check_namespace(namespace)

    def work() -> tuple[NamespaceSettings, bool]:
        store = lock_store(caller=caller, project_id=project_id)
        rows = NamespaceSettings.objects.filter(project_id=project_id)
        found = rows.filter(namespace=namespace).first()
        if found is None and rows.count() >= MOST_SETTINGS:
            raise TooManySettings
        row = found or NamespaceSettings(project_id=project_id, namespace=namespace)
        changed = found is None or any(getattr(row, name) != value for name, value in values.items())
        for name, value in values.items():
            setattr(row, name, value)
        row.save()
        _note(store, has_settings=True, changed=changed)
        return row, found is None

    return write(work)


def delete_settings(*, caller: Caller, project_id: uuid.UUID, namespace: str) -> None:
    """Those of the namespaces above it apply from now on, or the defaults."""

    def work() -> None:
        store = lock_store(caller=caller, project_id=project_id)
        rows = NamespaceSettings.objects.filter(project_id=project_id)
        deleted, _ = rows.filter(namespace=namespace).delete()
        if not deleted:
            raise SettingsNotFound
        _note(store, has_settings=rows.exists(), changed=True)

    write(work)


def _note(store: MemoryStore, *, has_settings: bool, changed: bool) -> None:
    """As for settings of the project itself, its row tells the time of the change: no event does."""
    if store.has_settings != has_settings:
        store.has_settings = has_settings
        store.save(update_fields=["has_settings"])
    if changed:
        note_change(project_id=store.project_id)
