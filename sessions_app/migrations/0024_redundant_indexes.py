"""Indexes of foreign keys that another index of the same table begins with. Every save had to write them.

By name and not by Django's own operation, which on SQLite would build these tables again and lose their triggers.
"""

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.db.models import deletion

REDUNDANT = {
    "sessions_app_message_session_id_a5aec9af": ("sessions_app_message", "session_id"),
    "sessions_app_savereceipt_session_id_4249d573": ("sessions_app_savereceipt", "session_id"),
    "sessions_app_conflictcopy_session_id_601c2a1a": ("sessions_app_conflictcopy", "session_id"),
    "sessions_app_chatsession_project_id_471d7f21": ("sessions_app_chatsession", "project_id"),
    "sessions_app_event_project_id_3e2d32ca": ("sessions_app_event", "project_id"),
}


def drop(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for name in REDUNDANT:
        schema_editor.execute(f"DROP INDEX IF EXISTS {name}")


def create(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for name, (table, column) in REDUNDANT.items():
        schema_editor.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {table} ({column})")


def without_index(model: str, field: str, to: str, related_name: str) -> migrations.AlterField:
    key = models.ForeignKey(db_index=False, on_delete=deletion.CASCADE, related_name=related_name, to=f"sessions_app.{to}")
    return migrations.AlterField(model, field, key)


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0023_session_metadata")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(drop, create)],
            state_operations=[
                without_index("message", "session", "chatsession", "messages"),
                without_index("savereceipt", "session", "chatsession", "receipts"),
                without_index("conflictcopy", "session", "chatsession", "conflict_copies"),
                without_index("chatsession", "project", "project", "sessions"),
                without_index("event", "project", "project", "events"),
            ],
        )
    ]
