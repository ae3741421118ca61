"""Handoffs get an index of trigrams. Those that are there are queued for it."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from sessions_app.chats.search.word_tables import make_word_index


def build(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    make_word_index(schema_editor, name="sessions_app_handoff", table="sessions_app_handoff", columns=["content"])


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0028_removed_places")]
    operations = [migrations.RunPython(build)]
