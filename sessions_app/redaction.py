"""Takes secrets out of what is about to be stored. Pure; every pattern runs in linear time, however hostile the text.

High precision only: fields and headers whose name says that they hold a secret, and formats that are a secret wherever
they stand. What is found reads `[REDACTED:kind]` afterwards; a text that is redacted already stays as it is.
"""

import re
from collections import Counter
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
# What schemas and forms put where a value would stand.
_NO_SECRETS = {"", "string", "str", "text", "number", "integer", "boolean", "null", "none", "required", "optional", "uuid", "jwt"}
_MARK = "[REDACTED:"

_ASSIGNED = r"[\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|pwd)"
# A group's name is the kind; `…_value` is the part that is secret, `…_name` the field's name. Not set: all of it is.
_PATTERNS = [
    (
        r"(?P<private_key>-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:-?[^-])*"
        r"(?:-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?)"
    ),
    r"(?P<jwt>\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,})",
    r"(?P<aws_key>\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b)",
    r"(?P<github_token>\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})\b)",
    r"(?P<gitlab_token>\bgl(?:pat|dt|rt|cbt|ptt|soat)-[\w-]{20,})",
    r"(?P<slack_token>\bxox[abeoprs]-[0-9][A-Za-z0-9-]{9,}|\bxapp-[0-9]-[A-Za-z0-9-]{20,})",
    r"(?P<slack_webhook>hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,})",
    r"(?P<stripe_key>\b(?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,})",
    r"(?P<anthropic_key>\bsk-ant-[\w-]{32,})",
    r"(?P<openai_key>\bsk-(?:(?:proj|svcacct|admin)-[\w-]{40,}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|[A-Za-z0-9]{48}\b))",
    r"(?P<google_key>\bAIza[\w-]{35}|\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{28})",
    r"(?P<npm_token>\bnpm_[A-Za-z0-9]{36}\b)",
    r"(?P<pypi_token>\bpypi-AgE[\w-]{50,})",
    r"(?P<hugging_face_token>\bhf_[A-Za-z]{34}\b)",
    r"(?P<sendgrid_key>\bSG\.[\w-]{22}\.[\w-]{43})",
    r"(?P<digitalocean_token>\bdo[opr]_v1_[a-f0-9]{64}\b)",
    r"(?P<stillhere_key>\bsh_[0-9A-Za-z]{49}\b)",
    # `Cookie: …` and `Authorization: …` to the end of the line, in dumps of requests and in commands.
    (
        r"(?P<header>(?i:\b(?P<header_name>(?:proxy-)?authorization|(?:set-)?cookie)['\"]?[ \t]{0,9}:[ \t]{0,9}['\"]?)"
        r"(?P<header_value>[^\r\n'\"]{4,}))"
    ),
    r"(?P<bearer>(?i:\bbearer)[ ]+(?P<bearer_value>[A-Za-z0-9._~+/=-]{16,}))",
    r"(?P<url_password>\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"<>]{0,100}:(?P<url_value>[^\s/:@'\"<>]{3,200})@)",
    # `"password": "…"`, `token='…'`, `?api_key=…`, `DB_PASSWORD=…`.
    (
        rf"(?P<quoted>(?i:\b(?P<quoted_name>{_ASSIGNED})\\?['\"]?[ \t]{{0,9}}[:=][ \t]{{0,9}})"
        r"\\?['\"](?P<quoted_value>[^\s'\"\\]{6,}))"
    ),
    rf"(?P<plain>(?i:\b(?P<plain_name>{_ASSIGNED})=)(?P<plain_value>[\w.~+/%!@#$^*=-]{{6,}}))",
]
_SECRET = re2.compile("|".join(_PATTERNS))
# Nearly every string has none of these; only those that have one are looked at closely.
_HINT = re2.compile(
    r"(?i)eyJ|AKIA|ASIA|ABIA|ACCA|gh[pousr]_|github_pat_|gl[a-z]{2,4}-|xox|xapp-|hooks\.slack|k_live_|k_test_|whsec_|sk-|AIza|ya29\."
    r"|GOCSPX|npm_|pypi-|hf_|SG\.|o[opr]_v1_|sh_|PRIVATE KEY|authorization|cookie|bearer|://[^\s/]*@|pass|secret|token|key|pwd"
)
# Names of fields that hold secrets, as they stand in JSON text, which the hint does not know.
_NAME_HINT = re2.compile(r'(?i)auth|"[^a-z0-9"]*p[^a-z0-9"]*w[^a-z0-9"]*"')
_VALUES = {
    "header": "header_value",
    "bearer": "bearer_value",
    "url_password": "url_value",
    "quoted": "quoted_value",
    "plain": "plain_value",
}
_SHORTEST = 6
_GROUPS: dict[str, int] = _SECRET.groupindex
_KINDS = [(name, number) for name, number in _GROUPS.items() if not name.endswith(("_name", "_value"))]


# How many secrets of which kind were found.
type Redacted = dict[str, int]


def redact[T](value: T) -> tuple[T, Redacted]:
    """The JSON value without its secrets, and how many of which kind were taken out. `value` itself is not changed."""
    found: Counter[str] = Counter()
    return cast(T, _clean(value, found)), dict(found)


def redact_text(text: str) -> tuple[str, Redacted]:
    """The same for a text on its own."""
    found: Counter[str] = Counter()
    return _clean_text(text, found), dict(found)


def may_hold_secrets(json_text: str) -> bool:
    """A quick look at a value's JSON text: False means that `redact` would find nothing in the value."""
    return _HINT.search(json_text) is not None or _NAME_HINT.search(json_text) is not None


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
    if "value" in value and isinstance(named, str) and (kind := kind_of_name(named)):
        rest = {name: _clean(item, found) for name, item in value.items() if name != "value"}
        return {name: rest[name] if name in rest else _cover(value["value"], kind, found) for name in value}
    cleaned = {}
    for name, item in value.items():
        kind = kind_of_name(name)
        cleaned[_clean_text(name, found)] = _clean(item, found) if kind is None else _cover(item, kind, found)
    return cleaned


def kind_of_name(name: str) -> str | None:
    """What a field of this name holds, if that is a secret: `access_token` and `X-Auth-Token` do, `max_tokens` does not."""
    if len(name) > 100:
        return None
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    if plain in _NAMES:
        return _NAMES[plain]
    return next((kind for ending, kind in _ENDINGS.items() if plain.endswith(ending)), None)


def _cover(value: Any, kind: str, found: Counter[str]) -> Any:
    """A secret field's value. An object in such a place describes the field; its own fields are looked at one by one."""
    if isinstance(value, list):
        return [_cover(item, kind, found) for item in value]
    if isinstance(value, dict):
        return _clean_object(value, found)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and kind == "password"
    if not is_number and (not isinstance(value, str) or value.lower() in _NO_SECRETS or value.startswith(_MARK)):
        return value
    found[kind] += 1
    return f"{_MARK}{kind}]"


def _clean_text(text: str, found: Counter[str]) -> str:
    if len(text) < _SHORTEST or _HINT.search(text) is None:
        return text

    def replace(match: Any) -> str:
        return _replacement(match, found)

    cleaned: str = _SECRET.sub(replace, text)
    return cleaned


def _replacement(match: Any, found: Counter[str]) -> str:
    whole: str = match.group(0)
    kind = next(name for name, number in _KINDS if match.group(number) is not None)
    if kind not in _VALUES:
        found[kind] += 1
        return f"{_MARK}{kind}]"
    place = _GROUPS[_VALUES[kind]]
    value: str = match.group(place)
    if value.startswith(_MARK) or (kind in {"quoted", "plain"} and not _looks_secret(value, kind)):
        return whole
    named = _GROUPS.get(f"{kind}_name")
    label = kind if named is None else kind_of_name(match.group(named)) or "secret"
    found[label] += 1
    start = match.start(place) - match.start()
    return f"{whole[:start]}{_MARK}{label}]{whole[start + len(value) :]}"


def _looks_secret(value: str, kind: str) -> bool:
    """Code assigns variables and calls; a literal secret has a digit, and outside quotes no dotted name."""
    if value.lower() in _NO_SECRETS or value.startswith(("$", "{", "%", "<")):
        return False
    has_digit = any(character.isdigit() for character in value)
    return has_digit or (kind == "quoted" and len(value) >= 8 and not value.isidentifier())
