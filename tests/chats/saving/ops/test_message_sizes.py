"""Limits of a message hold to the last byte: what is sent together, and what the server derives from `raw`."""

import pytest

from sessions_app.chats.message_content import Content
from sessions_app.chats.saving.message_input import REASONS, Rejected, check_size, read_message
from sessions_app.models.message import EXTRA_BYTES, FORMAT_LENGTH, MESSAGE_ID_LENGTH


def content(**sizes: int) -> Content:
    return Content("user", "", "complete", **{name: "x" * size for name, size in sizes.items()})


@pytest.mark.parametrize(
    ("sizes", "derived"),
    [
        ({"parts": EXTRA_BYTES}, False),
        ({"raw": EXTRA_BYTES}, False),
        ({"metadata": EXTRA_BYTES - 2, "raw": 1, "parts": 1}, False),
        ({"raw": EXTRA_BYTES, "parts": EXTRA_BYTES}, True),
        ({"metadata": EXTRA_BYTES - 1, "raw": 1, "parts": EXTRA_BYTES}, True),
        ({"parts": 2 * EXTRA_BYTES}, True),
        ({}, False),
    ],
)
def test_so_much_is_taken(sizes: dict[str, int], derived: bool) -> None:
    check_size(content(**sizes), derived=derived)


@pytest.mark.parametrize(
    ("sizes", "derived"),
    [
        ({"parts": EXTRA_BYTES + 1}, False),
        ({"raw": EXTRA_BYTES + 1}, False),
        ({"metadata": EXTRA_BYTES + 1}, False),
        ({"metadata": EXTRA_BYTES - 2, "raw": 2, "parts": 1}, False),
        ({"raw": EXTRA_BYTES + 1}, True),
        ({"metadata": EXTRA_BYTES, "raw": 1}, True),
        ({"raw": 1, "parts": 2 * EXTRA_BYTES}, True),
        ({"metadata": 1, "parts": 2 * EXTRA_BYTES}, True),
    ],
)
def test_one_byte_more_is_not(sizes: dict[str, int], derived: bool) -> None:
    with pytest.raises(Rejected, match=r"^too_large$") as refused:
        check_size(content(**sizes), derived=derived)
    assert (refused.value.reason, refused.value.message) == ("too_large", REASONS["too_large"])


def test_bytes_are_counted_and_not_characters() -> None:
    wide = Content("user", "", "complete", raw="é" * (EXTRA_BYTES // 2))
    check_size(wide, derived=False)
    wide.metadata = "x"
    with pytest.raises(Rejected):
        check_size(wide, derived=False)


@pytest.mark.parametrize(
    ("sent", "read"), [({}, None), ({"parent_id": None}, ""), ({"parent_id": "p" * MESSAGE_ID_LENGTH}, "p" * MESSAGE_ID_LENGTH)]
)
def test_null_says_that_a_message_follows_none(sent: dict[str, str | None], read: str | None) -> None:
    assert read_message({"op": "upsert", "id": "m", "role": "user", "text": "", **sent}).content.parent_id == read


def test_a_format_has_up_to_so_many_characters() -> None:
    op = {"op": "upsert", "id": "m", "role": "user", "text": "", "format": "f" * FORMAT_LENGTH}
    assert read_message(op).content.format == "f" * FORMAT_LENGTH
