"""The rules of redaction one by one: names, placeholders, bounds, and what a found secret's surroundings keep."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.core.redaction import kind_of_name, may_hold_secrets, redact, redact_text
from sessions_app.core.serialization.json_text import json_text

KEY = "AKIAIOSFODNN7EXAMPLE"

ENDINGS = {
    "password": ("password", "dbPassword", "PASSWORD", "my-pass-word", "passwd", "pass_phrase", "pwd", "pw", "password_hash"),
    "secret": ("secret", "client-secret", "secretKey", "aws_secret_access_key", "private_key", "signing.key", "encryption key"),
    "token": ("token", "refreshToken", "X-CSRF-Token"),
    "api_key": ("apikey", "X-Api-Key", "accessKey"),
    "authorization": ("authorization", "Proxy-Authorization", "auth", "X-Auth"),
    "cookie": ("cookie", "Cookies", "Set-Cookie"),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in ENDINGS.items() for name in names])
def test_what_a_name_says_its_field_holds(kind: str, name: str) -> None:
    assert kind_of_name(name) == kind
    assert redact({name: "hunter two"}) == ({name: f"[REDACTED:{kind}]"}, {kind: 1})


@pytest.mark.parametrize(
    "name", ["", "tokens", "max_tokens", "secrets_found", "keyboard", "author", "oauth", "mypwd", "xcookie", "passwords", "key"]
)
def test_other_names_hold_none(name: str) -> None:
    assert kind_of_name(name) is None
    assert redact({name: "hunter two"}) == ({name: "hunter two"}, {})


def test_a_name_of_more_than_a_hundred_characters_is_none() -> None:
    longest = "x" * 95 + "token"
    assert (len(longest), kind_of_name(longest), kind_of_name("x" + longest)) == (100, "token", None)


@pytest.mark.parametrize("value", [None, True, False, "", "string", "STRING", "Required", "uuid", "none", "[REDACTED:token]"])
def test_placeholders_under_a_secret_name_stay(value: Any) -> None:
    assert redact({"token": value}) == ({"token": value}, {})
    assert redact({"password": [value]}) == ({"password": [value]}, {})


def test_a_number_is_a_password_and_no_other_secret() -> None:
    given: dict[str, Any] = {"password": 1234, "passwd": 12.5, "pin": 1234, "token": 1234, "secret": 1.5}
    mark = "[REDACTED:password]"
    assert redact(given) == ({**given, "password": mark, "passwd": mark}, {"password": 2})


def test_names_that_hold_secrets_stay_as_many() -> None:
    github, mark = ["ghp_" + letter * 36 for letter in "abcd"], "[REDACTED:github_token]"
    given = {**{name: f"of {name[-1]}" for name in github}, f"{mark} (3)": "was there"}
    kept = {mark: "of a", f"{mark} (2)": "of b", f"{mark} (4)": "of c", f"{mark} (5)": "of d", f"{mark} (3)": "was there"}
    assert redact(given) == (kept, {"github_token": 4})
    assert redact(kept) == (kept, {})
    pair = redact([github[0], "what it is for"])[0]
    assert (pair, redact(pair)) == ([mark, "what it is for"], (pair, {}))


def test_what_is_beside_a_named_value_is_looked_at_too() -> None:
    given = {"name": "token", "value": "one two", "password": "hunter two", KEY: "x", "note": KEY}
    mark = "[REDACTED:aws_key]"
    kept = {"name": "token", "value": "[REDACTED:token]", "password": "[REDACTED:password]", mark: "x", "note": mark}
    assert redact(given) == (kept, {"token": 1, "password": 1, "aws_key": 2})
    assert may_hold_secrets(json_text(given))


def test_an_object_under_a_secret_name_is_looked_at_field_by_field() -> None:
    described = {"type": "string", "min": 8, "example": f"as {KEY}", "password": "hunter two", "deep": [{"secret": "x y"}]}
    cleaned = {
        "type": "string",
        "min": 8,
        "example": "as [REDACTED:aws_key]",
        "password": "[REDACTED:password]",
        "deep": [{"secret": "[REDACTED:secret]"}],
    }
    assert redact({"token": described}) == ({"token": cleaned}, {"aws_key": 1, "password": 1, "secret": 1})
    assert redact({"token": [described, "abc"]})[0] == {"token": [cleaned, "[REDACTED:token]"]}


@pytest.mark.parametrize("named", ["name", "key"])
def test_a_header_as_an_object_keeps_its_order_and_its_other_fields(named: str) -> None:
    header = {"value": "abc", named: "Cookie", "note": f"as {KEY}", "n": 1}
    cleaned, counts = redact([header])
    assert list(cleaned[0].items()) == [
        ("value", "[REDACTED:cookie]"),
        (named, "Cookie"),
        ("note", "as [REDACTED:aws_key]"),
        ("n", 1),
    ]
    assert counts == {"cookie": 1, "aws_key": 1}


@pytest.mark.parametrize(
    "item",
    [
        {"name": "Cookie", "text": "abc"},
        {"name": "Accept", "value": "abc"},
        {"name": None, "key": "Cookie", "value": "abc"},
        {"name": 1, "value": "abc"},
        {"value": "abc"},
        ["Cookie", "abc", "def"],
        ["Cookie"],
        ["Accept", "abc"],
        [1, "abc"],
        [],
    ],
)
def test_what_only_looks_like_a_header_stays(item: Any) -> None:
    assert redact(item) == (item, {})


def test_a_secret_in_a_field_s_name_is_taken_out_too() -> None:
    assert redact({KEY: {KEY: KEY}}) == ({"[REDACTED:aws_key]": {"[REDACTED:aws_key]": "[REDACTED:aws_key]"}}, {"aws_key": 3})


def test_a_value_is_not_changed_itself() -> None:
    value = {"a": [{"token": "abc"}], "b": KEY}
    redact(value)
    assert value == {"a": [{"token": "abc"}], "b": KEY}


@pytest.mark.parametrize("value", [1, 1.5, None, True, "word", [], {}])
def test_a_value_without_texts_is_itself(value: Any) -> None:
    assert redact(value) == (value, {})


@pytest.mark.parametrize(
    ("text", "kept", "kinds"),
    [
        # The length that counts is that of a text and of a value in it.
        ("pwd=a1", "pwd=a1", {}),
        ("pwd=abcde1", "pwd=[REDACTED:password]", {"password": 1}),
        ("pwd=abcd1", "pwd=abcd1", {}),
        # Variables and templates are no secrets; nor are words of code.
        ("token=$TOKEN1", "token=$TOKEN1", {}),
        ("password=%(pass1)s", "password=%(pass1)s", {}),
        ("password='%pass_1'", "password='%pass_1'", {}),
        ("password=%PASS_1%", "password=%PASS_1%", {}),
        ("my_pwd=abcdef1", "my_pwd=[REDACTED:secret]", {"secret": 1}),
        ("token='{token1}'", "token='{token1}'", {}),
        ("token='<token1>'", "token='<token1>'", {}),
        ("token='required'", "token='required'", {}),
        ("password=getpass.getpass", "password=getpass.getpass", {}),
        ("password=abcdef1", "password=[REDACTED:password]", {"password": 1}),
        # In quotes one without a digit is one where it is long enough and no word of code.
        ("secret='no-digit'", "secret='[REDACTED:secret]'", {"secret": 1}),
        ("secret='no-digi'", "secret='no-digi'", {}),
        ("secret='nodigit_at_all'", "secret='nodigit_at_all'", {}),
        ("secret=no-digit-here", "secret=no-digit-here", {}),
        # The name is the whole word, from its first character on.
        ("xpwd=abcdef1", "xpwd=[REDACTED:secret]", {"secret": 1}),
        # Half of a surrogate pair, as a text that was cut in the middle has it.
        (f"\ud83e {KEY} \udd8a", "\ud83e [REDACTED:aws_key] \udd8a", {"aws_key": 1}),
        ("password='\ud83eabcdef1' b", "password='[REDACTED:password]' b", {"password": 1}),
        # What is named tells the kind, and the rest of the text stays.
        ("a api_key='abcdef1' b", "a api_key='[REDACTED:api_key]' b", {"api_key": 1}),
        ("a=1&x-access-token=abcdef12&b=2", "a=1&x-access-token=[REDACTED:token]&b=2", {"token": 1}),
        ("Proxy-Authorization: Basic abc", "Proxy-Authorization: [REDACTED:authorization]", {"authorization": 1}),
        ("Cookie: [REDACTED:cookie]", "Cookie: [REDACTED:cookie]", {}),
        ("a Bearer abcdefghij0123456789 b bearer abcdefghij0123456789",
         "a Bearer [REDACTED:bearer] b bearer [REDACTED:bearer]", {"bearer": 2}),
        ("postgres://ana:s3cret@db and redis://:pass@db",
         "postgres://ana:[REDACTED:url_password]@db and redis://:[REDACTED:url_password]@db", {"url_password": 2}),
        (f"{KEY} {KEY} pwd=abcdef1", "[REDACTED:aws_key] [REDACTED:aws_key] pwd=[REDACTED:password]",
         {"aws_key": 2, "password": 1}),
    ],
)  # fmt: skip
def test_secrets_in_texts(text: str, kept: str, kinds: dict[str, int]) -> None:
    assert redact_text(text) == (kept, kinds)
    assert redact([text]) == ([kept], kinds)
    assert redact_text(kept) == (kept, {})


@pytest.mark.parametrize(
    "text",
    [
        f'"{KEY}"',
        '{"Authorization": 1}',
        '{"p-w": "a b"}',
        '{"x-auth": "a"}',
        '{"my_token": 1}',
        '["Cookie", "a"]',
        '{"ap_İ Key:": 1}',
    ],
)
def test_where_there_may_be_secrets_is_looked_closely(text: str) -> None:
    assert may_hold_secrets(text) is True


NAMES = st.sampled_from(["password", "Authorization", "apikey", "pw", "set_cookie", "my-Private-Key", "APIKEY", "apİKey"])
JUNK = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)


@given(NAMES, st.lists(JUNK, min_size=20, max_size=20), st.sampled_from(["object", "pair", "named"]))
def test_what_is_not_looked_at_closely_holds_no_secret_by_its_name(name: str, junk: list[str], form: str) -> None:
    spread = "".join(letter + between for letter, between in zip(name, junk, strict=False))
    value: Any = {"object": {spread: "hunter22"}, "pair": [spread, "hunter22"], "named": {"key": spread, "value": "hunter22"}}[
        form
    ]
    if redact(value)[1]:
        assert may_hold_secrets(json_text([value, 1]))
        assert may_hold_secrets(json_text(value))


@pytest.mark.parametrize("text", ["{}", '"hello"', '{"type": "text", "text": "words", "n": [1, 2]}', '"\ud83e"'])
def test_where_there_are_none_nobody_looks(text: str) -> None:
    assert may_hold_secrets(text) is False


BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize("beyond", ["", " and so on", "\n-----", f"\n{'-' * 90}", " -- words", END])
def test_a_private_key_with_its_last_line(beyond: str) -> None:
    key = f"{BEGIN}\nProc-Type: 4\n\nMIIE\n{END}"
    assert redact_text(f"{END} {key}{beyond}") == (f"{END} [REDACTED:private_key]{beyond}", {"private_key": 1})
    assert redact_text(f"{key}\n{BEGIN}\nMIIE\n{END}{beyond}")[1] == {"private_key": 2}


@pytest.mark.parametrize("there", range(len(END)))
@pytest.mark.parametrize("lines", ["", "\nProc-Type: 4\n\nMIIE\n", f"\nMIIE\n{END}{BEGIN}\nMIIE\n"])
def test_a_private_key_without_its_last_line_is_another_kind(lines: str, there: int) -> None:
    """Or with the beginning of that line, which is left: what is appended to the text decides."""
    begun = END[:there]
    expected = f"{END} [REDACTED:unfinished_private_key]{begun}"
    assert redact_text(f"{END} {BEGIN}{lines}{begun}") == (expected, {"unfinished_private_key": 1})
    assert redact_text(expected) == (expected, {})


@pytest.mark.parametrize(
    "beyond", ["-- words", "-----end RSA", "-----END of it", f"{END[:-1]} ", f"-----END {'A' * 90}", "-" * 6]
)
def test_what_is_not_the_beginning_of_its_last_line_ends_a_private_key(beyond: str) -> None:
    assert redact_text(f"{BEGIN}\nMIIE\n{beyond}") == (f"[REDACTED:private_key]{beyond}", {"private_key": 1})
