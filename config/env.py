"""Typed readers of the environment. A value that cannot be read stops the start with one clear line."""

import os
import secrets
import tempfile
from contextlib import suppress
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

PREFIX = "STILLHERE_"
# Of a number that has no limit of its own: bytes, rows, requests. A petabyte, and what every database can compare.
MOST = 10**15
A_DAY = 86_400
# Of a secret key in characters: random ones of 16 bytes, as hexadecimal digits.
KEY_LENGTH, KEY_VARIETY = 32, 5
# They would break the lines that name a path, and the lines of the log.
_CONTROL = {*map(chr, range(32)), "\x7f"}


def text(name: str, default: str = "") -> str:
    """The variable's text, or `default` where it is unset or empty."""
    return os.environ.get(PREFIX + name, "").strip() or default


def web_address(name: str) -> str:
    """An http(s) address without a slash at its end; empty where it is unset."""
    value = _http_address(name)
    url = _split(name, value)
    _port(name, url)
    if value and not url.hostname:
        raise ImproperlyConfigured(f"{PREFIX}{name} must name a host, as http://127.0.0.1:8000.")
    return value


def origin(name: str) -> str:
    """The same without a path: the server is at the root of its host."""
    value = _http_address(name)
    if value and not _is_origin(value):
        raise ImproperlyConfigured(f"{PREFIX}{name} must be scheme and host, as https://chat.example.org, not {value!r}.")
    return value


def host(name: str, default: str) -> str:
    """A name or address to listen on, without brackets."""
    value = text(name, default).removeprefix("[").removesuffix("]")
    if not _is_host(bracketed(value)):
        raise ImproperlyConfigured(f"{PREFIX}{name} must be a host name or an address without scheme and port, not {value!r}.")
    return value


def hosts(name: str) -> list[str]:
    """A comma-separated list of host names."""
    for value in (found := names(name)):
        if not _is_host(value):
            raise ImproperlyConfigured(f"{PREFIX}{name}: {value!r} is no host name: write it without scheme and port.")
    return found


def bracketed(host: str) -> str:
    """The host in the form that addresses use."""
    return f"[{host}]" if ":" in host else host


def integer(name: str, default: int, *, least: int = 0, most: int = MOST) -> int:
    """A whole number from `least` to `most`."""
    value = text(name, str(default))
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{PREFIX}{name} must be a whole number, not {value!r}.") from None
    if number < least:
        raise ImproperlyConfigured(f"{PREFIX}{name} must be at least {least}, not {number}.")
    if number > most:
        raise ImproperlyConfigured(f"{PREFIX}{name} must be at most {most}, not {number}.")
    return number


def flag(name: str, *, default: bool) -> bool:
    value = text(name, "1" if default else "0").lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{PREFIX}{name} must be 1 or 0, not {value!r}.")


def choice(name: str, known: set[str], default: str) -> str:
    """One of a fixed set of values."""
    value = text(name, default).lower()
    if value not in known:
        raise ImproperlyConfigured(f"{PREFIX}{name} must be one of {', '.join(sorted(known))}, not {value!r}.")
    return value


def origins(name: str) -> list[str]:
    """Comma-separated origins: scheme, host and perhaps a port."""
    found = [item.removesuffix("/") for item in names(name)]
    for origin in found:
        if not (origin.startswith(("http://", "https://")) and _is_origin(origin)):
            raise ImproperlyConfigured(f"{PREFIX}{name}: {origin!r} is no origin: write it as https://chat.example.org.")
    return found


def names(name: str, default: str = "") -> list[str]:
    """A comma-separated list."""
    return [item.strip() for item in text(name, default).split(",") if item.strip()]


def folder(name: str, default: Path) -> Path:
    """A folder that only its owner may enter; created if it is missing."""
    path = Path(text(name, str(default))).expanduser().resolve()
    if _CONTROL & set(str(path)):
        raise ImproperlyConfigured(f"{PREFIX}{name} must be a folder without line breaks and tabs, not {str(path)!r}.")
    return made(name, path)


