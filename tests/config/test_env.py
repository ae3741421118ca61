"""Settings from the environment: an invalid value stops the start with one clear line."""

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env
from config.backups import postgresql
from config.server.file_locks import locked
from tests.support.suite import some_of

# Each of another kind: brackets, port, password, and what begins with nothing after it.
BROKEN = ["http://[::1", "https://h:99999", "https://h:x", "https://u:p@h", "https://h?", "https://h#"]
ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ROOT / "config" / "settings.py"
NUMBERS = re.findall(r'env\.integer\("(\w+)"', SETTINGS.read_text())


@pytest.mark.parametrize(
    "value", ["https://chat.example.org", "http://127.0.0.1:8000/", "http://[::1]:8000", "http://[2001:db8::1]"]
)
def test_a_public_address_is_scheme_and_host(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("STILLHERE_PUBLIC_URL", value)
    assert env.origin("PUBLIC_URL") == value.rstrip("/")


@pytest.mark.parametrize(
    "value", ["chat.example.org", "https://", "https://example.org/chat", "https://example.org?a=b", "ftp://x", *BROKEN]
)
def test_a_public_address_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("STILLHERE_PUBLIC_URL", value)
    with pytest.raises(ImproperlyConfigured, match="STILLHERE_PUBLIC_URL must"):
        env.origin("PUBLIC_URL")


def test_origins_may_end_with_a_slash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STILLHERE_CORS_ORIGINS", "http://127.0.0.1:8080/, https://chat.example.org")
    assert env.origins("CORS_ORIGINS") == ["http://127.0.0.1:8080", "https://chat.example.org"]
    for wrong in ("https://chat.example.org//", "file://", "file:///"):
        monkeypatch.setenv("STILLHERE_CORS_ORIGINS", wrong)
        with pytest.raises(ImproperlyConfigured, match="is no origin"):
            env.origins("CORS_ORIGINS")


def test_a_python_without_django_is_told_which_one_has_it() -> None:
    """As that of the system has none."""
    done = subprocess.run([sys.executable, "-S", "manage.py", "migrate"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, "make install" in done.stderr, "Traceback" in done.stderr) == (1, True, False), done.stderr


def told_by_a_start(**settings: str) -> tuple[str, str]:
    """Where a server with these settings would be and by which names, and what it says against them."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("STILLHERE_")}
    variables = {f"STILLHERE_{name}": value for name, value in settings.items()}
    code = "from django.conf import settings; print(settings.PUBLIC_URL, *settings.ALLOWED_HOSTS)"
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code]
    done = subprocess.run(command, cwd=ROOT, env={**inherited, **variables}, capture_output=True, text=True, check=False)
    return done.stdout.strip(), done.stderr


def test_an_ipv6_address_is_put_in_brackets(tmp_path: Path) -> None:
    for host in some_of(("2001:db8::1", "[2001:db8::1]"), one_in=2):
        address, said = told_by_a_start(HOST=host, PORT="8123", DATA_DIR=str(tmp_path))
        assert (address.split()[0], said) == ("http://[2001:db8::1]:8123", "")
        assert "[2001:db8::1]" in address.split()[1:]


def test_a_setting_that_cannot_be_is_told_in_a_line(tmp_path: Path) -> None:
    address, said = told_by_a_start(LOG_LEVEL="loud", DATA_DIR=str(tmp_path))
    assert address == ""
    assert "STILLHERE_LOG_LEVEL must be one of critical, debug, error, fatal, info, warn, warning, not 'loud'." in said
    assert "Traceback" not in said


WRONG = (
    (lambda: env.host("X", "127.0.0.1"), ("http://127.0.0.1", "127.0.0.1:80", "a/b", "a b", "[::1x]", "1::2::3")),
    (lambda: env.hosts("X"), ("https://chat.example.org", "chat.example.org:8000", "a.org, b/c")),
    (
        lambda: env.redis("X"),
        ("http://h", "127.0.0.1:6379", "redis://h:99999/0", "redis://h/abc", "redis://[::1", "redis://:geheim@h/x"),
    ),
    (lambda: env.web_address("X"), ("http://[::1", "http://h:x/v1", "http:///v1", "https://?a")),
    (lambda: env.bucket("X"), ("s3://[::1/b",)),
    (
        lambda: env.database("X", Path("unset")),
        (
            "postgresql://[::1",
            "postgresql://u:geheim@h/x?bogus=1",
            "postgresql://h/x?prepare_threshold=x",
            "postgresql://h/x?connect_timeout=x",
        ),
    ),
    (
        lambda: env.database("X", Path("unset")),
        ("sqlite://", "sqlite:///", "sqlite:////tmp", "sqlite:////no/such/folder/a.sqlite3"),
    ),
    # Two of these shared the file `/tmp/chat`.
    (lambda: env.database("X", Path("unset")), ("sqlite:////tmp/chat#1", "sqlite:////tmp/chat?1")),
    (lambda: env.folder("X", Path("unset")), ("/tmp/line\nbreak", "/tmp/a\ttab")),
)


@pytest.mark.parametrize(("read", "value"), [(read, value) for read, values in WRONG for value in values])
def test_an_address_that_cannot_be_used_is_told_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[], object], value: str
) -> None:
    monkeypatch.setenv("STILLHERE_X", value)
    with pytest.raises(ImproperlyConfigured, match="STILLHERE_X") as caught:
        read()
    assert "geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_addresses_that_are_right_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def read[T](reader: Callable[[str], T], value: str) -> T:
        monkeypatch.setenv("STILLHERE_X", value)
        return reader("X")

    for value in ("redis://127.0.0.1:6379/0", "rediss://u:p@h", "unix:///run/redis.sock?db=1", "redis://h:6379"):
        assert read(env.redis, value) == value
    assert read(env.hosts, "a.org, .b.org,*,[::1]") == ["a.org", ".b.org", "*", "[::1]"]
    assert [read(lambda name: env.host(name, ""), value) for value in ("::1", "[::1]", "0.0.0.0", "box")] == [
        *("::1", "::1", "0.0.0.0", "box")
    ]
    assert read(env.web_address, "http://[::1]:11434/v1/") == "http://[::1]:11434/v1"
    url = "postgresql://u:p@h/x?sslmode=require&prepare_threshold=1000000"
    assert read(lambda name: env.database(name, Path("unset")), url)["OPTIONS"] == {
        "sslmode": "require",
        "prepare_threshold": 1_000_000,
    }
    assert read(lambda name: env.database(name, Path("unset")), f"sqlite:///{tmp_path}/a")["NAME"] == f"{tmp_path}/a"


def test_a_backup_of_postgresql_connects_as_the_server_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else pg_dump connects to the default socket, where there may be another database of this name."""
    query = "host=/run/other&port=5433&user=eve&password=p%20w&ssl_min_protocol_version=TLSv1.3&connect_timeout=3&keepalives=1"
    monkeypatch.setenv("STILLHERE_DATABASE_URL", f"postgresql://ana@/chat?{query}")
    assert postgresql.environment_of(env.database("DATABASE_URL", Path()), "chat") == {
        "PGDATABASE": "chat",
        "PGHOST": "/run/other",
        "PGPORT": "5433",
        "PGUSER": "ana",
        "PGPASSWORD": "p w",
        "PGSSLMINPROTOCOLVERSION": "TLSv1.3",
        "PGCONNECT_TIMEOUT": "3",
    }


def test_a_data_folder_of_any_name_has_its_own_database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those of `chat#1` and `chat#2` was the same file, because the path was read as an address."""
    monkeypatch.delenv("STILLHERE_DATABASE_URL", raising=False)
    for name in ("chat#1", "chat?2", "chat%41", "chat 3 ü"):
        monkeypatch.setenv("STILLHERE_DATA_DIR", str(tmp_path / name))
        assert runpy.run_path(str(SETTINGS))["DATABASES"]["default"]["NAME"] == str(tmp_path / name / "stillhere.sqlite3")


def test_a_generated_key_is_never_seen_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was killed, or met a full disk, between the file and its content left one that stopped every start."""
    monkeypatch.delenv("STILLHERE_SECRET_KEY", raising=False)
    file = tmp_path / "secret_key"

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr("os.fsync", fail)
        with pytest.raises(ImproperlyConfigured, match="No space left on device"):
            env.secret("SECRET_KEY", file)
    assert list(tmp_path.iterdir()) == []
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: env.secret("SECRET_KEY", file), range(32)))
    assert found == {file.read_text()}
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]
    file.write_text("")
    with pytest.raises(ImproperlyConfigured, match="is empty"):
        env.secret("SECRET_KEY", file)


