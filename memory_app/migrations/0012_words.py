"""Memory entries and errors get indexes of trigrams. Rows that are there are queued for them."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from sessions_app.chats.search.word_tables import make_word_index


def build(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    make_word_index(schema_editor, name="memory_app_entry", table="memory_app_memoryentry", columns=["key", "value"])
    make_word_index(
        schema_editor, name="memory_app_error", table="memory_app_errorreport", columns=["kind", "message"], numbered=True
    )


class Migration(migrations.Migration):
    dependencies = [("memory_app", "0011_days_of_known_errors")]
    operations = [migrations.RunPython(build)]
