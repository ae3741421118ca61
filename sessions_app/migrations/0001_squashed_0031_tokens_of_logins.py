"""All tables of this app at once. A new store would take seconds for one migration after the other.

A store that has some of them continues with the others.
"""

import uuid
from importlib import import_module

import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.lookups
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

import sessions_app.models.times

REPLACED = (
    '0001_first',
    '0002_life',
    '0003_search',
    '0004_memory_events',
    '0005_pruning',
    '0006_states_and_handoff',
    '0007_snapshots_stay',
    '0008_dropped_messages',
    '0009_transferred_states',
    '0010_error_events',
    '0011_overwritten_agent_states',
    '0012_snapshots_are_not_replaced',
    '0013_flagged_messages',
    '0014_tickets_of_logins',
    '0015_copies_to_settle',
    '0016_account_usage',
    '0017_import_jobs',
    '0018_logins',
    '0019_archive_requested',
    '0020_words_due',
    '0021_epochs_taken_up',
    '0022_event_type_without_choices',
    '0023_session_metadata',
    '0024_redundant_indexes',
    '0025_roles_of_formats',
    '0026_files',
    '0027_branches',
    '0028_removed_places',
    '0029_handoff_words',
    '0030_revs_of_an_undo',
    '0031_tokens_of_logins',
)
# Triggers, words of search, orders of bytes: as they were first written.
BY_HAND = (
    ('0003_search', 'build'),
    ('0007_snapshots_stay', '_guard'),
    ('0012_snapshots_are_not_replaced', '_guard'),
    ('0020_words_due', 'rebuild'),
    ('0023_session_metadata', 'build'),
    ('0026_files', 'build'),
    ('0029_handoff_words', 'build'),
)


