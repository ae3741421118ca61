from django.conf import settings
from django.db import models

from sessions_app.models.project import PATH_LENGTH
from sessions_app.models.times import now

CLIENT_LENGTH = 64
PHASE_LENGTH = 64
FIRST_PHASE = "plan"
RECENT_PROJECTS = 10


class AppState(models.Model):
    """Per-client UI state of a user in one frontend: the selected project, the phase, the recent projects."""

    # None: staged by an unpublished import.
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="app_states")
    client = models.CharField(max_length=CLIENT_LENGTH)
    selected_project = models.CharField(max_length=PATH_LENGTH, null=True, blank=True)
    active_phase = models.CharField(max_length=PHASE_LENGTH, default=FIRST_PHASE)
    recent_projects = models.JSONField(default=list, blank=True)
    rev = models.PositiveBigIntegerField(default=0, editable=False)
    updated_at = models.DateTimeField(default=now, editable=False)
    # The import that created it.
    import_id = models.UUIDField(null=True, blank=True, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "client"], name="app_state_per_client")]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.client}"
