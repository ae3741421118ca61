"""Which clients connected, and which tools they called. No arguments and no answers are stored."""

from django.conf import settings
from django.db import models

NAME_LENGTH, VERSION_LENGTH, AGENT_LENGTH, TOOL_LENGTH, CODE_LENGTH = 100, 50, 200, 64, 64


class AgentClient(models.Model):
    """A client as it names itself, with one key in one project. `mark` is a hash of all that identifies it.

    `project`: null if the connection names none that exists. `key`: null for a process on the store itself.
    """

    mark = models.CharField(max_length=64, unique=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    project = models.ForeignKey("sessions_app.Project", null=True, on_delete=models.CASCADE, related_name="+")
    key = models.ForeignKey("sessions_app.ApiKey", null=True, on_delete=models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=NAME_LENGTH)
    version = models.CharField(max_length=VERSION_LENGTH, blank=True)
    user_agent = models.CharField(max_length=AGENT_LENGTH, blank=True)
    last_seen_at = models.DateTimeField()

    class Meta:
        ordering = ("-last_seen_at", "id")
        indexes = [models.Index("key", models.F("last_seen_at").desc(), name="agent_client_of_key")]

    def __str__(self) -> str:
        return f"{self.name} {self.version}".rstrip()


class ToolCall(models.Model):
    """One call of a tool. `code`: of the refusal; empty: it was done."""

    project = models.ForeignKey("sessions_app.Project", on_delete=models.CASCADE, related_name="+", db_index=False)
    at = models.DateTimeField(db_index=True)
    client = models.CharField(max_length=NAME_LENGTH + VERSION_LENGTH + 1, blank=True)
    tool = models.CharField(max_length=TOOL_LENGTH)
    code = models.CharField(max_length=CODE_LENGTH, blank=True)
    duration_ms = models.FloatField()

    class Meta:
        ordering = ("-id",)
        indexes = [models.Index("project", models.F("id").desc(), name="tool_call_of_project")]

    def __str__(self) -> str:
        return f"{self.tool} {self.code}".rstrip()
