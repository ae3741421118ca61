import uuid
from collections.abc import Iterable

from django.db import models

from memory_app.models.entry import PLACE_BYTES, VERSIONS

# Ten years: a time beyond which an expiry is meant as none, and which dates can hold.
MOST_MINUTES = 10 * 366 * 24 * 60


class NamespaceSettings(models.Model):
    """How entries of a namespace, and of all beneath it, are kept. The settings of the longest prefix apply, as a whole."""

    project = models.ForeignKey("sessions_app.Project", on_delete=models.CASCADE, related_name="memory_settings")
    namespace = models.CharField(max_length=PLACE_BYTES)
    exact = models.BooleanField(default=False, help_text="Values are stored as they are sent, without redaction.")
    leased = models.BooleanField(default=True, help_text="Writes need the lease while a run holds it.")
    versions = models.PositiveSmallIntegerField(default=VERSIONS, help_text="How many are kept; 0: none, and no trash.")
    ttl_minutes = models.FloatField(null=True, blank=True)
    refresh_on_read = models.BooleanField(default=False)
    quota_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    entry_bytes = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "settings of namespaces"
        ordering = ("namespace",)
        constraints = [models.UniqueConstraint(fields=["project", "namespace"], name="memory_settings_once")]

    def __str__(self) -> str:
        return self.namespace


class Rules:
    """The settings of a project's namespaces."""

    def __init__(self, rows: Iterable[NamespaceSettings] = ()) -> None:
        self._rows = {row.namespace: row for row in rows}

    @classmethod
    def of(cls, project_id: uuid.UUID) -> "Rules":
        return cls(NamespaceSettings.objects.filter(project_id=project_id))

    def for_namespace(self, namespace: str) -> NamespaceSettings:
        """Those with the longest prefix of this namespace, in its stored form; else the defaults."""
        rest = namespace
        while self._rows and rest:
            if rest in self._rows:
                return self._rows[rest]
            rest = rest.rpartition("/")[0]
        return _DEFAULTS

    def need_lease(self, namespace: str, *, deep: bool) -> bool:
        """Whether a write needs the lease; `deep`: of anything beneath the namespace too."""
        below = (row for name, row in self._rows.items() if deep and name.startswith(f"{namespace}/"))
        return self.for_namespace(namespace).leased or any(row.leased for row in below)


_DEFAULTS = NamespaceSettings(namespace="")
