from django.db import models

RULE_ID_LENGTH = 128


class FilteredCount(models.Model):
    """How many errors a project's noise rule has filtered in its lifetime."""

    project = models.ForeignKey("sessions_app.Project", on_delete=models.CASCADE, related_name="filtered_counts")
    rule_id = models.CharField(max_length=RULE_ID_LENGTH)
    count = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "rule_id"], name="filtered_count_once")]

    def __str__(self) -> str:
        return f"{self.rule_id}: {self.count}"
