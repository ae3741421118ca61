"""Files, and which messages name them.

Triggers copy the files that a message's or a conflict copy's JSON names (`sha256:` and 64 digits) into `FileReference`. A
statement whose row names none only pays for looking for these seven characters.
"""

import django.db.models.deletion
import sessions_app.models.times
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

# Table, and the column of a reference that names its row.
HOLDERS = (("message", "message_id"), ("conflictcopy", "copy_id"))
FIELDS = ("parts", "raw", "metadata")


def named(row: str, find: str) -> str:
    return "(" + " OR ".join(f"{find}(coalesce({row}.{field}, ''), 'sha256:') > 0" for field in FIELDS) + ")"


def changed(differs: str) -> str:
    return "(" + " OR ".join(f"old.{field} {differs} new.{field}" for field in FIELDS) + ")"


# The account's own files; a session that an import stages has no owner yet.
OWN = (
    "JOIN sessions_app_chatsession s ON s.id = new.session_id JOIN sessions_app_project p ON p.id = s.project_id "
    "AND (p.owner_id = f.owner_id OR p.owner_id IS NULL)"
)


def sqlite(table: str, column: str) -> list[str]:
    contents = " UNION ALL ".join(f"SELECT new.{field} AS content" for field in FIELDS)
    # Damaged JSON, which an import takes as it is, names nothing.
    copy = (
        f"INSERT INTO sessions_app_filereference (session_id, {column}, sha256) SELECT DISTINCT new.session_id, new.id, f.sha256 "
        f"FROM ({contents}) AS given, json_tree(CASE WHEN json_valid(given.content) THEN given.content ELSE 'null' END) AS found "
        "JOIN sessions_app_storedfile f ON f.sha256 = substr(found.atom, instr(found.atom, 'sha256:') + 7, 64) "
        f"{OWN} WHERE found.type = 'text' AND instr(found.atom, 'sha256:') > 0;"
    )
    drop = f"DELETE FROM sessions_app_filereference WHERE {column} = old.id;"
    name, old, new = f"sessions_app_{table}_files", named("old", "instr"), named("new", "instr")
    return [
        f"CREATE TRIGGER {name}_made AFTER INSERT ON sessions_app_{table} WHEN {new} BEGIN {copy} END",
        f"CREATE TRIGGER {name}_changed AFTER UPDATE OF {', '.join(FIELDS)} ON sessions_app_{table} "
        f"WHEN ({old} OR {new}) AND {changed('IS NOT')} BEGIN {drop} {copy} END",
        f"CREATE TRIGGER {name}_gone AFTER DELETE ON sessions_app_{table} WHEN {old} BEGIN {drop} END",
    ]


def postgresql(table: str, column: str) -> list[str]:
    contents = ", ".join(f"new.{field}" for field in FIELDS)
    # The lock: a file that is being collected is either gone, or kept because of this reference.
    copy = (
        f"INSERT INTO sessions_app_filereference (session_id, {column}, sha256) SELECT new.session_id, new.id, f.sha256 "
        f"FROM sessions_app_storedfile f {OWN} WHERE f.sha256 IN "
        f"(SELECT one[1] FROM regexp_matches(concat_ws(' ', {contents}), 'sha256:([0-9a-f]{{64}})', 'g') AS one) "
        "FOR KEY SHARE OF f;"
    )
    name, run = f"sessions_app_{table}_files", f"FOR EACH ROW WHEN ({{}}) EXECUTE FUNCTION sessions_app_copy_{table}_files()"
    old, new = named("old", "strpos"), named("new", "strpos")
    return [
        f"CREATE FUNCTION sessions_app_copy_{table}_files() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF TG_OP <> 'INSERT' THEN DELETE FROM sessions_app_filereference WHERE {column} = old.id; END IF; "
        f"IF TG_OP <> 'DELETE' THEN {copy} END IF; RETURN NULL; END $$",
        f"CREATE TRIGGER {name}_made AFTER INSERT ON sessions_app_{table} {run.format(new)}",
        f"CREATE TRIGGER {name}_changed AFTER UPDATE OF {', '.join(FIELDS)} ON sessions_app_{table} "
        + run.format(f"({old} OR {new}) AND {changed('IS DISTINCT FROM')}"),
        f"CREATE TRIGGER {name}_gone AFTER DELETE ON sessions_app_{table} {run.format(old)}",
    ]


def build(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    make = postgresql if schema_editor.connection.vendor == "postgresql" else sqlite
    for table, column in HOLDERS:
        for statement in make(table, column):
            schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0025_roles_of_formats'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='FileReference',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sha256', models.CharField(max_length=64)),
                ('copy', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='sessions_app.conflictcopy')),
                ('message', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='sessions_app.message')),
                ('session', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='sessions_app.chatsession')),
            ],
            options={
                'indexes': [models.Index(fields=['session', 'sha256'], name='file_reference_session'), models.Index(fields=['sha256'], name='file_reference_sha256')],
            },
        ),
        migrations.CreateModel(
            name='SessionFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sha256', models.CharField(max_length=64)),
                ('name', models.CharField(max_length=255)),
                ('created_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('session', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='files', to='sessions_app.chatsession')),
            ],
            options={
                'indexes': [models.Index(fields=['sha256'], name='session_file_by_sha256')],
                'constraints': [models.UniqueConstraint(fields=('session', 'sha256'), name='session_file_once')],
            },
        ),
        migrations.CreateModel(
            name='StoredFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sha256', models.CharField(max_length=64)),
                ('name', models.CharField(help_text='As it was first uploaded.', max_length=255)),
                ('media_type', models.CharField(max_length=127)),
                ('size_bytes', models.PositiveBigIntegerField()),
                ('key', models.CharField(editable=False, max_length=200, unique=True)),
                ('created_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('uploaded_at', models.DateTimeField(db_index=True, default=sessions_app.models.times.now, editable=False)),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='files', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['sha256'], name='file_by_sha256')],
                'constraints': [models.UniqueConstraint(fields=('owner', 'sha256'), name='file_once_per_account')],
            },
        ),
        migrations.RunPython(build),
    ]
