"""What a refusal says of a field that may be of several types."""

from typing import Any

import pytest

from tests.memory.batches.conftest import run
from tests.memory.conftest import Memory


def refused(memory: Memory, namespace: Any) -> list[tuple[str, str]]:
    answer = run(memory, {"op": "put", "namespace": namespace, "key": "k", "value": 1})
    assert answer.status_code == 422, answer.content
    fields = answer.json()["error"]["details"]["fields"]
    return [(each["field"].removeprefix("ops.0.put."), each["reason"]) for each in fields]


@pytest.mark.parametrize(
    ("namespace", "field", "reason"),
    [
        ("x" * 129, "namespace", "String should have at most 128 characters"),
        (["a", 5], "namespace.1", "Input should be a valid string"),
        (["x" * 129], "namespace.0", "String should have at most 128 characters"),
    ],
)
def test_it_is_about_the_type_that_was_sent(memory: Memory, namespace: Any, field: str, reason: str) -> None:
    """Of a path it said that it is no text, and named a type of the server in place of the field."""
    assert refused(memory, namespace) == [(field, reason)]


def test_of_neither_type_both_are_named(memory: Memory) -> None:
    reasons = ["Input should be a valid string", "Input should be a valid list"]
    assert refused(memory, 5) == [("namespace", reason) for reason in reasons]