def made(name: str, path: Path) -> Path:
    """The same for a folder that the variable implies."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(f"{PREFIX}{name}: cannot make {path}: {error.strerror}.") from None
    return path


def secret(name: str, file: Path) -> str:
    """The variable, or the secret kept in `file` (0600), which is generated once, by one process only."""
    if given := text(name):
        return _hard_to_guess(given, f"{PREFIX}{name}")
    try:
        if not file.exists():
            _write_once(file, secrets.token_urlsafe(48))
        kept = file.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise ImproperlyConfigured(f"{file} cannot be read or written: {getattr(error, 'strerror', 'no ASCII')}.") from None
    if not kept:
        raise ImproperlyConfigured(f"{file} is empty. Delete it, and the next start writes another key, or set {PREFIX}{name}.")
    return _hard_to_guess(kept, str(file))


def _hard_to_guess(key: str, where: str) -> str:
    if len(key) < KEY_LENGTH or len(set(key)) < KEY_VARIETY:
        raise ImproperlyConfigured(
            f"{where} can be guessed: a secret key has at least {KEY_LENGTH} random characters, as `openssl rand -hex 32` prints."
        )
    return key


def _write_once(file: Path, content: str) -> None:
    """The file appears with its content: never empty, for another process or after a crash."""
    handle, part = tempfile.mkstemp(prefix=f"{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(handle)
        with suppress(FileExistsError):  # Another process was quicker.
            os.link(part, file)
    finally:
        os.unlink(part)


def database(name: str, default: Path) -> dict[str, Any]:
    """Django's ENGINE, NAME, … from `sqlite:////folder/file.sqlite3` or
    `postgresql://user:password@host:port/name?option=value`. `default`: a file of SQLite."""
    if not (given := text(name)):
        return {"ENGINE": "config.sqlite", "NAME": _database_file(name, str(default))}
    url = _split(name, given)
    if url.scheme in {"sqlite", "sqlite3"}:
        if set("#?") & set(given):  # What follows would not be a part of the name, and stores would share a file.
            raise ImproperlyConfigured(f"{PREFIX}{name}: write # as %23 and ? as %3F in the name of a file.")
        return {"ENGINE": "config.sqlite", "NAME": _database_file(name, unquote(url.path[1:]))}
    if url.scheme in {"postgres", "postgresql"}:
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(url.path.lstrip("/")),
            "USER": unquote(url.username or ""),
            "PASSWORD": unquote(url.password or ""),
            "HOST": url.hostname or "",
            "PORT": _port(name, url) or "",
            "OPTIONS": _libpq_options(name, dict(parse_qsl(url.query))),
        }
    raise ImproperlyConfigured(f"{PREFIX}{name} must begin with sqlite:// or postgresql://.")


def redis(name: str) -> str:
    """`redis://user:password@host:port/number`, also rediss:// or unix://; empty where it is unset. Errors never quote it."""
    value = text(name)
    url = _split(name, value)
    if value and url.scheme not in {"redis", "rediss", "unix"}:
        raise ImproperlyConfigured(f"{PREFIX}{name} must begin with redis://, rediss:// or unix://.")
    if url.scheme != "unix":
        _port(name, url)
        if (number := url.path.strip("/")) and not (number.isascii() and number.isdigit()):
            raise ImproperlyConfigured(f"{PREFIX}{name} must end with the number of a database, as redis://127.0.0.1:6379/0.")
    return value


def bucket(name: str) -> dict[str, Any] | None:
    """Django's file storage from `s3://key:secret@host:port/bucket?region=…`; None where it is unset.

    Without a host it is Amazon's; `?tls=0`: the host speaks plain HTTP. Errors never quote the address, which has a secret.
    """
    url = _split(name, text(name))
    if not url.geturl():
        return None
    options, place = dict(parse_qsl(url.query)), url.netloc.rpartition("@")[2]
    own = url.path.strip("/")
    if url.scheme != "s3" or not own or "/" in own or options.keys() - {"region", "tls"}:
        raise ImproperlyConfigured(f"{PREFIX}{name} must be s3://key:secret@host:port/bucket?region=…, with one bucket.")
    _port(name, url)
    told = {
        "bucket_name": own,
        "access_key": unquote(url.username or "") or None,
        "secret_key": unquote(url.password or "") or None,
        "region_name": options.get("region"),
        "endpoint_url": f"{'http' if options.get('tls') == '0' else 'https'}://{place}" if place else None,
    }
    return {"BACKEND": "sessions_app.chats.files.bucket_storage.BucketStorage", "OPTIONS": told}


def _http_address(name: str) -> str:
    value = text(name).rstrip("/")
    if value and not value.startswith(("http://", "https://")):
        raise ImproperlyConfigured(f"{PREFIX}{name} must start with http:// or https://, not {value!r}.")
    return value


def _is_origin(value: str) -> bool:
    try:
        parts = urlsplit(value)
        return bool(parts.hostname) and parts.port != 0 and "@" not in value and value == f"{parts.scheme}://{parts.netloc}"
    except ValueError:  # An invalid port or invalid brackets.
        return False


def _is_host(value: str) -> bool:
    if value.startswith("[") and value.endswith("]"):
        try:
            return IPv6Address(value[1:-1]).version == 6
        except ValueError:
            return False
    return not set(value) & set("/:@[]?# \t")


def _database_file(name: str, path: str) -> str:
    """SQLite would say of a missing folder only that it cannot open the file. Without a file nothing would be kept."""
    if not path or Path(path).is_dir():
        raise ImproperlyConfigured(f"{PREFIX}{name} must name a file, as sqlite:////folder/file.sqlite3.")
    if path != ":memory:" and not Path(path).parent.is_dir():
        raise ImproperlyConfigured(f"{PREFIX}{name}: there is no folder {Path(path).parent}.")
    return path


def _libpq_options(name: str, given: dict[str, str]) -> dict[str, Any]:
    from psycopg import ProgrammingError, conninfo

    # Hand-written statements are prepared when they come the second time; Django's own never are.
    threshold = given.pop("prepare_threshold", "1")
    if not (threshold.isascii() and threshold.isdigit()):
        raise ImproperlyConfigured(f"{PREFIX}{name}: prepare_threshold must be a whole number, not {threshold!r}.")
    try:
        conninfo.make_conninfo("", **given)
        conninfo.timeout_from_conninfo(dict(given))
    except ProgrammingError as error:
        raise ImproperlyConfigured(f"{PREFIX}{name}: {str(error).strip()}.") from None
    return {**given, "prepare_threshold": int(threshold)}


def _split(name: str, value: str) -> SplitResult:
    try:
        return urlsplit(value)
    except ValueError:
        raise ImproperlyConfigured(f"{PREFIX}{name} has an invalid host.") from None


def _port(name: str, url: SplitResult) -> int | None:
    try:
        return url.port
    except ValueError:
        raise ImproperlyConfigured(f"{PREFIX}{name} has a port that is not a number from 1 to 65535.") from None
