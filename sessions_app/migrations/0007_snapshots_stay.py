"""A snapshot never changes, and goes only with its whole project: the database itself refuses anything else."""

from typing import Any

from django.db import migrations

_SQLITE = (
    "CREATE TRIGGER snapshot_never_changes BEFORE UPDATE ON sessions_app_handoffsnapshot "
    "BEGIN SELECT RAISE(ABORT, 'a frozen handoff cannot be changed'); END",
    "CREATE TRIGGER snapshot_stays BEFORE DELETE ON sessions_app_handoffsnapshot "
    "WHEN NOT EXISTS (SELECT 1 FROM sessions_app_purge WHERE project_id = OLD.project_id) "
    "BEGIN SELECT RAISE(ABORT, 'a frozen handoff goes only with its project'); END",
)
_POSTGRESQL = (
    "CREATE FUNCTION sessions_app_snapshot_stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "IF TG_OP = 'DELETE' AND EXISTS (SELECT 1 FROM sessions_app_purge WHERE project_id = OLD.project_id) THEN RETURN OLD; END IF; "
    "RAISE EXCEPTION 'a frozen handoff cannot be changed' USING ERRCODE = 'integrity_constraint_violation'; END $$",
    "CREATE TRIGGER snapshot_stays BEFORE UPDATE OR DELETE ON sessions_app_handoffsnapshot "
    "FOR EACH ROW EXECUTE FUNCTION sessions_app_snapshot_stays()",
)
_UNDO = {
    "sqlite": ("DROP TRIGGER snapshot_never_changes", "DROP TRIGGER snapshot_stays"),
    "postgresql": (
        "DROP TRIGGER snapshot_stays ON sessions_app_handoffsnapshot",
        "DROP FUNCTION sessions_app_snapshot_stays()",
    ),
}


def _guard(apps: Any, schema_editor: Any) -> None:
    for statement in _POSTGRESQL if schema_editor.connection.vendor == "postgresql" else _SQLITE:
        schema_editor.execute(statement)


def _unguard(apps: Any, schema_editor: Any) -> None:
    for statement in _UNDO[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0006_states_and_handoff")]
    operations = [migrations.RunPython(_guard, _unguard)]
