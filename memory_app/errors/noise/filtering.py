"""Active noise rules: the compiled rules of a project's `noise/config`, and the counts of filtered errors.

A user's pattern cannot stall the server: RE2 runs in linear time, a pattern's automaton has little memory, the number of rules
and the length of the searched text are limited, and the rules run before anything is locked.
"""

import hashlib
import threading
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import re2
from django.db import transaction
from django.db.models import F

from memory_app.core.stored_json import quick_or_exact
from memory_app.errors.noise.queries import waiting
from memory_app.key_value.entries.entry_validation import compile_pattern
from memory_app.models import FilteredCount, MemoryEntry, MemoryStore
from sessions_app.core.public_names import now
from sessions_app.core.storage.transactions import write

# What a rule matches: an error's message and its kind.
type Said = tuple[str, str]
# Projects whose compiled rules are kept in memory.
_KEPT = 32
# CPU time limit of one batch's regular expressions; errors not checked by then are kept.
SECONDS = 2.0
# The same while the memory is locked: needed only if the rules changed just before.
SECONDS_LOCKED = 0.2


@dataclass(frozen=True)
class Rule:
    id: str
    pattern: str
    is_regex: bool

    def matches(self, subject: str) -> bool:
        if not self.is_regex:
            return self.pattern in subject
        return self._compiled is not None and self._compiled.search(subject) is not None

    @cached_property
    def _compiled(self) -> Any:
        """Compiled at its first use: compiling counts for the batch's time, too."""
        try:
            return compile_pattern(self.pattern)
        except re2.error:
            return None


@dataclass(frozen=True, slots=True)
class Rules:
    """The enabled rules, as of one rev of the entry, whose value has this hash."""

    rev: int = 0
    sha256: bytes = b""
    rules: tuple[Rule, ...] = ()

    def sift(self, errors: Sequence[Said], seconds: float) -> list[str | None]:
        """For each error the id of the rule that keeps it out, if one matches its message or its `kind: message`."""
        deadline = time.thread_time() + seconds
        known: dict[Said, str | None] = {}
        for said in errors:
            if said not in known:
                known[said] = self._first_match(said, deadline)
        return [known[said] for said in errors]

    def _first_match(self, said: Said, deadline: float) -> str | None:
        message, kind = said
        subjects = (message, f"{kind}: {message}") if kind else (message,)
        for rule in self.rules:
            if rule.is_regex and time.thread_time() > deadline:
                continue
            if any(rule.matches(subject) for subject in subjects):
                return rule.id
        return None


_in_force: dict[uuid.UUID, Rules] = {}
_flushing = threading.Lock()


def rules_of(project_id: uuid.UUID, likely: Rules | None = None) -> Rules:
    """The rules as of this transaction; cached per rev. `likely`: rules to reuse if the entry still has the same value."""
    config = MemoryEntry.objects.live_at(now()).filter(project_id=project_id, namespace="noise", key="config")
    rev = config.values_list("rev", flat=True).first()
    if rev is None:
        return Rules()
    candidates = [known for known in (_in_force.get(project_id), likely) if known is not None]
    if (same := next((known for known in candidates if known.rev == rev), None)) is not None:
        return same
    read = read_rules(config.values_list("value", flat=True).get())
    same = next((known for known in candidates if known.sha256 == read.sha256), read)
    rules = replace(same, rev=rev)
    # Not before the commit: a rolled-back rev is used again for another value.
    transaction.on_commit(partial(_keep, project_id, rules), robust=True)
    return rules


def read_rules(text: str) -> Rules:
    """Parses the entry's value. An invalid rule (of a damaged row) is ignored; the others are active."""
    try:
        found = quick_or_exact(text)["rules"]
    except (ValueError, RecursionError, KeyError, TypeError):
        found = []
    items = found if isinstance(found, list) else []
    rules = tuple(rule for rule in map(_rule, items) if rule is not None)
    return Rules(0, hashlib.sha256(text.encode()).digest(), rules)


def _keep(project_id: uuid.UUID, rules: Rules) -> None:
    while len(_in_force) >= _KEPT:
        _in_force.pop(next(iter(_in_force), project_id), None)
    _in_force[project_id] = rules


def _rule(item: Any) -> Rule | None:
    try:
        rule = Rule(item["id"], item["pattern"], item["kind"] == "regex")
        is_sound = isinstance(rule.id, str) and isinstance(rule.pattern, str)
        return rule if is_sound and item["enabled"] is True else None
    except (KeyError, TypeError):
        return None


def count_filtered(project_id: uuid.UUID, rule_ids: list[str]) -> None:
    """Counted in memory once the transaction is committed; `flush_filtered` stores it."""
    counts = Counter((project_id, rule_id) for rule_id in rule_ids)
    transaction.on_commit(partial(waiting.add, counts), robust=True)


def flush_filtered() -> int:
    """Store the waiting counts. Always returns 0: one call stores all. Counts that cannot be stored keep waiting."""
    with _flushing:  # Two at once would store the same counts twice.
        counts = waiting.copy()
        if counts:
            write(partial(_store, counts))
            waiting.take_off(counts)
    return 0


def _store(counts: Counter[tuple[uuid.UUID, str]]) -> None:
    """Always in the same order, to avoid deadlocks between processes. Counts of a purged project are dropped."""
    wanted = {project_id for project_id, _ in counts}
    projects = set(MemoryStore.objects.filter(project_id__in=wanted).values_list("project_id", flat=True))
    for project_id, rule_id in sorted(key for key in counts if key[0] in projects):
        FilteredCount.objects.bulk_create([FilteredCount(project_id=project_id, rule_id=rule_id)], ignore_conflicts=True)
        row = FilteredCount.objects.filter(project_id=project_id, rule_id=rule_id)
        row.update(count=F("count") + counts[project_id, rule_id])
