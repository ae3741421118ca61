"""Files that messages refer to as `sha256:…`. Their content is in the file storage (`chats/files/`)."""

from django.conf import settings
from django.db import models

from sessions_app.models.times import now

SHA256_LENGTH = 64
NAME_LENGTH = 255
MEDIA_TYPE_LENGTH = 127
KEY_LENGTH = 200


class StoredFile(models.Model):
    """One content of one account, however often it was uploaded."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="files", db_index=False)
    sha256 = models.CharField(max_length=SHA256_LENGTH)
    name = models.CharField(max_length=NAME_LENGTH, help_text="As it was first uploaded.")
    media_type = models.CharField(max_length=MEDIA_TYPE_LENGTH)
    size_bytes = models.PositiveBigIntegerField()
    # Where the storage has the content. No other row ever has the same key, so that deleting the content of a row that is
    # gone cannot hit a new upload of the same content.
    key = models.CharField(max_length=KEY_LENGTH, unique=True, editable=False)
    created_at = models.DateTimeField(default=now, editable=False)
    # The last upload: a file without references is kept for some time after it.
    uploaded_at = models.DateTimeField(default=now, editable=False, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "sha256"], name="file_once_per_account")]
        # For the database's triggers, which ask whether there is such a file.
        indexes = [models.Index(fields=["sha256"], name="file_by_sha256")]

    def __str__(self) -> str:
        return self.name


class SessionFile(models.Model):
    """A session into which a file was uploaded, and its name there. It keeps no file alive."""

    session = models.ForeignKey("sessions_app.ChatSession", on_delete=models.CASCADE, related_name="files", db_index=False)
    sha256 = models.CharField(max_length=SHA256_LENGTH)
    name = models.CharField(max_length=NAME_LENGTH)
    created_at = models.DateTimeField(default=now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "sha256"], name="session_file_once")]
        indexes = [models.Index(fields=["sha256"], name="session_file_by_sha256")]

    def __str__(self) -> str:
        return self.name


class FileReference(models.Model):
    """A message or a conflict copy whose content names a stored file. Only the database's triggers write this table.

    Triggers, because messages are written in many ways (saves, imports, forks, transfers, restores, pruning), and because a
    message that names no file then costs no statement.
    """

    session = models.ForeignKey(
        "sessions_app.ChatSession", on_delete=models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False
    )
    message = models.ForeignKey(
        "sessions_app.Message", null=True, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False
    )
    copy = models.ForeignKey(
        "sessions_app.ConflictCopy", null=True, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False
    )
    sha256 = models.CharField(max_length=SHA256_LENGTH)

    class Meta:
        indexes = [
            models.Index(fields=["session", "sha256"], name="file_reference_session"),
            models.Index(fields=["sha256"], name="file_reference_sha256"),
        ]

    def __str__(self) -> str:
        return self.sha256
