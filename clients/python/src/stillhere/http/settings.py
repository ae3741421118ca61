"""What a client is made with. What is left out is taken from the environment."""

import os
import posixpath
import uuid

_FOLDERS = ("/", "~", ".")


def setting(name: str, given: str | None, variable: str) -> str:
    """Raises ValueError if it is empty in both places."""
    if value := given or os.environ.get(variable):
        return value
    raise ValueError(f"Pass `{name}`, or set {variable}.")


def named(url: str | None, key: str | None, project: str | None) -> tuple[str, str, str]:
    """What these three stand for now, in this environment and folder. Raises ValueError if one is missing."""
    url, key = setting("url", url, "STILLHERE_URL"), setting("key", key, "STILLHERE_KEY")
    return url, key, project_name(setting("project", (project or "").strip(), "STILLHERE_PROJECT"))


def project_name(given: str) -> str:
    """One folder is one project, however it is written: what begins with `/`, `~` or `.` becomes an absolute path without empty
    parts, `.` and `..`. Another name, or an id, stays as it is. Blanks around it do not count."""
    named = given.strip()
    if not named.startswith(_FOLDERS):
        return named
    # A path that begins with `/` may be of another machine, also for Windows, where it would get the letter of a disk.
    path = named if named.startswith("/") else os.path.abspath(os.path.expanduser(named))
    return posixpath.normpath(f"/{path.lstrip('/')}" if path.startswith("/") else path)


def is_id(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
