"""Counts of errors filtered by noise rules: the stored ones, and those still in this process's memory."""

import threading
import uuid
from collections import Counter
from dataclasses import dataclass

from memory_app.core.stored_json import quick_or_exact
from memory_app.models import FilteredCount, MemoryEntry
from sessions_app.core.public_names import now

type RuleKey = tuple[uuid.UUID, str]


class Waiting:
    """Counts that are not stored yet, by project and rule; shared by the process's threads."""

    def __init__(self) -> None:
        self._counts: Counter[RuleKey] = Counter()
        self._lock = threading.Lock()

    def add(self, counts: Counter[RuleKey]) -> None:
        with self._lock:
            self._counts.update(counts)

    def take_off(self, counts: Counter[RuleKey]) -> None:
        """Subtracts the counts that were stored."""
        with self._lock:
            self._counts -= counts

    def copy(self) -> Counter[RuleKey]:
        with self._lock:
            return Counter(self._counts)

    def of(self, project_id: uuid.UUID) -> Counter[str]:
        """Those of one project, by rule."""
        return Counter({rule_id: count for (project, rule_id), count in self.copy().items() if project == project_id})


waiting = Waiting()


@dataclass(frozen=True, slots=True)
class NoiseRule:
    """A rule of the entry `noise/config`, and how many errors it has filtered."""

    id: str
    pattern: str
    kind: str
    source: str
    enabled: bool
    filtered: int


def list_rules(*, project_id: uuid.UUID) -> list[NoiseRule]:
    """In the entry's order; none if it is damaged. The caller must have checked access."""
    text = (
        MemoryEntry.objects.live_at(now())
        .filter(project_id=project_id, namespace="noise", key="config")
        .values_list("value", flat=True)
        .first()
    )
    filtered = filtered_by_rule(project_id)
    try:
        rules = [] if text is None else quick_or_exact(text)["rules"]
        return [
            NoiseRule(rule["id"], rule["pattern"], rule["kind"], rule["source"], rule["enabled"], filtered.get(rule["id"], 0))
            for rule in rules
        ]
    except (ValueError, RecursionError, KeyError, TypeError):
        return []


def filtered_by_rule(project_id: uuid.UUID) -> dict[str, int]:
    """The lifetime count of each rule that ever filtered an error in this project."""
    counts = Counter(dict(FilteredCount.objects.filter(project_id=project_id).values_list("rule_id", "count")))
    return dict(counts + waiting.of(project_id))
