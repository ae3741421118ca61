"""Reading which threads a project has."""

import uuid
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from memory_app.checkpoints.rows import Place
from memory_app.checkpoints.thread_locks import ThreadNotFound
from memory_app.models import Checkpoint, GraphThread, MemoryStore, PendingWrite
from sessions_app.core.public_names import Caller, rfc3339
from sessions_app.projects.queries import check_project

# The channels to which a graph writes what it asks when it stops for an answer, and how a task failed.
INTERRUPT, ERROR = "__interrupt__", "__error__"
# After every name that begins alike.
LAST_CHARACTER = "\U0010ffff"


def list_threads(*, caller: Caller, project_id: uuid.UUID, after: str, limit: int) -> list[GraphThread]:
    """By name, one more than `limit` if there are more."""
    check_project(caller=caller, project_id=project_id)
    return list(GraphThread.objects.filter(project_id=project_id, name__gt=after).order_by("name")[: limit + 1])


def thread_json(thread: GraphThread) -> dict[str, Any]:
    return {
        "thread": thread.name,
        "size_bytes": thread.size_bytes,
        "created_at": rfc3339(thread.created_at),
        "updated_at": rfc3339(thread.updated_at),
    }


def has_threads(project_id: uuid.UUID) -> bool:
    return GraphThread.objects.filter(project_id=project_id).exists()


def bytes_of_threads(project_ids: list[uuid.UUID]) -> dict[uuid.UUID, int]:
    """The bytes of all threads per project, for projects that have any. The caller must have checked access."""
    stores = MemoryStore.objects.filter(pk__in=project_ids, checkpoint_bytes__gt=0)
    return dict(stores.values_list("pk", "checkpoint_bytes"))


def get_thread(*, caller: Caller, project_id: uuid.UUID, name: str) -> GraphThread:
    """With `waits` and `failed`, as in the list. Raises ThreadNotFound."""
    check_project(caller=caller, project_id=project_id)
    thread = _saying_how_they_stand(GraphThread.objects.filter(project_id=project_id, name=name)).first()
    if thread is None:
        raise ThreadNotFound
    return thread


def list_newest_threads(
    *, caller: Caller, project_id: uuid.UUID, prefix: str, before: int | None, limit: int
) -> list[GraphThread]:
    """The last begun first, one more than `limit` if there are more. Each has `waits`: whether its graph waits for an answer,
    and `failed`: whether a task of it did.

    By their beginning, because the order of changes would need an index that each checkpoint has to write.
    """
    check_project(caller=caller, project_id=project_id)
    rows = GraphThread.objects.filter(project_id=project_id)
    if prefix:
        rows = rows.filter(name__gte=prefix, name__lt=prefix + LAST_CHARACTER)
    if before is not None:
        rows = rows.filter(pk__lt=before)
    return list(_saying_how_they_stand(rows).order_by("-pk")[: limit + 1])


def _saying_how_they_stand(rows: QuerySet[GraphThread]) -> QuerySet[GraphThread]:
    """The newest checkpoint of the whole graph counts, not that of a graph in it."""
    newest = Checkpoint.objects.filter(thread=OuterRef("pk"), ns="").order_by("-checkpoint_id").values("checkpoint_id")
    writes = PendingWrite.objects.filter(thread=OuterRef("pk"), ns="", checkpoint_id=OuterRef("newest"))
    return rows.annotate(newest=Subquery(newest[:1])).annotate(**_marks(writes))


def _marks(writes: QuerySet[PendingWrite]) -> dict[str, Exists]:
    return {"waits": Exists(writes.filter(channel=INTERRUPT)), "failed": Exists(writes.filter(channel=ERROR))}


def list_steps(*, thread: GraphThread, before: Place | None, limit: int) -> list[Checkpoint]:
    """A thread's checkpoints without their data, the newest first, one more than `limit` if there are more. Each has `waits` and
    `failed`."""
    rows = Checkpoint.objects.filter(thread=thread)
    if before is not None:
        ns, checkpoint_id = before
        rows = rows.filter(checkpoint_id__lte=checkpoint_id).exclude(checkpoint_id=checkpoint_id, ns__gte=ns)
    own = {"thread": OuterRef("thread"), "ns": OuterRef("ns"), "checkpoint_id": OuterRef("checkpoint_id")}
    shown = rows.only("thread_id", "ns", "checkpoint_id", "created_at", "state_bytes", "metadata")
    shown = shown.annotate(**_marks(PendingWrite.objects.filter(**own)))
    return list(shown.order_by("-checkpoint_id", "-ns")[: limit + 1])
