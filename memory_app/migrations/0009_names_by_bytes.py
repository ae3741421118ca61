from typing import Any

from django.db import migrations


def order_by_bytes(apps: Any, schema_editor: Any) -> None:
    """On PostgreSQL names are compared and ordered by their bytes, as SQLite does: then the index answers prefixes, and what is
    compared in Python has the same order."""
    if schema_editor.connection.vendor != 'postgresql':
        return
    for table, column, length in (
        ('namespacesettings', 'namespace', 2500),
        ('deletedentry', 'namespace', 2500),
        ('deletedentry', 'key', 512),
    ):
        schema_editor.execute(f'ALTER TABLE memory_app_{table} ALTER COLUMN "{column}" TYPE varchar({length}) COLLATE "C"')


class Migration(migrations.Migration):

    dependencies = [
        ('memory_app', '0008_checkpoints'),
    ]

    operations = [
        migrations.RunPython(order_by_bytes, migrations.RunPython.noop, elidable=False),
    ]
