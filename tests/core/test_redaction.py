"""Secrets never reach the store, and what only looks like one is left alone."""

import base64
import hashlib
import random
import string
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from sessions_app.core.redaction import redact, redact_text
from tests.support.suite import first_of

CODE = [
    "def save(self, token: str, password: str | None = None) -> None:",
    "token = request.headers.get('X-Token')",
    "max_tokens={n}, total_tokens={n}",
    "const key{n} = keys.map((key) => key.id).join('-');",
    "if (!user.password) throw new Error('password is required');",
    "password = getpass.getpass()",
    "secret = os.environ['SECRET_{n}']",
    "for token in tokens[{n}:]: yield token",
    "git clone https://example.com/team/repo{n}.git",
    '<button class="sk-circle-fade-in-animation-{n}">Cookie settings</button>',
    "The password must have at least {n} characters.",
    "SELECT key, value FROM cache WHERE id = {n} -- token bucket",
    "http://localhost:{n}/users/{n}?page={n}",
]


def chars(alphabet: str, length: int) -> str:
    return "".join(random.choice(alphabet) for _ in range(length))


WORD = string.ascii_letters + string.digits
MADE: dict[str, Callable[[], str]] = {
    "private_key": lambda: f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4\n\n{chars(WORD, 300)}\n-----END RSA PRIVATE KEY-----",
    "jwt": lambda: f"eyJ{chars(WORD, 20)}.eyJ{chars(WORD, 40)}.{chars(WORD, 43)}",
    "aws_key": lambda: "AKIA" + chars("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
    "github_token": lambda: random.choice(["ghp_", "gho_", "ghs_"]) + chars(WORD, 36),
    "gitlab_token": lambda: "glpat-" + chars(WORD, 20),
    "slack_token": lambda: f"xoxb-{chars(string.digits, 12)}-{chars(WORD, 24)}",
    "slack_webhook": lambda: f"hooks.slack.com/services/T{chars('AB12', 8)}/B{chars('AB12', 8)}/{chars(WORD, 24)}",
    "stripe_key": lambda: "sk_live_" + chars(WORD, 24),
    "anthropic_key": lambda: "sk-ant-api03-" + chars(WORD, 80),
    "openai_key": lambda: random.choice(["sk-proj-" + chars(WORD, 60), "sk-" + chars(WORD, 48)]),
    "google_key": lambda: "AIza" + chars(WORD, 35),
    "npm_token": lambda: "npm_" + chars(WORD, 36),
    "pypi_token": lambda: "pypi-AgEIcHlwaS5vcmc" + chars(WORD, 60),
    "hugging_face_token": lambda: "hf_" + chars(string.ascii_letters, 34),
    "sendgrid_key": lambda: f"SG.{chars(WORD, 22)}.{chars(WORD, 43)}",
    "digitalocean_token": lambda: "dop_v1_" + chars("0123456789abcdef", 64),
    "stillhere_key": lambda: "sh_" + chars(WORD, 49),
}
PLACES: list[Callable[[str], Any]] = [
    lambda secret: secret,
    lambda secret: f"curl failed with {secret} and gave up",
    lambda secret: {"a": [{"b": {"c": secret}}]},
    lambda secret: f'Traceback:\n  File "app.py", line 3, in call\n    send("{secret}")\nValueError: é {secret}',
    lambda secret: [["note", 1], {"text": f"({secret})"}],
]


@pytest.mark.parametrize("kind", MADE)
def test_every_known_format_is_found_wherever_it_stands(kind: str) -> None:
    for place in PLACES:
        for _ in range(20):
            secret = MADE[kind]()
            cleaned, counts = redact(place(secret))
            assert secret not in str(cleaned)
            assert f"[REDACTED:{kind}]" in str(cleaned)
            assert counts.keys() == {kind}


NAMED = {
    "Authorization": "authorization",
    "proxy-authorization": "authorization",
    "Cookie": "cookie",
    "Set-Cookie": "cookie",
    "password": "password",
    "userPassword": "password",
    "DB_PASSWD": "password",
    "client_secret": "secret",
    "aws_secret_access_key": "secret",
    "accessToken": "token",
    "X-Auth-Token": "token",
    "api_key": "api_key",
    "x-api-key": "api_key",
}


@pytest.mark.parametrize("name", NAMED)
def test_a_field_that_says_it_holds_a_secret_is_emptied(name: str) -> None:
    kind = NAMED[name]
    mark = f"[REDACTED:{kind}]"
    assert redact({"request": {name: "hunter two"}}) == ({"request": {name: mark}}, {kind: 1})
    assert redact([[name, "hunter two"]]) == ([[name, mark]], {kind: 1})
    assert redact({"name": name, "value": "hunter two"}) == ({"name": name, "value": mark}, {kind: 1})
    assert redact({name: ["one", "two"]}) == ({name: [mark, mark]}, {kind: 2})


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("GET / HTTP/1.1\r\nCookie: a=b; c=d\r\nHost: x", "GET / HTTP/1.1\r\nCookie: [REDACTED:cookie]\r\nHost: x"),
        ("-H 'Authorization: Basic dXNlcjpwdw=='", "-H 'Authorization: [REDACTED:authorization]'"),
        ("sent Bearer abcdefghij0123456789 twice", "sent Bearer [REDACTED:bearer] twice"),
        ('{"password": "correct-horse", "n": 1}', '{"password": "[REDACTED:password]", "n": 1}'),
        ("/cb?state=x&access_token=ab12cd34ef&n=2", "/cb?state=x&access_token=[REDACTED:token]&n=2"),
        ("DB_PASSWORD=hunter22\nX=1", "DB_PASSWORD=[REDACTED:password]\nX=1"),
        ("postgres://ana:s3cret@db/shop", "postgres://ana:[REDACTED:url_password]@db/shop"),
        (f"ftp://{'中' * 90}:geheim@db", f"ftp://{'中' * 90}:[REDACTED:url_password]@db"),
        ("my.aws_secret_access_key=ab12cd34", "my.aws_secret_access_key=[REDACTED:secret]"),
        ("sessão_access-token: 'ab12cd34'", "sessão_access-token: '[REDACTED:token]'"),
        ("X-Cookie: ab=cd", "X-Cookie: [REDACTED:cookie]"),
        (f"{'long-' * 100}token=ab12cd34", f"{'long-' * 100}token=[REDACTED:token]"),
    ],
)
def test_headers_assignments_and_addresses_in_texts(text: str, kept: str) -> None:
    assert redact_text(text)[0] == kept
    assert redact_text(kept) == (kept, {})


