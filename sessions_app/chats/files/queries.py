"""Reading files: which an account has, which a session uses, and which nothing refers to."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from sessions_app.core.errors import NotFound
from sessions_app.core.storage.sql import db_uuid, fetch_rows, rfc3339_sql
from sessions_app.models import Caller, FileReference, SessionFile, StoredFile
from sessions_app.models.file import SHA256_LENGTH

PREFIX = "sha256:"
_HEXADECIMAL = frozenset("0123456789abcdef")
_OF_SESSION = """
SELECT f.id, f.sha256, COALESCE(u.name, f.name), f.media_type, f.size_bytes, {created_at}
FROM sessions_app_storedfile f LEFT JOIN sessions_app_sessionfile u ON u.session_id = %s AND u.sha256 = f.sha256
WHERE f.owner_id = %s AND f.id > %s AND f.sha256 IN (
  SELECT sha256 FROM sessions_app_sessionfile WHERE session_id = %s
  UNION SELECT sha256 FROM sessions_app_filereference WHERE session_id = %s)
ORDER BY f.id LIMIT %s
"""


class FileNotStored(NotFound):
    kind = "file"
    message = "You have no file with this hash. Upload it with `POST /sessions/{id}/files`; a key may be limited to one project."


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A stored file. `name`: in the session that was asked about, else as it was first uploaded."""

    sha256: str
    name: str
    media_type: str
    size_bytes: int
    created_at: str = ""

    def as_json(self) -> dict[str, Any]:
        shape = {"file": PREFIX + self.sha256, "name": self.name, "media_type": self.media_type, "size_bytes": self.size_bytes}
        return shape | ({"created_at": self.created_at} if self.created_at else {})


def digest_of(reference: str) -> str | None:
    """The hash in `sha256:…` or in a bare hash; None for any other text."""
    digest = reference.removeprefix(PREFIX)
    return digest if len(digest) == SHA256_LENGTH and _HEXADECIMAL.issuperset(digest) else None


def visible_files(caller: Caller) -> QuerySet[StoredFile]:
    """The caller's files. A key that is limited to one project sees those that its sessions use or that were uploaded there."""
    own = StoredFile.objects.filter(owner_id=caller.user_id)
    if caller.project_id is None:
        return own
    there = {"sha256": OuterRef("sha256"), "session__project_id": caller.project_id}
    return own.filter(Exists(SessionFile.objects.filter(**there)) | Exists(FileReference.objects.filter(**there)))


def get_file(*, caller: Caller, reference: str) -> StoredFile:
    """Raises FileNotStored, alike for what is unknown and for what is somebody else's."""
    digest = digest_of(reference)
    found = None if digest is None else visible_files(caller).filter(sha256=digest).first()
    if found is None:
        raise FileNotStored
    return found


def find_files(*, user_id: int, digests: Iterable[str]) -> dict[str, FileInfo]:
    """Those of these files that the account has."""
    rows = StoredFile.objects.filter(owner_id=user_id, sha256__in=list(digests))
    columns = ("sha256", "name", "media_type", "size_bytes")
    return {row[0]: FileInfo(*row) for row in rows.values_list(*columns)}


def list_files(*, caller: Caller, session_id: uuid.UUID, after: int, limit: int) -> tuple[list[FileInfo], int | None]:
    """The files that a session uses or that were uploaded into it, and the place where the list continues."""
    session, statement = db_uuid(session_id), _OF_SESSION.format(created_at=rfc3339_sql("f.created_at"))
    rows = fetch_rows(statement, [session, caller.user_id, after, session, session, limit + 1])
    shown = rows[:limit]
    return [FileInfo(*row[1:]) for row in shown], shown[-1][0] if len(rows) > limit else None


def files_to_export(*, caller: Caller, session_id: uuid.UUID | None = None) -> QuerySet[StoredFile]:
    """The caller's files or, with a session, those that it uses or that were uploaded into it."""
    files = visible_files(caller).order_by("id")
    if session_id is None:
        return files
    there = {"sha256": OuterRef("sha256"), "session_id": session_id}
    return files.filter(Exists(SessionFile.objects.filter(**there)) | Exists(FileReference.objects.filter(**there)))


def unreferenced(files: QuerySet[StoredFile]) -> QuerySet[StoredFile]:
    """Those that no message and no conflict copy of their account names, live or in the trash."""
    owner = Q(session__project__owner_id=OuterRef("owner_id")) | Q(session__project__owner=None)
    return files.filter(~Exists(FileReference.objects.filter(owner, sha256=OuterRef("sha256"))))


def uploaded_into(files: list[StoredFile]) -> list[tuple[StoredFile, uuid.UUID]]:
    """These files with the sessions of their account into which they were uploaded."""
    named = {(file.owner_id, file.sha256): file for file in files}
    rows = SessionFile.objects.filter(sha256__in=[file.sha256 for file in files]).annotate(owner=F("session__project__owner_id"))
    found = (
        (named.get((owner, sha256)), session) for owner, sha256, session in rows.values_list("owner", "sha256", "session_id")
    )
    return [(file, session) for file, session in found if file is not None]
