"""The state of graphs: threads of checkpoints. Texts that keys consist of are limited in UTF-8 bytes: PostgreSQL's indexes take
no more than 2,700 of one row."""

from django.db import models

from sessions_app.core.public_names import now

THREAD_BYTES, NS_BYTES, CHANNEL_BYTES = 1_000, 1_000, 500
# Of a checkpoint, a task, a run, a channel's version, and the name of a serialization.
ID_BYTES, TYPE_BYTES, PATH_BYTES = 255, 64, 2_000
METADATA_BYTES = 65_536


class GraphThread(models.Model):
    """One thread of a project's graphs. Every write to the thread locks its row first."""

    project = models.ForeignKey("sessions_app.Project", on_delete=models.CASCADE, related_name="graph_threads")
    name = models.CharField(max_length=THREAD_BYTES)
    size_bytes = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(default=now)
    updated_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="graph_thread_once")]

    def __str__(self) -> str:
        return self.name

    @property
    def label(self) -> str:
        """What a page calls it: a name of nothing but blanks would be a link that nobody sees."""
        is_seen = any(character.isprintable() and not character.isspace() for character in self.name)
        return self.name if is_seen else "Thread without a name"


class Checkpoint(models.Model):
    """The state of a thread at one moment, without the values of its channels."""

    thread = models.ForeignKey(GraphThread, on_delete=models.CASCADE, related_name="checkpoints")
    ns = models.CharField(max_length=NS_BYTES, blank=True)
    checkpoint_id = models.CharField(max_length=ID_BYTES)
    parent_id = models.CharField(max_length=ID_BYTES, blank=True)
    # From the metadata, so that a run's checkpoints can be found.
    run_id = models.CharField(max_length=ID_BYTES, blank=True)
    created_at = models.DateTimeField(default=now)
    size_bytes = models.PositiveBigIntegerField()
    state_bytes = models.PositiveBigIntegerField(help_text="With the values that it refers to.")
    metadata = models.TextField(help_text="An object as JSON.")
    versions = models.TextField(help_text="Which version of which channel belongs to it, as JSON.")
    type = models.CharField(max_length=TYPE_BYTES)
    data = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["thread", "ns", "checkpoint_id"], name="checkpoint_once")]
        indexes = [
            models.Index("thread", "checkpoint_id", "ns", name="checkpoint_browse"),
            models.Index("run_id", condition=~models.Q(run_id=""), name="checkpoint_run"),
        ]

    def __str__(self) -> str:
        return f"{self.ns}/{self.checkpoint_id}" if self.ns else self.checkpoint_id


class ChannelValue(models.Model):
    """One version of a channel's value. It never changes, and every checkpoint that has this version refers to it."""

    thread = models.ForeignKey(GraphThread, on_delete=models.CASCADE, related_name="channel_values")
    ns = models.CharField(max_length=NS_BYTES, blank=True)
    channel = models.CharField(max_length=CHANNEL_BYTES)
    version = models.CharField(max_length=ID_BYTES)
    size_bytes = models.PositiveBigIntegerField()
    type = models.CharField(max_length=TYPE_BYTES)
    data = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["thread", "ns", "channel", "version"], name="channel_version_once")]

    def __str__(self) -> str:
        return f"{self.channel} {self.version}"


class PendingWrite(models.Model):
    """What a task wrote after a checkpoint; it may be stored before that checkpoint is."""

    thread = models.ForeignKey(GraphThread, on_delete=models.CASCADE, related_name="pending_writes")
    ns = models.CharField(max_length=NS_BYTES, blank=True)
    checkpoint_id = models.CharField(max_length=ID_BYTES)
    task_id = models.CharField(max_length=ID_BYTES)
    # Negative numbers are special writes, such as an interrupt: they are replaced.
    idx = models.IntegerField()
    task_path = models.CharField(max_length=PATH_BYTES, blank=True)
    channel = models.CharField(max_length=CHANNEL_BYTES)
    size_bytes = models.PositiveBigIntegerField()
    type = models.CharField(max_length=TYPE_BYTES)
    data = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["thread", "ns", "checkpoint_id", "task_id", "idx"], name="pending_write_once")
        ]

    def __str__(self) -> str:
        return f"{self.task_id} {self.idx}"