@pytest.mark.parametrize(
    "value",
    [
        {"max_tokens": 4096, "tokens": ["a", "b"], "token_count": 3, "tokenizer": "bpe"},
        {"properties": {"password": {"type": "string", "minLength": 8}, "token": "string"}},
        {"password": None, "secret": "", "authorized": True, "key": "ArrowLeft"},
        {"n": 12345678901234567890, "f": 1.5, "list": [], "object": {}, "text": "naïve 🦊"},
        "[REDACTED:token] stays",
    ],
)
def test_what_is_no_secret_stays_as_it_is(value: Any) -> None:
    assert redact(value) == (value, {})


def test_of_clean_strings_hardly_any_is_touched() -> None:
    source = random.Random(7)
    makers: list[Callable[[], str]] = [
        lambda: hashlib.sha256(source.randbytes(8)).hexdigest(),
        lambda: hashlib.sha1(source.randbytes(8)).hexdigest(),
        lambda: str(uuid.UUID(bytes=source.randbytes(16))),
        lambda: base64.b64encode(source.randbytes(60)).decode(),
        lambda: base64.urlsafe_b64encode(source.randbytes(48)).decode(),
        lambda: source.choice(CODE).replace("{n}", str(source.randrange(9999))),
    ]
    clean = [makers[number % len(makers)]() for number in range(10_000)]
    touched = [text for text in clean if redact(text)[1]]
    assert len(touched) <= 50, touched[:5]


@pytest.mark.parametrize("kind", first_of(MADE, 6))
def test_what_follows_thousands_of_secrets_is_found_too(kind: str) -> None:
    secret = MADE[kind]()
    cleaned, counts = redact_text(f"{'pwd=abc123 ' * 20_000}{secret} pwd=last1ng")
    assert counts == {"password": 20_001, kind: 1}
    assert cleaned == f"{'pwd=[REDACTED:password] ' * 20_000}[REDACTED:{kind}] pwd=[REDACTED:password]"


def test_one_secret_right_behind_another_is_found() -> None:
    token = "eyJ" + "a" * 20 + ".eyJ" + "b" * 20 + "." + "c" * 20
    assert redact_text(f"token={token}") == ("token=[REDACTED:jwt]", {"jwt": 1})
    assert redact_text(f"{token}-AKIA{'A' * 16}") == ("[REDACTED:jwt][REDACTED:aws_key]", {"jwt": 1, "aws_key": 1})
    assert redact_text(f"a-AKIA{'A' * 16}-AKIA{'B' * 16}-x") == ("a-[REDACTED:aws_key]-[REDACTED:aws_key]-x", {"aws_key": 2})
