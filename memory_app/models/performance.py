from django.db import models

from sessions_app.core.public_names import now

ENDPOINT_LENGTH = 200
# Above these, the endpoints unseen for the longest and an endpoint's oldest runs are erased.
ENDPOINTS, RUNS = 500, 10
# Shorter durations are not distinguished.
SHORTEST_MS = 0.1


class EndpointTiming(models.Model):
    """How long one endpoint took in one run: a histogram, and figures derived from it."""

    project = models.ForeignKey("sessions_app.Project", on_delete=models.CASCADE, related_name="endpoint_timings")
    endpoint = models.CharField(max_length=ENDPOINT_LENGTH)
    # A number, not a foreign key: timings outlive the run's row.
    run = models.PositiveIntegerField(help_text="The project's n-th run.")
    histogram = models.TextField(help_text="Pairs of a bucket and its count, as JSON.")
    count = models.PositiveBigIntegerField()
    total_ms = models.FloatField()
    min_ms = models.FloatField()
    max_ms = models.FloatField()
    p50_ms = models.FloatField()
    p95_ms = models.FloatField()
    # Over all kept earlier runs, as of this run's first measurement; null: there were none.
    earlier_p95_ms = models.FloatField(null=True, blank=True)
    degraded = models.BooleanField(default=False)
    newest = models.BooleanField(default=True, help_text="No later run measured this endpoint.")
    first_at = models.DateTimeField(default=now)
    last_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ("endpoint", "-run")
        constraints = [models.UniqueConstraint(fields=["project", "endpoint", "run"], name="endpoint_once_a_run")]
        indexes = [models.Index("project", "endpoint", condition=models.Q(newest=True), name="endpoint_newest")]

    def __str__(self) -> str:
        return f"{self.endpoint} in run {self.run}"

    @property
    def slowdown(self) -> float | None:
        """The p95 as a multiple of the earlier runs' p95; None without earlier runs."""
        if self.earlier_p95_ms is None:
            return None
        # Clocks with millisecond resolution measure zeros.
        return max(self.p95_ms, SHORTEST_MS) / max(self.earlier_p95_ms, SHORTEST_MS)
