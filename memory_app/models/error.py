import uuid
from datetime import datetime, timedelta

from django.db import models

from sessions_app.core.public_names import now

KIND_LENGTH = 200
PLACE_LENGTH = 300
FINGERPRINT_LENGTH = 32
# What other programs still read as a whole number.
LAST_LINE = 2**53
# An error not seen for this long is erased.
KEPT_FOR = timedelta(days=30)
# Per project; above this, the errors unseen for the longest are erased.
KEPT = 500


class ErrorQuerySet(models.QuerySet["ErrorReport"]):
    def expired_at(self, moment: datetime) -> "ErrorQuerySet":
        return self.filter(last_seen__lte=moment - KEPT_FOR)

    def kept_at(self, moment: datetime) -> "ErrorQuerySet":
        return self.filter(last_seen__gt=moment - KEPT_FOR)

    def audible_at(self, moment: datetime) -> "ErrorQuerySet":
        """Those that are not muted."""
        return self.filter(models.Q(muted_until=None) | models.Q(muted_until__lte=moment))

    def open_at(self, moment: datetime) -> "ErrorQuerySet":
        return self.filter(resolved_at=None).audible_at(moment)

    def muted_at(self, moment: datetime) -> "ErrorQuerySet":
        return self.filter(resolved_at=None, muted_until__gt=moment)


class ErrorReport(models.Model):
    """One error of a project, however often it happened: its latest details, and how often and when it was seen."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("sessions_app.Project", on_delete=models.CASCADE, related_name="error_reports")
    fingerprint = models.CharField(max_length=FINGERPRINT_LENGTH)
    message = models.TextField(blank=True)
    kind = models.CharField(max_length=KIND_LENGTH, blank=True)
    # The top frame, as far as it is known.
    file = models.CharField(max_length=PLACE_LENGTH, blank=True)
    function = models.CharField(max_length=PLACE_LENGTH, blank=True)
    line = models.PositiveBigIntegerField(null=True, blank=True)
    stack = models.TextField(help_text="As it came, as JSON: a text, a list of frames, or null.")
    count = models.PositiveBigIntegerField()
    days = models.TextField(default="{}", help_text="How often on which of the last days, as JSON.")
    first_seen = models.DateTimeField(default=now)
    last_seen = models.DateTimeField(default=now)
    resolved_at = models.DateTimeField(null=True, blank=True)
    # When it was last seen again after it had been resolved.
    reopened_at = models.DateTimeField(null=True, blank=True)
    known_fix = models.TextField(blank=True)
    # Until then it is not counted as open; null: it is not muted.
    muted_until = models.DateTimeField(null=True, blank=True)
    # The mute ends at this count; null: only with its time.
    muted_count = models.PositiveBigIntegerField(null=True, blank=True)
    # What similar errors have in common (see `fingerprints.alike`); empty: it says too little.
    alike_place = models.CharField(max_length=FINGERPRINT_LENGTH, blank=True, default="")
    alike_message = models.CharField(max_length=FINGERPRINT_LENGTH, blank=True, default="")

    objects = ErrorQuerySet.as_manager()

    class Meta:
        ordering = ("-last_seen", "id")
        constraints = [models.UniqueConstraint(fields=["project", "fingerprint"], name="error_once")]
        indexes = [
            models.Index("project", models.F("last_seen").desc(), "id", name="error_browse"),
            # Open errors are counted from the index alone.
            models.Index("project", "last_seen", "muted_until", condition=models.Q(resolved_at=None), name="error_open"),
            # The known fixes of similar errors.
            models.Index("project", "alike_place", name="error_alike_place"),
            models.Index("project", "alike_message", name="error_alike_message"),
            # For the pruning, which searches all projects.
            models.Index("last_seen", name="error_age"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.message[:80]}" if self.kind else self.message[:80]

    def is_muted(self, moment: datetime) -> bool:
        return self.resolved_at is None and self.muted_until is not None and self.muted_until > moment
