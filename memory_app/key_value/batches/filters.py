"""Filters of lists: conditions on fields of the values. They are evaluated here, so that both databases agree."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory_app.core.stored_json import quick_or_exact
from sessions_app.core.errors import Invalid
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.stored_json import strict_json

MOST_FIELDS = 20
# From here on the fast reader rounds integers.
_ROUNDED = 2**63
type Test = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Filter:
    """`exact`: it names a number beyond 64 bits. Any other compares with a rounded one as with the exact one, for rounding moves
    no number below 2**63. `fields`: what it was made of, as JSON: it tells equal ones."""

    tests: Sequence[tuple[str, Test]]
    exact: bool
    fields: str

    def matches(self, value: Any) -> bool:
        return all(test(field_of(value, name)) for name, test in self.tests)

    def read(self, text: str) -> Any:
        """A stored value, as exact as this filter needs it. The exact reader takes several times as long. Raises ValueError."""
        try:
            return strict_json(text) if self.exact else quick_or_exact(text)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


class WrongFilter(Invalid):
    code = "wrong_filter"

    def __init__(self, why: str) -> None:
        super().__init__(
            f"{why} A filter is an object of fields: a value, or `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte` with one."
        )


def make_filter(fields: Mapping[str, Any]) -> Filter:
    """A test for values. Raises WrongFilter."""
    if len(fields) > MOST_FIELDS:
        raise WrongFilter(f"A filter has at most {MOST_FIELDS} fields.")
    tests = [(name, test) for name, wanted in fields.items() for test in _tests(wanted)]
    return Filter(tests, exact=any(map(_is_large, fields.values())), fields=json_text(fields))


def _is_large(wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return any(map(_is_large, wanted.values()))
    if isinstance(wanted, list):
        return any(map(_is_large, wanted))
    return _is_number(wanted) and abs(wanted) >= _ROUNDED


def field_of(value: Any, name: str) -> Any:
    """The field `a.b` of an object is its field of this name, or else the field `b` of its field `a`; None if there is none."""
    if not isinstance(value, dict):
        return None
    if name in value:
        return value[name]
    first, dot, rest = name.partition(".")
    return field_of(value.get(first), rest) if dot else None


def _tests(wanted: Any) -> list[Test]:
    if not isinstance(wanted, dict) or not any(name.startswith("$") for name in wanted):
        return [_equals(wanted)]
    if unknown := [name for name in wanted if name not in _OPERATORS]:
        raise WrongFilter(f"`{unknown[0][:64]}` is no operator.")
    return [_OPERATORS[name](operand) for name, operand in wanted.items()]


def _equals(wanted: Any) -> Test:
    return lambda found: same(found, wanted)


def _differs(wanted: Any) -> Test:
    return lambda found: not same(found, wanted)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any], Test]:
    """Numbers are compared with numbers and texts with texts; anything else has no order and does not match."""

    def make(wanted: Any) -> Test:
        if not _is_number(wanted) and not isinstance(wanted, str):
            raise WrongFilter("Only numbers and texts have an order.")
        return lambda found: (
            ((_is_number(found) and _is_number(wanted)) or (isinstance(found, str) and isinstance(wanted, str)))
            and compare(found, wanted)
        )

    return make


_OPERATORS: dict[str, Callable[[Any], Test]] = {
    "$eq": _equals,
    "$ne": _differs,
    "$gt": _ordered(operator.gt),
    "$gte": _ordered(operator.ge),
    "$lt": _ordered(operator.lt),
    "$lte": _ordered(operator.le),
}


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 equals 1.0, but true does not equal 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