@pytest.mark.parametrize("value", ["x", "a" * 64, "correct horse battery staple"])
def test_a_key_that_can_be_guessed_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str) -> None:
    """A key that can be guessed lets anybody sign in as anybody."""
    file = tmp_path / "secret_key"
    monkeypatch.setenv("STILLHERE_SECRET_KEY", value)
    with pytest.raises(ImproperlyConfigured, match="STILLHERE_SECRET_KEY") as caught:
        env.secret("SECRET_KEY", file)
    assert "\n" not in str(caught.value)
    monkeypatch.delenv("STILLHERE_SECRET_KEY")
    file.write_text(f"{value}\n")
    with pytest.raises(ImproperlyConfigured, match="secret_key"):
        env.secret("SECRET_KEY", file)


def test_a_key_of_32_characters_is_long_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    key = "9f86d081884c7d659a2feaa0c55ad015"
    monkeypatch.setenv("STILLHERE_SECRET_KEY", key)
    assert env.secret("SECRET_KEY", tmp_path / "secret_key") == key


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_beyond_all_sense_is_refused_in_a_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    """Else the server ends much later with another complaint, or serves without its background tasks: 100,000 threads are more
    than a machine has, and a pause of 300 years cannot be waited for."""
    monkeypatch.setenv("STILLHERE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv(f"STILLHERE_{name}", "9" * 18)
    with pytest.raises(ImproperlyConfigured, match=rf"^STILLHERE_{name} must be at most [0-9]+, not 9+\.$"):
        runpy.run_path(str(SETTINGS))


def test_more_threads_than_a_machine_has_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STILLHERE_DATA_DIR", str(tmp_path))
    for name in ("THREADS", "CHAT_STREAMS", "WORKERS"):
        monkeypatch.setenv(f"STILLHERE_{name}", "100000")
        with pytest.raises(ImproperlyConfigured, match=f"STILLHERE_{name} must be at most"):
            runpy.run_path(str(SETTINGS))
        monkeypatch.delenv(f"STILLHERE_{name}")


def test_a_data_folder_that_cannot_be_written_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As one on a disk that was mounted read-only. The obstacle here stops root too."""
    (tmp_path / "static").write_text("no folder")
    address, said = told_by_a_start(DATA_DIR=str(tmp_path))
    assert (address, said.count("\n")) == ("", 1)
    assert f"STILLHERE_DATA_DIR: cannot make {tmp_path}/static: File exists." in said
    (tmp_path / "starting.lock").mkdir()
    with (
        pytest.raises(ImproperlyConfigured, match=r"starting\.lock cannot be written: Is a directory\."),
        locked(tmp_path / "starting.lock"),
    ):
        pass
