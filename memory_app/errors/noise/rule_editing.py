"""Edits single rules of the entry `noise/config`: each change is a new version, active at once."""

import json
import uuid
from collections.abc import Callable
from typing import Any

from memory_app.core.lease import Writer, lock_for_writing
from memory_app.key_value.entries.entry_validation import check_shape
from memory_app.key_value.entries.entry_values import NewEntry, check_entry
from memory_app.key_value.entries.services import store_entry
from memory_app.models import MemoryEntry
from sessions_app.core.errors import Conflict, Invalid, NotFound
from sessions_app.core.public_names import Caller, now
from sessions_app.core.storage.transactions import write

type Rule = dict[str, Any]


class RuleNotFound(NotFound):
    kind, message = "noise rule", "There is no noise rule with this id; it may have been deleted. Reload the page."


class RuleExists(Conflict):
    code, message = "rule_exists", "There is a rule with this pattern already."


class Damaged(Conflict):
    code, message = "damaged", "The stored noise/config cannot be read. Repair it under Memory, or restore an earlier version."


def add_rule(*, caller: Caller, project_id: uuid.UUID, pattern: str, kind: str, run_id: Writer) -> Rule:
    """Add a rule. 422 if the pattern is invalid, 409 if there is one with the same pattern."""
    rule = {"id": f"manual-{uuid.uuid4().hex[:12]}", "pattern": pattern, "kind": kind, "source": "manual", "enabled": True}

    def add(rules: list[Rule]) -> Rule:
        same = next((one for one in rules if (one["pattern"], one["kind"]) == (pattern, kind)), None)
        if same is not None:
            raise RuleExists("" if same["enabled"] else f"{RuleExists.message} It is disabled: enable it.")
        rules.append(rule)
        return rule

    return _edit(caller, project_id, run_id, add)


def put_back_rule(*, caller: Caller, project_id: uuid.UUID, rule: Rule, run_id: Writer) -> Rule:
    """Restore a deleted rule at the end; a rule with the same id is replaced."""

    def put(rules: list[Rule]) -> Rule:
        rules[:] = [*(one for one in rules if one["id"] != rule["id"]), rule]
        return rule

    return _edit(caller, project_id, run_id, put)


def switch_rule(*, caller: Caller, project_id: uuid.UUID, rule_id: str, enabled: bool, run_id: Writer) -> Rule:
    def switch(rules: list[Rule]) -> Rule:
        rule = _named(rules, rule_id)
        rule["enabled"] = enabled
        return rule

    return _edit(caller, project_id, run_id, switch)


def delete_rule(*, caller: Caller, project_id: uuid.UUID, rule_id: str, run_id: Writer) -> Rule:
    """Returns the deleted rule; `put_back_rule` restores it. Its counts stay."""

    def delete(rules: list[Rule]) -> Rule:
        rule = _named(rules, rule_id)
        rules.remove(rule)
        return rule

    return _edit(caller, project_id, run_id, delete)


def _edit(caller: Caller, project_id: uuid.UUID, run_id: Writer, edit: Callable[[list[Rule]], Rule]) -> Rule:
    """`edit` changes the given list and returns the affected rule."""

    def work() -> Rule:
        store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id)
        found = MemoryEntry.objects.live_at(now()).filter(project_id=project_id, namespace="noise", key="config")
        text = found.values_list("value", flat=True).first()
        config = {"rules": []} if text is None else _read(text)
        rule = edit(config["rules"])
        store_entry(caller=caller, store=store, entry=check_entry(NewEntry("noise", "config", config)))
        return rule

    return write(work)


def _read(text: str) -> dict[str, Any]:
    try:
        config = json.loads(text)
        check_shape("noise", "config", config)
    except (ValueError, Invalid):
        raise Damaged from None
    return dict(config)


def _named(rules: list[Rule], rule_id: str) -> Rule:
    for rule in rules:
        if rule["id"] == rule_id:
            return rule
    raise RuleNotFound
