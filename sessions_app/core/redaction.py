"""Removes secrets from data before it is stored. Pure; every pattern runs in linear time, however hostile the text.

High precision only: fields and headers whose name says that they hold a secret, and formats that are always a secret.
Each match is replaced by `[REDACTED:kind]`; text that is already redacted does not change.
"""

import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, cast

import re2

# A field's name, in lower case and without `-`, `_`, `.` and blanks, and what it holds.
_NAMES = {
    "authorization": "authorization",
    "proxyauthorization": "authorization",
    "cookie": "cookie",
    "cookies": "cookie",
    "setcookie": "cookie",
    "auth": "authorization",
    "xauth": "authorization",
    "pwd": "password",
    "pw": "password",
    "passwordhash": "password",
}
_ENDINGS = {
    "password": "password",
    "passwd": "password",
    "passphrase": "password",
    "secret": "secret",
    "secretkey": "secret",
    "secretaccesskey": "secret",
    "privatekey": "secret",
    "signingkey": "secret",
    "encryptionkey": "secret",
    "token": "token",
    "apikey": "api_key",
    "accesskey": "api_key",
}
# Placeholders that schemas and forms use in place of a value.
_NO_SECRETS = {"", "string", "str", "text", "number", "integer", "boolean", "null", "none", "required", "optional", "uuid", "jwt"}
# How what replaces a secret begins; its kind and `]` follow.
MARK = "[REDACTED:"
# A private key whose last line is not there, at most the beginning of it: what is appended to the text belongs to it.
UNFINISHED_KEY, KEY_BEGINS = "unfinished_private_key", "-----BEGIN PRIVATE KEY-----"

