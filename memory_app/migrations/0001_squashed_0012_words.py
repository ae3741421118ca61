"""All tables of this app at once. A new store would take seconds for one migration after the other.

A store that has some of them continues with the others.
"""

import uuid
from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

import sessions_app.models.times

REPLACED = (
    '0001_first',
    '0002_deleted_entries',
    '0003_endpoint_timings',
    '0004_errors',
    '0005_errors_reopened',
    '0006_open_errors',
    '0007_paths_and_settings',
    '0008_checkpoints',
    '0009_names_by_bytes',
    '0010_errors_by_day',
    '0011_days_of_known_errors',
    '0012_words',
)
# Triggers, words of search, orders of bytes: as they were first written.
BY_HAND = (
    ('0007_paths_and_settings', 'order_by_bytes'),
    ('0008_checkpoints', 'order_by_bytes'),
    ('0009_names_by_bytes', 'order_by_bytes'),
    ('0012_words', 'build'),
)


def by_hand(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for name, function in BY_HAND:
        getattr(import_module(f'{__package__}.{name}'), function)(apps, schema_editor)


class Migration(migrations.Migration):

    replaces = [('memory_app', name) for name in REPLACED]

    initial = True

    # As of the last one of those that are replaced: a store may have all of them, and not yet what followed there.
    dependencies = [('sessions_app', '0027_branches')]

    operations = [
        migrations.CreateModel(
            name='GraphThread',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=1000)),
                ('size_bytes', models.PositiveBigIntegerField(default=0)),
                ('created_at', models.DateTimeField(default=sessions_app.models.times.now)),
                ('updated_at', models.DateTimeField(default=sessions_app.models.times.now)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='graph_threads', to='sessions_app.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('project', 'name'), name='graph_thread_once')],
            },
        ),
        migrations.CreateModel(
            name='ChannelValue',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ns', models.CharField(blank=True, max_length=1000)),
                ('channel', models.CharField(max_length=500)),
                ('version', models.CharField(max_length=255)),
                ('size_bytes', models.PositiveBigIntegerField()),
                ('type', models.CharField(max_length=64)),
                ('data', models.BinaryField()),
                ('thread', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='channel_values', to='memory_app.graphthread')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('thread', 'ns', 'channel', 'version'), name='channel_version_once')],
            },
        ),
        migrations.CreateModel(
            name='Checkpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ns', models.CharField(blank=True, max_length=1000)),
                ('checkpoint_id', models.CharField(max_length=255)),
                ('parent_id', models.CharField(blank=True, max_length=255)),
                ('run_id', models.CharField(blank=True, max_length=255)),
                ('created_at', models.DateTimeField(default=sessions_app.models.times.now)),
                ('size_bytes', models.PositiveBigIntegerField()),
                ('state_bytes', models.PositiveBigIntegerField(help_text='With the values that it refers to.')),
                ('metadata', models.TextField(help_text='An object as JSON.')),
                ('versions', models.TextField(help_text='Which version of which channel belongs to it, as JSON.')),
                ('type', models.CharField(max_length=64)),
                ('data', models.BinaryField()),
                ('thread', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='checkpoints', to='memory_app.graphthread')),
            ],
            options={
                'indexes': [models.Index(models.F('thread'), models.F('checkpoint_id'), models.F('ns'), name='checkpoint_browse'), models.Index(models.F('run_id'), condition=models.Q(('run_id', ''), _negated=True), name='checkpoint_run')],
                'constraints': [models.UniqueConstraint(fields=('thread', 'ns', 'checkpoint_id'), name='checkpoint_once')],
            },
        ),
        migrations.CreateModel(
            name='DeletedEntry',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('key', models.CharField(max_length=512)),
                ('deleted_at', models.DateTimeField(db_index=True, default=sessions_app.models.times.now, editable=False)),
                ('by', models.CharField(blank=True, max_length=150)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deleted_memory_entries', to='sessions_app.project')),
                ('namespace', models.CharField(max_length=2500)),
            ],
            options={
                'verbose_name_plural': 'deleted entries',
                'ordering': ('-deleted_at', 'id'),
            },
        ),
        migrations.CreateModel(
            name='EndpointTiming',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('endpoint', models.CharField(max_length=200)),
                ('run', models.PositiveIntegerField(help_text="The project's n-th run.")),
                ('histogram', models.TextField(help_text='Pairs of a bucket and its count, as JSON.')),
                ('count', models.PositiveBigIntegerField()),
                ('total_ms', models.FloatField()),
                ('min_ms', models.FloatField()),
                ('max_ms', models.FloatField()),
                ('p50_ms', models.FloatField()),
                ('p95_ms', models.FloatField()),
                ('earlier_p95_ms', models.FloatField(blank=True, null=True)),
                ('degraded', models.BooleanField(default=False)),
                ('newest', models.BooleanField(default=True, help_text='No later run measured this endpoint.')),
                ('first_at', models.DateTimeField(default=sessions_app.models.times.now)),
                ('last_at', models.DateTimeField(default=sessions_app.models.times.now)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='endpoint_timings', to='sessions_app.project')),
            ],
            options={
                'ordering': ('endpoint', '-run'),
                'indexes': [models.Index(models.F('project'), models.F('endpoint'), condition=models.Q(('newest', True)), name='endpoint_newest')],
                'constraints': [models.UniqueConstraint(fields=('project', 'endpoint', 'run'), name='endpoint_once_a_run')],
            },
        ),
        migrations.CreateModel(
            name='ErrorReport',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('fingerprint', models.CharField(max_length=32)),
                ('message', models.TextField(blank=True)),
                ('kind', models.CharField(blank=True, max_length=200)),
                ('file', models.CharField(blank=True, max_length=300)),
                ('function', models.CharField(blank=True, max_length=300)),
                ('line', models.PositiveBigIntegerField(blank=True, null=True)),
                ('stack', models.TextField(help_text='As it came, as JSON: a text, a list of frames, or null.')),
                ('count', models.PositiveBigIntegerField()),
                ('days', models.TextField(default='{}', help_text='How often on which of the last days, as JSON.')),
                ('first_seen', models.DateTimeField(default=sessions_app.models.times.now)),
                ('last_seen', models.DateTimeField(default=sessions_app.models.times.now)),
                ('resolved_at', models.DateTimeField(blank=True, null=True)),
                ('known_fix', models.TextField(blank=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='error_reports', to='sessions_app.project')),
                ('reopened_at', models.DateTimeField(blank=True, null=True)),
                ('alike_message', models.CharField(blank=True, default='', max_length=32)),
                ('alike_place', models.CharField(blank=True, default='', max_length=32)),
                ('muted_count', models.PositiveBigIntegerField(blank=True, null=True)),
                ('muted_until', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ('-last_seen', 'id'),
                'indexes': [models.Index(models.F('project'), models.OrderBy(models.F('last_seen'), descending=True), models.F('id'), name='error_browse'), models.Index(models.F('last_seen'), name='error_age'), models.Index(models.F('project'), models.F('last_seen'), models.F('muted_until'), condition=models.Q(('resolved_at', None)), name='error_open'), models.Index(models.F('project'), models.F('alike_place'), name='error_alike_place'), models.Index(models.F('project'), models.F('alike_message'), name='error_alike_message')],
                'constraints': [models.UniqueConstraint(fields=('project', 'fingerprint'), name='error_once')],
            },
        ),
        migrations.CreateModel(
            name='ErrorDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField(help_text='In UTC.')),
                ('run', models.PositiveIntegerField(default=0, help_text="The project's n-th run; 0: reported without a run.")),
                ('count', models.PositiveBigIntegerField()),
                ('last_at', models.DateTimeField(blank=True, null=True)),
                ('session_id', models.UUIDField(blank=True, null=True)),
                ('message_id', models.CharField(blank=True, max_length=64)),
                ('error', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='seen_on', to='memory_app.errorreport')),
            ],
            options={
                'ordering': ('-day', '-run'),
                'indexes': [models.Index(models.F('day'), name='error_day_age')],
                'constraints': [models.UniqueConstraint(fields=('error', 'day', 'run'), name='error_day_once_a_run')],
            },
        ),
        migrations.CreateModel(
            name='FilteredCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rule_id', models.CharField(max_length=128)),
                ('count', models.PositiveBigIntegerField(default=0)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='filtered_counts', to='sessions_app.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('project', 'rule_id'), name='filtered_count_once')],
            },
        ),
        migrations.CreateModel(
            name='MemoryEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=512)),
                ('value', models.TextField(help_text='The value as JSON.')),
                ('rev', models.PositiveBigIntegerField()),
                ('size_bytes', models.PositiveIntegerField()),
                ('updated_at', models.DateTimeField(default=sessions_app.models.times.now)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memory_entries', to='sessions_app.project')),
                ('created_at', models.DateTimeField(default=sessions_app.models.times.now)),
                ('exact', models.BooleanField(default=False, help_text='Stored as it was sent, without redaction.')),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('ttl_minutes', models.FloatField(blank=True, null=True)),
                ('namespace', models.CharField(max_length=2500)),
            ],
            options={
                'verbose_name_plural': 'memory entries',
                'indexes': [models.Index(models.F('expires_at'), condition=models.Q(('expires_at__isnull', False)), name='memory_expiry')],
                'constraints': [models.UniqueConstraint(fields=('project', 'namespace', 'key'), name='memory_key_once')],
            },
        ),
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('agent', models.CharField(blank=True, max_length=64)),
                ('number', models.PositiveIntegerField(help_text="The project's n-th run.")),
                ('fence', models.PositiveBigIntegerField(blank=True, null=True)),
                ('started_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('last_seen_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='sessions_app.project')),
            ],
            options={
                'ordering': ('-started_at', 'id'),
                'indexes': [models.Index(models.F('project'), models.OrderBy(models.F('started_at'), descending=True), name='run_browse')],
            },
        ),
        migrations.CreateModel(
            name='MemoryStore',
            fields=[
                ('project', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='memory_store', serialize=False, to='sessions_app.project')),
                ('rev', models.PositiveBigIntegerField(default=0)),
                ('size_bytes', models.PositiveBigIntegerField(default=0)),
                ('fence', models.PositiveBigIntegerField(default=0)),
                ('lease_expires_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('holder', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memory_app.run')),
                ('errors_changed_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('has_settings', models.BooleanField(default=False, editable=False)),
                ('checkpoint_bytes', models.PositiveBigIntegerField(default=0, editable=False)),
            ],
        ),
        migrations.CreateModel(
            name='MemoryVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('value', models.TextField()),
                ('rev', models.PositiveBigIntegerField()),
                ('size_bytes', models.PositiveIntegerField()),
                ('saved_at', models.DateTimeField(default=sessions_app.models.times.now)),
                ('by', models.CharField(blank=True, max_length=150)),
                ('entry', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='memory_app.memoryentry')),
                ('deleted', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='memory_app.deletedentry')),
                ('exact', models.BooleanField(default=False)),
            ],
            options={
                'ordering': ('-rev',),
                'constraints': [models.UniqueConstraint(fields=('entry', 'rev'), name='memory_version_once')],
            },
        ),
        migrations.CreateModel(
            name='NamespaceSettings',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('namespace', models.CharField(max_length=2500)),
                ('exact', models.BooleanField(default=False, help_text='Values are stored as they are sent, without redaction.')),
                ('leased', models.BooleanField(default=True, help_text='Writes need the lease while a run holds it.')),
                ('versions', models.PositiveSmallIntegerField(default=10, help_text='How many are kept; 0: none, and no trash.')),
                ('ttl_minutes', models.FloatField(blank=True, null=True)),
                ('refresh_on_read', models.BooleanField(default=False)),
                ('quota_bytes', models.PositiveBigIntegerField(blank=True, null=True)),
                ('entry_bytes', models.PositiveIntegerField(blank=True, null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memory_settings', to='sessions_app.project')),
            ],
            options={
                'verbose_name_plural': 'settings of namespaces',
                'ordering': ('namespace',),
                'constraints': [models.UniqueConstraint(fields=('project', 'namespace'), name='memory_settings_once')],
            },
        ),
        migrations.CreateModel(
            name='PendingWrite',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ns', models.CharField(blank=True, max_length=1000)),
                ('checkpoint_id', models.CharField(max_length=255)),
                ('task_id', models.CharField(max_length=255)),
                ('idx', models.IntegerField()),
                ('task_path', models.CharField(blank=True, max_length=2000)),
                ('channel', models.CharField(max_length=500)),
                ('size_bytes', models.PositiveBigIntegerField()),
                ('type', models.CharField(max_length=64)),
                ('data', models.BinaryField()),
                ('thread', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pending_writes', to='memory_app.graphthread')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('thread', 'ns', 'checkpoint_id', 'task_id', 'idx'), name='pending_write_once')],
            },
        ),
        migrations.RunPython(by_hand),
    ]
