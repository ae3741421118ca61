"""Deletes files that nothing refers to, and content that no row names."""

from datetime import timedelta
from itertools import batched

from django.db import connection
from django.db.models import Q

from sessions_app.chats.files import blobs
from sessions_app.chats.files.queries import unreferenced, uploaded_into
from sessions_app.core.storage.transactions import write
from sessions_app.models import ConflictCopy, FileReference, Message, StoredFile
from sessions_app.models.times import now

# A file is uploaded before the message that refers to it is saved, and a page may be offline in between.
KEPT_FOR = timedelta(hours=24)
AT_ONCE = 100


def collect_files() -> int:
    """Delete a batch of files that nothing has referred to since their last upload a day ago. Returns their number.

    A save that refers to one at the same moment either keeps it, or comes after its deletion, as if the file had expired.
    """
    due = unreferenced(StoredFile.objects.filter(uploaded_at__lt=now() - KEPT_FOR))
    found = list(due.order_by("pk")[:AT_ONCE])
    _find_earlier_messages(found)
    gone = [key for file in found if (key := _delete(file)) is not None]
    blobs.delete(gone)
    return len(gone)


def _delete(file: StoredFile) -> str | None:
    """The key of the deleted row; None if the file is in use. One row in a transaction, so that nobody waits in a circle."""

    def work() -> str | None:
        rows = StoredFile.objects.filter(pk=file.pk, uploaded_at__lt=now() - KEPT_FOR)
        # On PostgreSQL a save's reference locks the row too: after this, either it is committed and seen, or it waits for us.
        locked = rows.select_for_update(skip_locked=True) if connection.vendor == "postgresql" else rows
        if not locked.values_list("pk", flat=True).first() or not unreferenced(rows).delete()[0]:
            return None
        return file.key

    return write(work)


def _find_earlier_messages(files: list[StoredFile]) -> None:
    """Adds the references of messages that were saved before their file: triggers see files that are stored already."""
    for file, session_id in uploaded_into(files):
        names = Q()
        for field in ("parts", "raw", "metadata"):
            names |= Q(**{f"{field}__contains": f"sha256:{file.sha256}"})
        shared = {"session_id": session_id, "sha256": file.sha256}
        made = [
            FileReference(**shared, **{column: pk})
            for column, model in (("message_id", Message), ("copy_id", ConflictCopy))
            for pk in model._default_manager.filter(names, session=session_id).values_list("pk", flat=True)
        ]
        if made:
            write(lambda made=made: FileReference.objects.bulk_create(made))  # type: ignore[misc]


def collect_orphans() -> int:
    """Delete content that no row names: of uploads that a crash interrupted, and of deleted accounts. Returns 0: all is done.

    What another store put into the same folder stays."""
    for owner_id in blobs.owners():
        for keys in batched(blobs.keys_of(owner_id), AT_ONCE):
            known = set(StoredFile.objects.filter(key__in=keys).values_list("key", flat=True))
            blobs.delete([key for key in keys if key not in known and _is_old(key) and blobs.is_of_this_store(key)])
    return 0


def _is_old(key: str) -> bool:
    """A younger one may be about to get its row."""
    at = blobs.stored_at(key)
    return at is not None and at < now() - KEPT_FOR
