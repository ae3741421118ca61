import uuid
from collections.abc import Iterable
from itertools import batched
from typing import Protocol

from django.db import models
from django.db.models import Case, When
from django.db.models.functions import Substr

from sessions_app.models.credentials import Caller
from sessions_app.models.message import MESSAGE_ID_LENGTH, Message, Role, names_of_role
from sessions_app.models.times import now

SCHEMA_VERSION = 1
TITLE_LENGTH = 200
OPENING_STEP_LENGTH = 64
EXTERNAL_ID_LENGTH = 128
METADATA_BYTES = 16_384
TAG_LENGTH = 64
MOST_TAGS = 20
# What pages call a session in which nothing is asked yet.
UNTITLED = "Untitled session"
# Characters of a question that names a session; messages among which it is looked for.
QUESTION_LENGTH, FIRST_MESSAGES = 80, 50
# PostgreSQL would compile a statement about more of them, which takes longer than the statement.
NAMED_AT_ONCE = 100
# How agents' programs begin what they say in the person's name: `<command-name>`, `<system-reminder>`. Tags of HTML, about which
# people ask, have no sign in their names.
_BY_PROGRAMS = r"^\s*</?[a-z]+[-_][a-z]"


class Titled(Protocol):
    """A session in any form."""

    @property
    def id(self) -> uuid.UUID: ...

    @property
    def title(self) -> str: ...


class SessionState(models.TextChoices):
    """The state shown to users. `archived_at` does not suffice: a session is also archived when another one becomes current."""

    CURRENT = "current"
    EARLIER = "earlier"
    ARCHIVED = "archived"
    TRASH = "trash"


class ChatSessionQuerySet(models.QuerySet["ChatSession"]):
    def visible_to(self, caller: Caller) -> "ChatSessionQuerySet":
        own = self.filter(project__owner_id=caller.user_id)
        return own if caller.project_id is None else own.filter(project_id=caller.project_id)

    def alive(self) -> "ChatSessionQuerySet":
        return self.filter(deleted_at=None, project__deleted_at=None)

    def in_state(self, state: SessionState) -> "ChatSessionQuerySet":
        if state == SessionState.TRASH:
            return self.exclude(deleted_at=None)
        rows, is_current = self.filter(deleted_at=None), models.Q(project__current_session_id=models.F("id"))
        if state == SessionState.CURRENT:
            return rows.filter(is_current)
        if state == SessionState.ARCHIVED:
            return rows.exclude(archive_requested_at=None)
        return rows.filter(archive_requested_at=None).exclude(is_current)

    def names_of(self, sessions: Iterable[Titled]) -> dict[uuid.UUID, str]:
        """What pages call these sessions: the title, without one the beginning of the first question that a person asked, without
        that its program's own id. One statement for each hundred that have no title, none if there are none."""
        titles = {session.id: session.title for session in sessions}
        untitled = [session_id for session_id, title in titles.items() if not title]
        others = {pk: words for some in batched(untitled, NAMED_AT_ONCE) for pk, words in self._questions_or_ids(some).items()}
        return {session_id: title or others.get(session_id) or UNTITLED for session_id, title in titles.items()}

    def name_of(self, session: Titled) -> str:
        return self.names_of([session])[session.id]

    def _questions_or_ids(self, session_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, str]:
        """A question is looked for among the first messages only, because a session may have none at all. What a program put
        there (`_BY_PROGRAMS`) counts where nothing else was asked."""
        session, epoch = (models.OuterRef(models.OuterRef(name)) for name in ("pk", "epoch"))
        live = Message.objects.filter(session=session, epoch=epoch, removed="", aside=None)
        first = live.order_by("position").values("pk")[:FIRST_MESSAGES]
        asked = Message.objects.filter(pk__in=first, role__in=names_of_role(Role.USER), text__regex=r"\S")
        by_people = asked.order_by(Case(When(text__regex=_BY_PROGRAMS, then=1), default=0), "position")
        words = by_people.annotate(words=Substr("text", 1, 4 * QUESTION_LENGTH)).values("words")[:1]
        rows = ChatSession.objects.filter(pk__in=list(session_ids)).annotate(question=models.Subquery(words)).order_by()
        found = rows.values_list("pk", "question", "external_id")
        return {pk: _one_line(question) if question else external_id or "" for pk, question, external_id in found}


def _one_line(text: str) -> str:
    """Its beginning, cut between two words."""
    line = " ".join(text.split())
    if len(line) <= QUESTION_LENGTH:
        return line
    beginning, _, rest = line[:QUESTION_LENGTH].rpartition(" ")
    return f"{beginning or rest}\u2026"


