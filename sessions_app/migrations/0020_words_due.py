"""What a fork copies comes into PostgreSQL's index of trigrams later, in pieces: to fill it costs more than all else together."""

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

POSTGRESQL = [
    "DROP INDEX sessions_app_message_words",
    "CREATE INDEX sessions_app_message_words ON sessions_app_message USING gin (text gin_trgm_ops) "
    "WHERE removed = '' AND words_due IS NULL",
]


def rebuild(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for statement in POSTGRESQL:
            schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0019_archive_requested")]
    operations = [
        migrations.AddField("message", "words_due", models.BooleanField(editable=False, null=True)),
        migrations.AddIndex(
            "message", models.Index(condition=models.Q(("words_due", True)), fields=["id"], name="message_words_due")
        ),
        migrations.RunPython(rebuild),
    ]
