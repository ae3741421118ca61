from django.conf import settings
from django.db import models


class FlushToken(models.Model):
    """Lets a closing page write to one session for at most a day; it can read nothing."""

    token_sha256 = models.CharField(max_length=64, unique=True, editable=False)
    session = models.ForeignKey("sessions_app.ChatSession", on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.ForeignKey("sessions_app.ApiKey", null=True, on_delete=models.CASCADE, related_name="+")
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"flush token of {self.session_id}"
