from django.db import models

from memory_app.models.error import ErrorReport
from sessions_app.core.public_names import MESSAGE_ID_LENGTH

# Of one error on one day; what happens in further runs is counted without its run.
RUNS_A_DAY = 20
NO_RUN = 0


class ErrorDay(models.Model):
    """How often one error was seen on one day in one run, and where in the chats it was seen last."""

    error = models.ForeignKey(ErrorReport, on_delete=models.CASCADE, related_name="seen_on")
    day = models.DateField(help_text="In UTC.")
    # A number, not a foreign key: the counts outlive the run's row.
    run = models.PositiveIntegerField(default=NO_RUN, help_text="The project's n-th run; 0: reported without a run.")
    count = models.PositiveBigIntegerField()
    # Null: counted before the times were stored.
    last_at = models.DateTimeField(null=True, blank=True)
    # An id, not a foreign key: the session may be erased, or move to another project.
    session_id = models.UUIDField(null=True, blank=True)
    message_id = models.CharField(max_length=MESSAGE_ID_LENGTH, blank=True)

    class Meta:
        ordering = ("-day", "-run")
        constraints = [models.UniqueConstraint(fields=["error", "day", "run"], name="error_day_once_a_run")]
        # For the pruning, which searches all projects.
        indexes = [models.Index("day", name="error_day_age")]

    def __str__(self) -> str:
        return f"{self.count} on {self.day}"