_ASSIGNED = r"(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|pwd)"
_KEY = r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:-?[^-])*(?:-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?"
# Kind, how a find begins (which tells the kinds apart, in this order), how it goes on. No pattern may run on over the end of
# another one's find without being a find itself: each search would then read the whole text. So names have no `[\w.-]*` in
# front, and JWTs have their own search.
_PATTERNS = [
    # Directly adjacent matches count as one: a text of nothing else is one match, not a hundred thousand.
    ("private_key", r"-----BEGIN ", rf"[A-Z ]{{0,30}}PRIVATE KEY{_KEY.partition('PRIVATE KEY')[2]}(?:{_KEY})*"),
    # `Cookie: …` and `Authorization: …` to the end of the line, in dumps of requests and in commands.
    (
        "header",
        r"\b(?i:(?:proxy-)?authorization|(?:set-)?cookie)['\"]?[ \t]{0,9}:[ \t]{0,9}['\"]?",
        r"[^\r\n'\"]{4,}",
    ),
    ("url_password", r"\b[a-z][a-z0-9+.-]{1,20}://", r"[^\s/:@'\"<>]{0,100}:[^\s/:@'\"<>]{3,200}@"),
    ("aws_key", r"\b(?:AKIA|ASIA|ABIA|ACCA)", r"[A-Z2-7]{16}\b"),
    ("github_token", r"\bgh[pousr]_", r"[A-Za-z0-9]{36,255}\b"),
    ("github_token", r"\bgithub_pat_", r"[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b"),
    ("gitlab_token", r"\bgl(?:pat|dt|rt|cbt|ptt|soat)-", r"[\w-]{20,}"),
    ("slack_token", r"\bxox[abeoprs]-", r"[0-9][A-Za-z0-9-]{9,}"),
    ("slack_token", r"\bxapp-", r"[0-9]-[A-Za-z0-9-]{20,}"),
    ("slack_webhook", r"hooks\.slack\.com/services/", r"T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,}"),
    ("stripe_key", r"\b(?:[rs]k_(?:live|test)|whsec)_", r"[A-Za-z0-9]{16,}"),
    ("anthropic_key", r"\bsk-ant-", r"[\w-]{32,}"),
    ("openai_key", r"\bsk-", r"(?:(?:proj|svcacct|admin)-[\w-]{40,}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|[A-Za-z0-9]{48}\b)"),
    ("google_key", r"\bAIza", r"[\w-]{35}"),
    ("google_key", r"\bya29\.", r"[\w-]{20,}"),
    ("google_key", r"\bGOCSPX-", r"[\w-]{28}"),
    ("npm_token", r"\bnpm_", r"[A-Za-z0-9]{36}\b"),
    ("pypi_token", r"\bpypi-AgE", r"[\w-]{50,}"),
    ("hugging_face_token", r"\bhf_", r"[A-Za-z]{34}\b"),
    ("sendgrid_key", r"\bSG\.", r"[\w-]{22}\.[\w-]{43}"),
    ("digitalocean_token", r"\bdo[opr]_v1_", r"[a-f0-9]{64}\b"),
    ("stillhere_key", r"\bsh_", r"[0-9A-Za-z]{49}\b"),
    ("bearer", r"\b(?i:bearer)[ ]+", r"[A-Za-z0-9._~+/=-]{16,}"),
    # `"password": "…"`, `token='…'`, `?api_key=…`, `DB_PASSWORD=…`.
    ("quoted", rf"(?i:{_ASSIGNED})\\?['\"]?[ \t]{{0,9}}[:=][ \t]{{0,9}}\\?['\"]", r"[^\s'\"\\]{6,}"),
    ("plain", rf"(?i:{_ASSIGNED})=", r"[\w.~+/%!@#$^*=-]{6,}"),
]
_FIND = re2.compile("|".join(begins + goes_on for _, begins, goes_on in _PATTERNS))
_BEGINNING = re.compile("|".join(f"({begins})" for _, begins, _ in _PATTERNS).encode())
_KINDS = [kind for kind, _, _ in _PATTERNS]
_JWT = re2.compile(r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}")
# Nearly every string has none of these; only strings with one are searched in full.
_HINT = re2.compile(
    r"(?i)eyJ|AKIA|ASIA|ABIA|ACCA|gh[pousr]_|github_pat_|gl[a-z]{2,4}-|xox|xapp-|hooks\.slack|k_live_|k_test_|whsec_|sk-|AIza|ya29\."
    r"|GOCSPX|npm_|pypi-|hf_|SG\.|o[opr]_v1_|sh_|PRIVATE KEY|authorization|cookie|bearer|://[^\s/]*@|pass|secret|token|key|pwd"
)
# What may be between the letters of a name that `kind_of_name` knows, in JSON text.
_BETWEEN = r'(?-i:[^a-zA-Z0-9"\\]|\\(?:["\\/bfnrt]|u[0-9a-f]{4}))*'


def _spread(name: str) -> str:
    # The one letter beside the Kelvin sign, which the search folds by itself, that becomes an ASCII letter in lower case.
    return _BETWEEN.join(name.replace("i", "\0")).replace("\0", "(?:i|İ)") + _BETWEEN + '"'


# Names of fields that hold secrets, as written in JSON text: all of a text, or its end.
_NAME_HINT = re2.compile(f'(?i)"{_BETWEEN}(?:{"|".join(map(_spread, _NAMES))})|{"|".join(map(_spread, _ENDINGS))}')
# Kinds whose match begins with a prefix that is kept.
_BEHIND_SOMETHING = {"header", "url_password", "bearer", "quoted", "plain"}
_END_LINE = re.compile(rb"-----END [A-Z ]*-----\Z")
_PART_OF_END_LINE = re.compile(rb"-{0,5}|-----E(?:ND?|ND [A-Z ]{0,47}-{0,4})?")
# More than the end line of any key.
_LINE_BYTES = 80
_NAME_CHARACTERS = (string.ascii_letters + string.digits + "_.-").encode()
_LONGEST_PREFIX = 60
_DIGIT = re.compile(r"\d")
_SHORTEST = 6


# Number of secrets found, by kind.
type Redacted = dict[str, int]


def redact[T](value: T) -> tuple[T, Redacted]:
    """The JSON value without its secrets, and the number removed, by kind. `value` itself is not changed."""
    found: Counter[str] = Counter()
    return cast(T, _clean(value, found)), dict(found)


def redact_text(text: str) -> tuple[str, Redacted]:
    """As `redact`, for a single text."""
    found: Counter[str] = Counter()
    return _clean_text(text, found), dict(found)


def may_hold_secrets(json_text: str) -> bool:
    """A fast check of the JSON text of a value, or of a list of values: False means that `redact` would find nothing in them."""
    data = json_text.encode(errors="surrogatepass")  # For the same reason as in `_clean_text`.
    return _HINT.search(data) is not None or _NAME_HINT.search(data) is not None


def _clean(value: Any, found: Counter[str]) -> Any:
    if isinstance(value, str):
        return _clean_text(value, found)
    if isinstance(value, dict):
        return _clean_object(value, found)
    if isinstance(value, list):
        if len(value) == 2 and isinstance(value[0], str) and (kind := kind_of_name(value[0])):
            return [value[0], _cover(value[1], kind, found)]  # A header as a pair.
        return [_clean(item, found) for item in value]
    return value


def _clean_object(value: dict[str, Any], found: Counter[str]) -> dict[str, Any]:
    named = value.get("name", value.get("key"))
    kind_of_value = kind_of_name(named) if "value" in value and isinstance(named, str) else None
    cleaned: dict[str, Any] = {}
    marked = Counter[str]()
    for name, item in value.items():
        kind = kind_of_value if name == "value" and kind_of_value else kind_of_name(name)
        clean_name = _clean_text(name, found)
        if clean_name != name:
            clean_name = _free_name(clean_name, value, marked)
        cleaned[clean_name] = _clean(item, found) if kind is None else _cover(item, kind, found)
    return cleaned


def _free_name(name: str, value: dict[str, Any], marked: Counter[str]) -> str:
    """Two names that had a secret each stay two: else what is behind one of them would be lost. `marked`: how often each came."""
    while True:
        marked[name] += 1
        free = name if marked[name] == 1 else f"{name} ({marked[name]})"
        if free not in value:
            return free


def kind_of_name(name: str) -> str | None:
    """The kind of secret that a field of this name holds: `access_token` and `X-Auth-Token` hold one, `max_tokens` does not."""
    return None if len(name) > 100 else _kind_of_short_name(name)


# Messages repeat a small set of names.
@lru_cache(maxsize=2_000)
def _kind_of_short_name(name: str) -> str | None:
    if MARK in name:  # In the place of a secret in the name. The mark's kind says nothing of what is behind the name.
        return None
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    if plain in _NAMES:
        return _NAMES[plain]
    return next((kind for ending, kind in _ENDINGS.items() if plain.endswith(ending)), None)


def _cover(value: Any, kind: str, found: Counter[str]) -> Any:
    """Redact a secret field's value. An object as the value describes the field; its own fields are checked one by one."""
    if isinstance(value, list):
        return [_cover(item, kind, found) for item in value]
    if isinstance(value, dict):
        return _clean_object(value, found)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and kind == "password"
    if not is_number and (not isinstance(value, str) or value.lower() in _NO_SECRETS or value.startswith(MARK)):
        return value
    found[kind] += 1
    return f"{MARK}{kind}]"


def _clean_text(text: str, found: Counter[str]) -> str:
    if len(text) < _SHORTEST:
        return text
    # As bytes: RE2 counts in bytes, and offsets in characters would be recomputed for each match.
    data = text.encode(errors="surrogatepass")
    if _HINT.search(data) is None:
        return text
    cleaned = _covered(data, _finds(data), found)
    if b"eyJ" in cleaned:
        cleaned = _covered(cleaned, ((*match.span(), "jwt") for match in _JWT.finditer(cleaned)), found)
    return text if cleaned is data else cleaned.decode(errors="surrogatepass")


def _covered(data: bytes, finds: Iterable[tuple[int, int, str]], found: Counter[str]) -> bytes:
    """`data` with a mark in place of each match (start, end, kind); `data` itself if there is none."""
    pieces: list[bytes] = []
    end = 0
    for start, stop, kind in finds:
        pieces += data[end:start], f"{MARK}{kind}]".encode()
        end = stop
        found[kind] += 1
    return b"".join([*pieces, data[end:]]) if pieces else data


def _finds(data: bytes) -> Iterator[tuple[int, int, str]]:
    """The secrets in a text, without JWTs: start, end, kind."""
    last = 0
    for match in _FIND.finditer(data):
        start, stop = match.span()
        beginning = cast(re.Match[bytes], _BEGINNING.match(data, start, stop))
        kind = _KINDS[cast(int, beginning.lastindex) - 1]
        if kind == "private_key":
            is_unfinished = _is_unfinished(data[max(start, stop - _LINE_BYTES) : stop], data[stop : stop + _LINE_BYTES])
            yield start, stop, UNFINISHED_KEY if is_unfinished else kind
        elif kind not in _BEHIND_SOMETHING:
            yield start, stop, kind
        elif kind == "url_password":
            yield data.index(b":", beginning.end()) + 1, stop - 1, kind
        elif _is_secret(data[(value := beginning.end()) : stop], kind):
            yield (
                value,
                stop,
                kind if kind == "bearer" else _kind_of_label(data, start if kind == "header" else last, start, value),
            )
        last = stop


def _is_unfinished(keys: bytes, following: bytes) -> bool:
    """Whether a text that goes on like this ends within the last of these keys, or within that key's last line."""
    return _END_LINE.search(keys) is None and _PART_OF_END_LINE.fullmatch(following) is not None


def _kind_of_label(data: bytes, free: int, start: int, value: int) -> str:
    """What the name in front of `value` says: from `start`, or from before it, as far as `free`, if that is the same word."""
    before = data[max(free, start - _LONGEST_PREFIX) : start]
    prefix = before[len(before.rstrip(_NAME_CHARACTERS)) :]
    return kind_of_name((prefix + data[start:value]).decode()) or "secret"


def _is_secret(value: bytes, kind: str) -> bool:
    if value.startswith(MARK.encode()):
        return False
    return kind not in {"quoted", "plain"} or _looks_secret(value.decode(errors="surrogatepass"), kind)


def _looks_secret(value: str, kind: str) -> bool:
    """Code assigns variables and calls; a literal secret has a digit, and outside quotes no dotted name."""
    if value.startswith(("$", "{", "%", "<")):
        return False
    return _DIGIT.search(value) is not None or (kind == "quoted" and len(value) >= 8 and not value.isidentifier())