class ChatSession(models.Model):
    """One conversation. Its counters describe the live messages of the current epoch; clearing begins a new epoch."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # Other indexes begin with it.
    project = models.ForeignKey("sessions_app.Project", on_delete=models.CASCADE, related_name="sessions", db_index=False)
    external_id = models.CharField(max_length=EXTERNAL_ID_LENGTH, null=True, blank=True)
    title = models.CharField(max_length=TITLE_LENGTH, blank=True)
    opening_step = models.CharField(max_length=OPENING_STEP_LENGTH, blank=True)
    schema_version = models.PositiveSmallIntegerField(default=SCHEMA_VERSION, editable=False)
    # Its live messages are stored under this epoch. After an undo of a clear, which reuses the cleared epoch, the epoch that
    # clients know is higher by `epochs_ahead`. Then messages up to the position `revived_to` count as written at
    # `revived_rev` or one of the `revived_revs` before it, without a writer, if their own rev is lower (see `Live`).
    # NULL (0; of the last one 1), so that SQLite adds the columns in place.
    epoch = models.PositiveBigIntegerField(default=1, editable=False)
    epochs_ahead = models.PositiveBigIntegerField(null=True, editable=False)
    revived_rev = models.PositiveBigIntegerField(null=True, editable=False)
    revived_to = models.PositiveBigIntegerField(null=True, editable=False)
    revived_revs = models.PositiveBigIntegerField(null=True, editable=False)
    rev = models.PositiveBigIntegerField(default=0, editable=False)
    # Position of the session's newest message; grows through all epochs, so that an undo needs no renumbering.
    last_position = models.PositiveBigIntegerField(default=0, editable=False)
    message_count = models.PositiveIntegerField(default=0, editable=False)
    size_bytes = models.PositiveBigIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(default=now, editable=False)
    updated_at = models.DateTimeField(default=now, editable=False)
    archived_at = models.DateTimeField(null=True, blank=True)
    # When a user archived it; None if it only lost its place as the current session. Nullable also
    # because SQLite then adds the column in place: a rebuilt table would lose the triggers that keep the index of titles.
    archive_requested_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    # The import that created it.
    import_id = models.UUIDField(null=True, blank=True, editable=False)
    # JSON as text, returned unchanged: an object, and a list of texts. NULL: none. All three are nullable, so that SQLite
    # adds the columns in place.
    metadata = models.TextField(null=True, blank=True)
    tags = models.TextField(null=True, blank=True)
    pinned = models.BooleanField(null=True, blank=True)
    # The id of the last message of the path that is shown; '' = the path is empty. NULL: the session has no branches.
    head = models.CharField(max_length=MESSAGE_ID_LENGTH, null=True, editable=False)

    objects = ChatSessionQuerySet.as_manager()

    class Meta:
        verbose_name = "session"
        ordering = ("-updated_at", "id")
        constraints = [
            models.UniqueConstraint(
                fields=["project", "external_id"],
                condition=models.Q(external_id__isnull=False),
                name="session_external_id_unique_in_project",
            ),
        ]
        indexes = [
            models.Index("project", models.F("updated_at").desc(), "id", name="session_browse"),
            models.Index("import_id", name="session_imported", condition=models.Q(import_id__isnull=False)),
            models.Index("project", "created_at", "id", name="session_by_creation"),
            models.Index("project", "title", "id", name="session_by_title"),
            # The few among many: each is read without the others.
            models.Index("project", models.F("updated_at").desc(), "id", name="session_pinned", condition=models.Q(pinned=True)),
            models.Index(
                *("project", models.F("updated_at").desc(), "id"),
                name="session_archived",
                condition=models.Q(archive_requested_at__isnull=False),
            ),
            models.Index(
                *("project", models.F("updated_at").desc(), "id"),
                name="session_trash",
                condition=models.Q(deleted_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.title or str(self.id)


class SessionTag(models.Model):
    """Which sessions of a project have a tag: an index of `ChatSession.tags`, which the database's triggers keep.

    A table, because SQLite has no index on the members of a JSON list. With the project, because a tag that everybody uses
    must cost no more than the caller's own sessions. Kept by triggers, so that every way in which a session is written
    (saves aside, which touch no tags) is covered: imports, forks, moves, deletions. Reads take the tags from the session's
    own row, so resume and lists cost no further statement. Only triggers write this table.
    """

    session = models.ForeignKey(
        ChatSession, on_delete=models.DO_NOTHING, related_name="tag_rows", db_index=False, db_constraint=False
    )
    project = models.ForeignKey(
        "sessions_app.Project", on_delete=models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False
    )
    tag = models.CharField(max_length=TAG_LENGTH)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "tag"], name="session_tag_once")]
        indexes = [models.Index(fields=["project", "tag", "session"], name="session_by_tag")]

    def __str__(self) -> str:
        return self.tag


class Clearing(models.Model):
    """A clear of a session, which ended an epoch. The epoch's messages stay until they are pruned."""

    session = models.ForeignKey("sessions_app.ChatSession", on_delete=models.CASCADE, related_name="clearings")
    epoch = models.PositiveBigIntegerField()
    # Epoch under which its messages are stored (see `ChatSession.epoch`); None: the epoch itself.
    filed_under = models.PositiveBigIntegerField(null=True, editable=False)
    opening_step = models.CharField(max_length=OPENING_STEP_LENGTH, blank=True)
    # The session's, see there.
    head = models.CharField(max_length=MESSAGE_ID_LENGTH, null=True, editable=False)
    message_count = models.PositiveIntegerField(default=0)
    size_bytes = models.PositiveBigIntegerField(default=0)
    cleared_at = models.DateTimeField(default=now)
    undone_at = models.DateTimeField(null=True, blank=True)
    purged_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["session", "epoch"], name="cleared_once"),)

    def __str__(self) -> str:
        return f"epoch {self.epoch}"

    @property
    def messages_epoch(self) -> int:
        """The epoch stored in its messages."""
        return self.epoch if self.filed_under is None else self.filed_under
