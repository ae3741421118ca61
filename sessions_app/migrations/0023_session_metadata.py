"""Metadata, tags and pins of sessions, and the indexes of their lists.

Triggers copy a session's tags into `SessionTag`. A statement that changes neither its tags nor its project (every save)
does not run them.
"""

import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.lookups
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

COPY = "INSERT INTO sessions_app_sessiontag (session_id, project_id, tag) SELECT DISTINCT new.id, new.project_id, "
SQLITE = [
    "CREATE TRIGGER sessions_app_tags_made AFTER INSERT ON sessions_app_chatsession WHEN new.tags IS NOT NULL BEGIN "
    f"{COPY} value FROM json_each(new.tags); END",
    "CREATE TRIGGER sessions_app_tags_changed AFTER UPDATE OF tags, project_id ON sessions_app_chatsession "
    "WHEN new.tags IS NOT NULL OR old.tags IS NOT NULL BEGIN "
    "DELETE FROM sessions_app_sessiontag WHERE session_id = old.id; "
    f"{COPY} value FROM json_each(coalesce(new.tags, '[]')); END",
    "CREATE TRIGGER sessions_app_tags_gone AFTER DELETE ON sessions_app_chatsession WHEN old.tags IS NOT NULL BEGIN "
    "DELETE FROM sessions_app_sessiontag WHERE session_id = old.id; END",
]
RUN = "FOR EACH ROW WHEN ({}) EXECUTE FUNCTION sessions_app_copy_tags()"
POSTGRESQL = [
    "CREATE FUNCTION sessions_app_copy_tags() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "IF TG_OP <> 'INSERT' THEN DELETE FROM sessions_app_sessiontag WHERE session_id = old.id; END IF; "
    f"IF TG_OP <> 'DELETE' THEN {COPY} tag FROM json_array_elements_text(coalesce(new.tags, '[]')::json) AS tag; END IF; "
    "RETURN NULL; END $$",
    f"CREATE TRIGGER sessions_app_tags_made AFTER INSERT ON sessions_app_chatsession {RUN.format('new.tags IS NOT NULL')}",
    "CREATE TRIGGER sessions_app_tags_changed AFTER UPDATE OF tags, project_id ON sessions_app_chatsession "
    + RUN.format("new.tags IS NOT NULL OR old.tags IS NOT NULL"),
    f"CREATE TRIGGER sessions_app_tags_gone AFTER DELETE ON sessions_app_chatsession {RUN.format('old.tags IS NOT NULL')}",
]


def build(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for statement in POSTGRESQL if schema_editor.connection.vendor == "postgresql" else SQLITE:
        schema_editor.execute(statement)


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0022_event_type_without_choices'),
    ]

    operations = [
        migrations.AddField(
            model_name='chatsession',
            name='metadata',
            field=models.TextField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='chatsession',
            name='pinned',
            field=models.BooleanField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='chatsession',
            name='tags',
            field=models.TextField(blank=True, null=True),
        ),
        migrations.CreateModel(
            name='SessionTag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tag', models.CharField(max_length=64)),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='sessions_app.project')),
                ('session', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='tag_rows', to='sessions_app.chatsession')),
            ],
            options={
                'indexes': [models.Index(fields=['project', 'tag', 'session'], name='session_by_tag')],
                'constraints': [models.UniqueConstraint(fields=('session', 'tag'), name='session_tag_once')],
            },
        ),
        migrations.AddIndex(
            model_name='agentstate',
            index=models.Index(models.F('session'), condition=models.Q(django.db.models.lookups.GreaterThan(django.db.models.functions.text.StrIndex('content', models.Value('"last_error":')), 0)), name='agent_state_with_error'),
        ),
        migrations.AddIndex(
            model_name='aistate',
            index=models.Index(models.F('ai_id'), models.F('session'), name='ai_state_by_ai'),
        ),
        migrations.AddIndex(
            model_name='chatsession',
            index=models.Index(models.F('project'), models.F('created_at'), models.F('id'), name='session_by_creation'),
        ),
        migrations.AddIndex(
            model_name='chatsession',
            index=models.Index(models.F('project'), models.F('title'), models.F('id'), name='session_by_title'),
        ),
        migrations.AddIndex(
            model_name='chatsession',
            index=models.Index(models.F('project'), models.OrderBy(models.F('updated_at'), descending=True), models.F('id'), condition=models.Q(('pinned', True)), name='session_pinned'),
        ),
        migrations.AddIndex(
            model_name='chatsession',
            index=models.Index(models.F('project'), models.OrderBy(models.F('updated_at'), descending=True), models.F('id'), condition=models.Q(('archive_requested_at__isnull', False)), name='session_archived'),
        ),
        migrations.AddIndex(
            model_name='chatsession',
            index=models.Index(models.F('project'), models.OrderBy(models.F('updated_at'), descending=True), models.F('id'), condition=models.Q(('deleted_at__isnull', False)), name='session_trash'),
        ),
        migrations.AddIndex(
            model_name='pendingaction',
            index=models.Index(models.F('session'), condition=models.Q(('resolution', None)), name='action_open'),
        ),
        migrations.RunPython(build),
    ]
