"""What counts as the same request: equality of JSON values, not of bytes."""

import pytest

from sessions_app.core.serialization.json_text import fingerprint, json_text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": [1.0, 2]}, {"b": [1, 2.0], "a": 1.0}),
        ({"text": "A sentence. Another."}, {"text": "A sentence. Another."}),
        ({"n": 10**30}, {"n": 10**30}),
        ([{"x": -0.0}], [{"x": 0}]),
    ],
)
def test_values_that_are_equal_as_json_have_one_fingerprint(one: object, other: object) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"), [({"a": 1}, {"a": "1"}), ([1, 2], [2, 1]), ({"a": True}, {"a": 1}), ({"a": 1.5}, {"a": 1})]
)
def test_different_values_have_different_ones(one: object, other: object) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_big_numbers_stay_exact() -> None:
    assert json_text({"n": 10**30}) == '{"n":1000000000000000000000000000000}'
