"""Messages, conflict copies (refused text that was kept), and stored answers to saves (receipts)."""

import uuid

from django.db import models

from sessions_app.models.times import now

MESSAGE_ID_LENGTH = 64
WRITER_ID_LENGTH = 64
FORMAT_LENGTH = 32
TEXT_LENGTH = 100_000
EXTRA_BYTES = 1_000_000
# A streaming message without a write for this long reads as interrupted.
STREAMING_SECONDS = 60
# Added to the stored `writer_seq` of a message whose last write was a patch; a request's `seq` is below it.
PATCHED = 2**53


class Role(models.TextChoices):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


# Of messages without a format.
PLAIN_ROLES = frozenset({Role.USER.value, Role.ASSISTANT.value})
# What formats call these roles otherwise.
ROLE_NAMES = {
    "human": Role.USER,
    "ai": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "developer": Role.SYSTEM,
    "function": Role.TOOL,
}
ROLES = frozenset(Role.values) | ROLE_NAMES.keys()


def common_role(name: str) -> str:
    """user, assistant, system or tool, however a format calls it."""
    return ROLE_NAMES.get(name, name)


def names_of_role(role: Role) -> list[str]:
    """What formats call it."""
    return [role.value, *(name for name, common in ROLE_NAMES.items() if common == role)]


class Status(models.TextChoices):
    STREAMING = "streaming"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"


class Removal(models.TextChoices):
    """Why a message is out of the live window of its epoch."""

    NONE = "", "live"
    DELETED = "deleted"
    TRUNCATED = "truncated"
    REPLACED = "replaced"
    DROPPED = "dropped"


class Content(models.Model):
    """Content sent by a client. The JSON fields are text, returned unchanged; None = was absent."""

    message_id = models.CharField(max_length=MESSAGE_ID_LENGTH)
    role = models.CharField(max_length=9, help_text="As its format names it.")
    text = models.TextField(blank=True)
    parts = models.TextField(null=True, blank=True)
    metadata = models.TextField(null=True, blank=True)
    format = models.CharField(max_length=FORMAT_LENGTH, null=True, blank=True)
    raw = models.TextField(null=True, blank=True)
    parent_id = models.CharField(max_length=MESSAGE_ID_LENGTH, null=True, blank=True)
    status = models.CharField(max_length=11, choices=Status, default=Status.COMPLETE)
    writer_id = models.CharField(max_length=WRITER_ID_LENGTH, null=True, blank=True)
    flagged = models.TextField(null=True, blank=True, help_text="How many secrets of which kind were found in it, as JSON.")

    class Meta:
        abstract = True


class Message(Content):
    """A message of one epoch of a session, live or tombstoned (`removed`)."""

    # Other indexes begin with it, here and below: one of its own would only cost each save a write.
    session = models.ForeignKey("sessions_app.ChatSession", on_delete=models.CASCADE, related_name="messages", db_index=False)
    epoch = models.PositiveBigIntegerField()
    position = models.PositiveBigIntegerField()
    ver = models.PositiveBigIntegerField(default=1)
    rev = models.PositiveBigIntegerField()
    writer_seq = models.PositiveBigIntegerField(default=0)
    size_bytes = models.PositiveBigIntegerField(default=0)
    removed = models.CharField(max_length=9, choices=Removal, default=Removal.NONE, blank=True)
    # On PostgreSQL: not in the trigram index yet (see chats/search/index_update.py). None: it is indexed, or never had to
    # wait.
    words_due = models.BooleanField(null=True, editable=False)
    # In a session with branches: the id of the live message that it follows; '' = none, it begins a branch. NULL: it follows
    # the message before it, and is on the path to every head (see chats/branches/tree.py).
    under = models.CharField(max_length=MESSAGE_ID_LENGTH, null=True, editable=False)
    # Live, but not on the path to the session's head. NULL: on the path, as every message of a session without branches.
    aside = models.BooleanField(null=True, editable=False)
    created_at = models.DateTimeField(default=now)
    updated_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "epoch", "message_id"], name="message_id_unique_in_epoch"),
        ]
        indexes = [
            models.Index(
                fields=["session", "epoch", "position"], name="message_path", condition=models.Q(removed="", aside=None)
            ),
            # These three hold only messages of sessions with branches.
            models.Index(
                fields=["session", "epoch", "position"],
                name="message_aside",
                condition=models.Q(removed="", aside__isnull=False),
            ),
            models.Index(
                fields=["session", "epoch", "under", "position"], name="message_children", condition=models.Q(under__isnull=False)
            ),
            models.Index(
                fields=["session", "epoch", "parent_id"], name="message_awaited", condition=models.Q(under__isnull=False)
            ),
            models.Index(fields=["session", "rev"], name="message_changes"),
            # For pruning, which must not read every message to find the few removed ones.
            models.Index(fields=["updated_at"], name="message_taken_out", condition=~models.Q(removed="")),
            # An account's usage sums removed messages from the index alone.
            models.Index(fields=["session", "size_bytes"], name="message_removed_bytes", condition=~models.Q(removed="")),
            # For the history of a session: what was removed after a rev, by its place. Only what removes a message writes it.
            models.Index(
                fields=["session", "epoch", "position", "rev"], name="message_removed_place", condition=~models.Q(removed="")
            ),
            models.Index(fields=["id"], name="message_words_due", condition=models.Q(words_due=True)),
        ]

    def __str__(self) -> str:
        return self.message_id


class ConflictCopy(Content):
    """Text that could not be saved where it was sent, kept until a person settles it."""

    class Reason(models.TextChoices):
        CONFLICT = "conflict"
        STALE_EPOCH = "stale_epoch"
        REMOVED = "removed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey(
        "sessions_app.ChatSession", on_delete=models.CASCADE, related_name="conflict_copies", db_index=False
    )
    epoch = models.PositiveBigIntegerField()
    reason = models.CharField(max_length=11, choices=Reason)
    created_at = models.DateTimeField(default=now)
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "conflict copies"
        indexes = [
            models.Index(fields=["session", "message_id"], name="copy_of_message"),
            models.Index(fields=["session", "created_at", "id"], name="copy_to_settle", condition=models.Q(settled_at=None)),
        ]

    def __str__(self) -> str:
        return f"{self.message_id} ({self.reason})"


class SaveReceipt(models.Model):
    """The stored answer to one request of one writer, returned unchanged to a retry."""

    session = models.ForeignKey("sessions_app.ChatSession", on_delete=models.CASCADE, related_name="receipts", db_index=False)
    writer_id = models.CharField(max_length=WRITER_ID_LENGTH)
    seq = models.PositiveBigIntegerField()
    body_sha256 = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    answer = models.TextField()
    created_at = models.DateTimeField(default=now, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "writer_id", "seq"], name="receipt_once")]

    def __str__(self) -> str:
        return f"{self.writer_id} {self.seq}"
