"""Validation of values in the known namespaces. Other namespaces accept any JSON."""

from typing import Any

import re2

from memory_app.models.noise import RULE_ID_LENGTH
from sessions_app.core.errors import Conflict, Invalid

NOT_WRITTEN = {("errors", "history"), ("performance", "endpoints")}
SHAPED = {"api_schema", "baselines", "errors", "noise", "performance"}
# Together these limits bound the cost of a project's rules.
MOST_RULES, PATTERN_LENGTH, PATTERN_BYTES = 200, 1_000, 131_072
RULE_KINDS = ("substring", "regex")
RULE_SOURCES = ("manual", "auto")


class Generated(Conflict):
    code, message = "generated", "This key is generated from recorded data and is read-only."


class WrongShape(Invalid):
    """`why`: what is wrong, for pages that do not speak of namespaces."""

    code = "wrong_shape"

    def __init__(self, why: str, field: str) -> None:
        self.why = why
        super().__init__(f"This namespace's values have a shape: {why}.", details={"field": field})


def check_shape(namespace: str, key: str, value: Any) -> None:
    """Raises 422 that names what is wrong; 409 for keys that the server generates."""
    if namespace not in SHAPED:
        return
    if (namespace, key) in NOT_WRITTEN:
        raise Generated
    if namespace == "baselines" and not isinstance(value, dict):
        raise _wrong("a baseline is an object")
    if (namespace, key) == ("api_schema", "schema"):
        _list_in(value, "endpoints")
    if (namespace, key) == ("noise", "config"):
        rules = _list_in(value, "rules")
        if len(rules) > MOST_RULES:
            raise _wrong(f"it has at most {MOST_RULES} rules", "rules")
        for number, rule in enumerate(rules):
            _check_rule(rule, f"rules.{number}")


def _list_in(value: Any, name: str) -> list[Any]:
    items = value.get(name) if isinstance(value, dict) else None
    if not isinstance(items, list):
        raise _wrong(f"it is an object with a list `{name}`", name)
    return items


def _check_rule(rule: Any, place: str) -> None:
    if not isinstance(rule, dict):
        raise _wrong("a rule is an object", place)
    for name in ("id", "pattern"):
        if not isinstance(rule.get(name), str) or not rule[name]:
            raise _wrong(f"a rule needs `{name}`, a text", f"{place}.{name}")
    if len(rule["id"]) > RULE_ID_LENGTH or len(rule["pattern"]) > PATTERN_LENGTH:
        raise _wrong(f"an id has at most {RULE_ID_LENGTH} characters, a pattern {PATTERN_LENGTH}", place)
    if rule.get("kind") not in RULE_KINDS or rule.get("source") not in RULE_SOURCES:
        raise _wrong("`kind` is substring or regex, `source` manual or auto", place)
    if not isinstance(rule.get("enabled"), bool):
        raise _wrong("`enabled` is true or false", f"{place}.enabled")
    if rule["kind"] == "regex":
        _check_pattern(rule["pattern"], f"{place}.pattern")


def compile_pattern(pattern: str) -> Any:
    """By RE2: its time is linear, its memory limited. Raises `re2.error`."""
    options = re2.Options()
    options.log_errors, options.never_capture, options.max_mem = False, True, PATTERN_BYTES
    return re2.compile(pattern, options)


def _check_pattern(pattern: str, place: str) -> None:
    try:
        compile_pattern(pattern)
    except re2.error:
        why = "the pattern is not an RE2 regular expression (no lookaround, no backreferences), or too large a one"
        raise _wrong(why, place) from None


def _wrong(why: str, field: str = "value") -> WrongShape:
    return WrongShape(why, field)