def by_hand(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for name, function in BY_HAND:
        getattr(import_module(f'{__package__}.{name}'), function)(apps, schema_editor)


class Migration(migrations.Migration):

    replaces = [('sessions_app', name) for name in REPLACED]

    initial = True

    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name='Project',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('path', models.CharField(max_length=512)),
                ('name', models.CharField(blank=True, max_length=200)),
                ('settings', models.JSONField(blank=True, default=dict)),
                ('session_count', models.PositiveIntegerField(default=0, editable=False)),
                ('last_session_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('event_seq', models.PositiveBigIntegerField(default=0, editable=False)),
                ('created_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('updated_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('import_current', models.UUIDField(blank=True, editable=False, null=True)),
                ('import_id', models.UUIDField(blank=True, editable=False, null=True)),
                ('import_into', models.UUIDField(blank=True, editable=False, null=True)),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='projects', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-updated_at', 'id'),
                'indexes': [models.Index(models.F('owner'), models.OrderBy(models.F('updated_at'), descending=True), models.F('id'), name='project_browse'), models.Index(models.F('import_id'), condition=models.Q(('import_id__isnull', False)), name='project_imported')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('deleted_at', None)), fields=('owner', 'path'), name='project_path_unique_per_owner')],
            },
        ),
        migrations.CreateModel(
            name='ChatSession',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('external_id', models.CharField(blank=True, max_length=128, null=True)),
                ('title', models.CharField(blank=True, max_length=200)),
                ('opening_step', models.CharField(blank=True, max_length=64)),
                ('schema_version', models.PositiveSmallIntegerField(default=1, editable=False)),
                ('epoch', models.PositiveBigIntegerField(default=1, editable=False)),
                ('rev', models.PositiveBigIntegerField(default=0, editable=False)),
                ('last_position', models.PositiveBigIntegerField(default=0, editable=False)),
                ('message_count', models.PositiveIntegerField(default=0, editable=False)),
                ('size_bytes', models.PositiveBigIntegerField(default=0, editable=False)),
                ('created_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('updated_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='sessions', to='sessions_app.project')),
                ('import_id', models.UUIDField(blank=True, editable=False, null=True)),
                ('archive_requested_at', models.DateTimeField(blank=True, null=True)),
                ('epochs_ahead', models.PositiveBigIntegerField(editable=False, null=True)),
                ('revived_rev', models.PositiveBigIntegerField(editable=False, null=True)),
                ('revived_to', models.PositiveBigIntegerField(editable=False, null=True)),
                ('metadata', models.TextField(blank=True, null=True)),
                ('pinned', models.BooleanField(blank=True, null=True)),
                ('tags', models.TextField(blank=True, null=True)),
                ('head', models.CharField(editable=False, max_length=64, null=True)),
                ('revived_revs', models.PositiveBigIntegerField(editable=False, null=True)),
            ],
            options={
                'verbose_name': 'session',
                'ordering': ('-updated_at', 'id'),
                'indexes': [models.Index(models.F('project'), models.OrderBy(models.F('updated_at'), descending=True), models.F('id'), name='session_browse'), models.Index(models.F('import_id'), condition=models.Q(('import_id__isnull', False)), name='session_imported'), models.Index(models.F('project'), models.F('created_at'), models.F('id'), name='session_by_creation'), models.Index(models.F('project'), models.F('title'), models.F('id'), name='session_by_title'), models.Index(models.F('project'), models.OrderBy(models.F('updated_at'), descending=True), models.F('id'), condition=models.Q(('pinned', True)), name='session_pinned'), models.Index(models.F('project'), models.OrderBy(models.F('updated_at'), descending=True), models.F('id'), condition=models.Q(('archive_requested_at__isnull', False)), name='session_archived'), models.Index(models.F('project'), models.OrderBy(models.F('updated_at'), descending=True), models.F('id'), condition=models.Q(('deleted_at__isnull', False)), name='session_trash')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('external_id__isnull', False)), fields=('project', 'external_id'), name='session_external_id_unique_in_project')],
            },
        ),
        migrations.CreateModel(
            name='AgentState',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('content', models.TextField(blank=True, help_text='A JSON object of the fields that were saved; NULL: deleted.', null=True)),
                ('rev', models.PositiveBigIntegerField(default=0, editable=False)),
                ('saved_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('session', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='agent_state', to='sessions_app.chatsession')),
            ],
            options={
                'indexes': [models.Index(models.F('session'), condition=models.Q(django.db.models.lookups.GreaterThan(django.db.models.functions.text.StrIndex('content', models.Value('"last_error":')), 0)), name='agent_state_with_error')],
            },
        ),
        migrations.CreateModel(
            name='AgentStateVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rev', models.PositiveBigIntegerField()),
                ('content', models.TextField()),
                ('saved_at', models.DateTimeField()),
                ('state', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='sessions_app.agentstate')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('state', 'rev'), name='agent_state_version_once')],
            },
        ),
        migrations.CreateModel(
            name='AiState',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ai_id', models.CharField(max_length=64)),
                ('content', models.TextField(blank=True, help_text='A JSON object of the fields that were saved; NULL: deleted.', null=True)),
                ('rev', models.PositiveBigIntegerField(default=0, editable=False)),
                ('updated_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='ai_states', to='sessions_app.chatsession')),
            ],
            options={
                'indexes': [models.Index(models.F('ai_id'), models.F('session'), name='ai_state_by_ai')],
                'constraints': [models.UniqueConstraint(fields=('session', 'ai_id'), name='ai_state_once')],
            },
        ),
        migrations.CreateModel(
            name='AiStateVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rev', models.PositiveBigIntegerField()),
                ('content', models.TextField()),
                ('updated_at', models.DateTimeField()),
                ('state', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='sessions_app.aistate')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('state', 'rev'), name='ai_state_version_once')],
            },
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(blank=True, max_length=100)),
                ('prefix', models.CharField(editable=False, max_length=8)),
                ('key_sha256', models.CharField(editable=False, max_length=64, unique=True)),
                ('scopes', models.CharField(default='read,write', help_text='Comma-separated: read, write.', max_length=20)),
                ('created_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to='sessions_app.project')),
            ],
            options={
                'verbose_name': 'API key',
                'ordering': ('-created_at', 'id'),
            },
        ),
        migrations.CreateModel(
            name='AppState',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('client', models.CharField(max_length=64)),
                ('selected_project', models.CharField(blank=True, max_length=512, null=True)),
                ('active_phase', models.CharField(default='plan', max_length=64)),
                ('recent_projects', models.JSONField(blank=True, default=list)),
                ('rev', models.PositiveBigIntegerField(default=0, editable=False)),
                ('updated_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('import_id', models.UUIDField(blank=True, editable=False, null=True)),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='app_states', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'client'), name='app_state_per_client')],
            },
        ),
        migrations.CreateModel(
            name='Clearing',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('epoch', models.PositiveBigIntegerField()),
                ('opening_step', models.CharField(blank=True, max_length=64)),
                ('message_count', models.PositiveIntegerField(default=0)),
                ('size_bytes', models.PositiveBigIntegerField(default=0)),
                ('cleared_at', models.DateTimeField(default=sessions_app.models.times.now)),
                ('undone_at', models.DateTimeField(blank=True, null=True)),
                ('purged_at', models.DateTimeField(blank=True, null=True)),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='clearings', to='sessions_app.chatsession')),
                ('filed_under', models.PositiveBigIntegerField(editable=False, null=True)),
                ('head', models.CharField(editable=False, max_length=64, null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('session', 'epoch'), name='cleared_once')],
            },
        ),
        migrations.CreateModel(
            name='ConflictCopy',
            fields=[
                ('message_id', models.CharField(max_length=64)),
                ('role', models.CharField(help_text='As its format names it.', max_length=9)),
                ('text', models.TextField(blank=True)),
                ('parts', models.TextField(blank=True, null=True)),
                ('metadata', models.TextField(blank=True, null=True)),
                ('format', models.CharField(blank=True, max_length=32, null=True)),
                ('raw', models.TextField(blank=True, null=True)),
                ('parent_id', models.CharField(blank=True, max_length=64, null=True)),
                ('status', models.CharField(choices=[('streaming', 'Streaming'), ('complete', 'Complete'), ('interrupted', 'Interrupted')], default='complete', max_length=11)),
                ('writer_id', models.CharField(blank=True, max_length=64, null=True)),
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('epoch', models.PositiveBigIntegerField()),
                ('reason', models.CharField(choices=[('conflict', 'Conflict'), ('stale_epoch', 'Stale Epoch'), ('removed', 'Removed')], max_length=11)),
                ('created_at', models.DateTimeField(default=sessions_app.models.times.now)),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('session', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='conflict_copies', to='sessions_app.chatsession')),
                ('flagged', models.TextField(blank=True, help_text='How many secrets of which kind were found in it, as JSON.', null=True)),
            ],
            options={
                'verbose_name_plural': 'conflict copies',
                'indexes': [models.Index(fields=['session', 'message_id'], name='copy_of_message'), models.Index(condition=models.Q(('settled_at', None)), fields=['session', 'created_at', 'id'], name='copy_to_settle')],
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('event_seq', models.PositiveBigIntegerField()),
                ('type', models.CharField(max_length=32)),
                ('session_id', models.UUIDField(blank=True, null=True)),
                ('frame', models.TextField(help_text='The event as JSON, as it is pushed.')),
                ('at', models.DateTimeField(db_index=True, default=sessions_app.models.times.now)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='events', to='sessions_app.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('project', 'event_seq'), name='event_once')],
            },
        ),
        migrations.CreateModel(
            name='Message',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('message_id', models.CharField(max_length=64)),
                ('role', models.CharField(help_text='As its format names it.', max_length=9)),
                ('text', models.TextField(blank=True)),
                ('parts', models.TextField(blank=True, null=True)),
                ('metadata', models.TextField(blank=True, null=True)),
                ('format', models.CharField(blank=True, max_length=32, null=True)),
                ('raw', models.TextField(blank=True, null=True)),
                ('parent_id', models.CharField(blank=True, max_length=64, null=True)),
                ('status', models.CharField(choices=[('streaming', 'Streaming'), ('complete', 'Complete'), ('interrupted', 'Interrupted')], default='complete', max_length=11)),
                ('writer_id', models.CharField(blank=True, max_length=64, null=True)),
                ('epoch', models.PositiveBigIntegerField()),
                ('position', models.PositiveBigIntegerField()),
                ('ver', models.PositiveBigIntegerField(default=1)),
                ('rev', models.PositiveBigIntegerField()),
                ('writer_seq', models.PositiveBigIntegerField(default=0)),
                ('size_bytes', models.PositiveBigIntegerField(default=0)),
                ('removed', models.CharField(blank=True, choices=[('', 'live'), ('deleted', 'Deleted'), ('truncated', 'Truncated'), ('replaced', 'Replaced'), ('dropped', 'Dropped')], default='', max_length=9)),
                ('created_at', models.DateTimeField(default=sessions_app.models.times.now)),
                ('updated_at', models.DateTimeField(default=sessions_app.models.times.now)),
                ('session', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='sessions_app.chatsession')),
                ('flagged', models.TextField(blank=True, help_text='How many secrets of which kind were found in it, as JSON.', null=True)),
                ('words_due', models.BooleanField(editable=False, null=True)),
                ('aside', models.BooleanField(editable=False, null=True)),
                ('under', models.CharField(editable=False, max_length=64, null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['session', 'rev'], name='message_changes'), models.Index(condition=models.Q(('removed', ''), _negated=True), fields=['updated_at'], name='message_taken_out'), models.Index(condition=models.Q(('removed', ''), _negated=True), fields=['session', 'size_bytes'], name='message_removed_bytes'), models.Index(condition=models.Q(('words_due', True)), fields=['id'], name='message_words_due'), models.Index(condition=models.Q(('aside', None), ('removed', '')), fields=['session', 'epoch', 'position'], name='message_path'), models.Index(condition=models.Q(('aside__isnull', False), ('removed', '')), fields=['session', 'epoch', 'position'], name='message_aside'), models.Index(condition=models.Q(('under__isnull', False)), fields=['session', 'epoch', 'under', 'position'], name='message_children'), models.Index(condition=models.Q(('under__isnull', False)), fields=['session', 'epoch', 'parent_id'], name='message_awaited'), models.Index(condition=models.Q(('removed', ''), _negated=True), fields=['session', 'epoch', 'position', 'rev'], name='message_removed_place')],
                'constraints': [models.UniqueConstraint(fields=('session', 'epoch', 'message_id'), name='message_id_unique_in_epoch')],
            },
        ),
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
            name='FlushToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token_sha256', models.CharField(editable=False, max_length=64, unique=True)),
                ('expires_at', models.DateTimeField(db_index=True)),
                ('key', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='sessions_app.apikey')),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='sessions_app.chatsession')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('session_key', models.CharField(editable=False, max_length=40, null=True)),
                ('password_mark', models.CharField(editable=False, max_length=64, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Handoff',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('content', models.TextField(default='{}', help_text='A JSON object: decisions, files, risks, summary.')),
                ('rev', models.PositiveBigIntegerField(default=0, editable=False)),
                ('last_number', models.PositiveIntegerField(default=0, editable=False)),
                ('frozen_at', models.DateTimeField(blank=True, null=True)),
                ('updated_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('project', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='handoff', to='sessions_app.project')),
            ],
        ),
        migrations.CreateModel(
            name='HandoffSnapshot',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField()),
                ('payload', models.TextField(help_text='Sorted compact JSON, whose bytes `sha256` is of.')),
                ('sha256', models.CharField(max_length=64)),
                ('session_id', models.UUIDField(blank=True, null=True)),
                ('session_rev', models.PositiveBigIntegerField(blank=True, null=True)),
                ('author', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='snapshots', to='sessions_app.project')),
            ],
            options={
                'ordering': ('-number',),
                'constraints': [models.UniqueConstraint(fields=('project', 'number'), name='snapshot_once')],
            },
        ),
        migrations.CreateModel(
            name='ImportJob',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('only_project', models.UUIDField(blank=True, null=True)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('publishing', 'Publishing'), ('done', 'Done'), ('removing', 'Removing'), ('failed', 'Failed'), ('stopped', 'Stopped'), ('undone', 'Undone')], default='queued', max_length=10)),
                ('then', models.CharField(blank=True, choices=[('queued', 'Queued'), ('running', 'Running'), ('publishing', 'Publishing'), ('done', 'Done'), ('removing', 'Removing'), ('failed', 'Failed'), ('stopped', 'Stopped'), ('undone', 'Undone')], max_length=10)),
                ('dry_run', models.BooleanField(default=False)),
                ('has_file', models.BooleanField(default=False)),
                ('size_bytes', models.PositiveBigIntegerField(default=0)),
                ('sha256', models.CharField(blank=True, max_length=64)),
                ('place', models.JSONField(blank=True, default=dict)),
                ('counts', models.JSONField(blank=True, default=dict)),
                ('left_out', models.JSONField(blank=True, default=list)),
                ('error', models.JSONField(blank=True, null=True)),
                ('heartbeat_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('published_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='imports', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-created_at', 'id'),
                'indexes': [models.Index(models.F('user'), models.OrderBy(models.F('created_at'), descending=True), name='import_browse')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ('running', 'publishing', 'removing'))), fields=('user',), name='one_import_at_once')],
            },
        ),
        migrations.CreateModel(
            name='Login',
            fields=[
                ('session_key', models.CharField(max_length=40, primary_key=True, serialize=False, verbose_name='session key')),
                ('session_data', models.TextField(verbose_name='session data')),
                ('expire_date', models.DateTimeField(db_index=True, verbose_name='expire date')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='logins', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'login',
                'verbose_name_plural': 'logins',
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='PendingAction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('action_id', models.CharField(max_length=64)),
                ('content', models.TextField(help_text='The action as JSON, as it was asked.')),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('resolution', models.TextField(blank=True, help_text='The answer as JSON; NULL: none yet.', null=True)),
                ('created_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pending_actions', to='sessions_app.chatsession')),
            ],
            options={
                'indexes': [models.Index(models.F('session'), condition=models.Q(('resolution', None)), name='action_open')],
                'constraints': [models.UniqueConstraint(fields=('session', 'action_id'), name='action_once')],
            },
        ),
        migrations.CreateModel(
            name='Purge',
            fields=[
                ('project_id', models.UUIDField(primary_key=True, serialize=False)),
            ],
        ),
        migrations.CreateModel(
            name='SaveReceipt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('writer_id', models.CharField(max_length=64)),
                ('seq', models.PositiveBigIntegerField()),
                ('body_sha256', models.CharField(max_length=64)),
                ('status', models.PositiveSmallIntegerField()),
                ('answer', models.TextField()),
                ('created_at', models.DateTimeField(db_index=True, default=sessions_app.models.times.now)),
                ('session', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='receipts', to='sessions_app.chatsession')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('session', 'writer_id', 'seq'), name='receipt_once')],
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
        migrations.CreateModel(
            name='SignInLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token_sha256', models.CharField(editable=False, max_length=64, unique=True)),
                ('created_at', models.DateTimeField(default=sessions_app.models.times.now, editable=False)),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sign_in_links', to=settings.AUTH_USER_MODEL)),
                ('password_mark', models.CharField(default='', editable=False, max_length=64)),
            ],
            options={
                'ordering': ('-created_at',),
            },
        ),
        migrations.CreateModel(
            name='SocketTicket',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token_sha256', models.CharField(editable=False, max_length=64, unique=True)),
                ('expires_at', models.DateTimeField(db_index=True)),
                ('key', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='sessions_app.apikey')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('session_key', models.CharField(default='', editable=False, max_length=40)),
                ('password_mark', models.CharField(editable=False, max_length=64, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Store',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('incarnation', models.PositiveBigIntegerField(default=1)),
            ],
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
        migrations.AddField(
            model_name='project',
            name='current_session',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='sessions_app.chatsession'),
        ),
        migrations.RunPython(by_hand),
    ]
