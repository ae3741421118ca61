"""Agent data besides the messages: the agent's state, its questions to a person, and each AI's working state."""

from django.db import models
from django.db.models.functions import StrIndex
from django.db.models.lookups import GreaterThan

from sessions_app.models.times import now

STATE_ID_LENGTH = 64
HISTORY_LENGTH = 50
NOTES_LENGTH = 100_000
MOST_TODOS = 5_000
# An agent's state can be as large as a request, so few old versions are kept.
OVERWRITTEN_KEPT = 10
# Of an agent state's content.
NAMES_ERROR = GreaterThan(StrIndex("content", models.Value('"last_error":')), 0)


class AgentState(models.Model):
    """One for each session. A deleted one keeps its row, so that its numbers are never reused."""

    session = models.OneToOneField("sessions_app.ChatSession", on_delete=models.CASCADE, related_name="agent_state")
    content = models.TextField(null=True, blank=True, help_text="A JSON object of the fields that were saved; NULL: deleted.")
    rev = models.PositiveBigIntegerField(default=0, editable=False)
    saved_at = models.DateTimeField(default=now, editable=False)

    class Meta:
        # Lists find the few sessions whose state names an error. An object's field, or a text that looks like it.
        indexes = [models.Index("session", name="agent_state_with_error", condition=models.Q(NAMES_ERROR))]

    def __str__(self) -> str:
        return f"agent state of {self.session_id}, rev {self.rev}"


class AgentStateVersion(models.Model):
    """A version that was deleted, or overwritten by a save, a transfer or a restore; the newest few are kept."""

    state = models.ForeignKey(AgentState, on_delete=models.CASCADE, related_name="versions")
    rev = models.PositiveBigIntegerField()
    content = models.TextField()
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["state", "rev"], name="agent_state_version_once")]

    def __str__(self) -> str:
        return f"{self.state_id} rev {self.rev}"


class PendingAction(models.Model):
    """An agent's question to a person, and its one answer. It outlives the agent state, for the agent that waits."""

    session = models.ForeignKey("sessions_app.ChatSession", on_delete=models.CASCADE, related_name="pending_actions")
    action_id = models.CharField(max_length=STATE_ID_LENGTH)
    content = models.TextField(help_text="The action as JSON, as it was asked.")
    expires_at = models.DateTimeField(null=True, blank=True)
    resolution = models.TextField(null=True, blank=True, help_text="The answer as JSON; NULL: none yet.")
    created_at = models.DateTimeField(default=now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "action_id"], name="action_once")]
        indexes = [models.Index("session", name="action_open", condition=models.Q(resolution=None))]

    def __str__(self) -> str:
        return self.action_id


class AiState(models.Model):
    """One AI's todos, notes and summary in one session. A deleted one keeps its row and its history."""

    session = models.ForeignKey("sessions_app.ChatSession", on_delete=models.CASCADE, related_name="ai_states")
    ai_id = models.CharField(max_length=STATE_ID_LENGTH)
    content = models.TextField(null=True, blank=True, help_text="A JSON object of the fields that were saved; NULL: deleted.")
    rev = models.PositiveBigIntegerField(default=0, editable=False)
    updated_at = models.DateTimeField(default=now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "ai_id"], name="ai_state_once")]
        indexes = [models.Index("ai_id", "session", name="ai_state_by_ai")]

    def __str__(self) -> str:
        return f"{self.ai_id} in {self.session_id}"


class AiStateVersion(models.Model):
    """One saved version of an AI state; the newest 50 are kept."""

    state = models.ForeignKey(AiState, on_delete=models.CASCADE, related_name="versions")
    rev = models.PositiveBigIntegerField()
    content = models.TextField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["state", "rev"], name="ai_state_version_once")]

    def __str__(self) -> str:
        return f"{self.state_id} rev {self.rev}"
