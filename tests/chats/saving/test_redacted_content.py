"""What is recorded of a message's secrets: after a patch, and in rows that come from an export."""

from dataclasses import replace
from typing import Any

import pytest

from sessions_app.chats.message_content import Content
from sessions_app.chats.saving.message_redaction import redact_message, redact_patched, redact_stored_message
from sessions_app.models.project import FLAG, REDACT

KEY = "AKIAIOSFODNN7EXAMPLE"
HIDDEN = "[REDACTED:aws_key]"
PASSWORD = '{"password":"hunter2"}'
# It has a secret's name in it, and is no JSON.
DAMAGED = '{"password":'


def test_json_without_a_secret_keeps_its_notation_where_another_field_loses_one() -> None:
    content = Content("user", KEY, "complete", metadata='{ "max_tokens" : 1e3 }')
    assert redact_message(content, REDACT) == {"aws_key": 1}
    assert (content.text, content.metadata) == (HIDDEN, '{ "max_tokens" : 1e3 }')


def test_a_message_records_every_secret_that_was_ever_taken_out_of_it() -> None:
    stored = Content("user", HIDDEN, "complete", flagged='{"aws_key":1}')
    patched = replace(stored, metadata=PASSWORD)
    assert redact_patched(patched, stored, REDACT) == {"password": 1}
    assert (patched.metadata, patched.flagged) == ('{"password":"[REDACTED:password]"}', '{"aws_key":1,"password":1}')


@pytest.mark.parametrize(("text", "flagged"), [(f"{KEY} twice", '{"aws_key":1}'), ("none", None)])
def test_a_message_that_keeps_its_secrets_records_those_that_it_has(text: str, flagged: str | None) -> None:
    stored = Content("user", KEY, "complete", flagged='{"aws_key":1}')
    patched = replace(stored, text=text)
    redact_patched(patched, stored, FLAG)
    assert (patched.text, patched.flagged) == (text, flagged)


def test_beside_damaged_parts_a_patch_leaves_the_record_as_it_was() -> None:
    stored = Content("user", "one", "complete", parts=DAMAGED, flagged='{"password":1}')
    patched = replace(stored, text="two")
    assert redact_patched(patched, stored, FLAG) == {}
    assert (patched.parts, patched.flagged) == (DAMAGED, '{"password":1}')


@pytest.mark.parametrize(("mode", "text"), [(FLAG, KEY), (REDACT, HIDDEN)])
def test_a_row_that_was_exported_before_there_were_records_gets_one_and_nothing_else(mode: str, text: str) -> None:
    row = {"message_id": "m1", "role": "user", "text": KEY, "status": "complete", "size_bytes": 1}
    values: dict[str, Any] = {**row}
    assert redact_stored_message(values, mode) == {"aws_key": 1}
    assert values == {**row, "text": text, "flagged": '{"aws_key":1}', "size_bytes": len(text)}


def test_a_row_that_has_only_metadata_is_given_no_words() -> None:
    values: dict[str, Any] = {"metadata": PASSWORD}
    assert redact_stored_message(values, REDACT) == {"password": 1}
    assert (values["role"], values["text"], values["status"]) == ("", "", "")
    assert values["metadata"] == '{"password":"[REDACTED:password]"}'


@pytest.mark.parametrize("mode", [FLAG, REDACT])
def test_a_damaged_row_stays_as_it_is(mode: str) -> None:
    row = {"role": "user", "text": KEY, "status": "complete", "parts": DAMAGED}
    values: dict[str, Any] = {**row}
    assert redact_stored_message(values, mode) == {}
    assert values == row
