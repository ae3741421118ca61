"""A message's content as it is stored: what a save sends, a conflict copy keeps and a transfer copies."""

from dataclasses import dataclass

from sessions_app.core.serialization.stored_json import quick_json
from sessions_app.models.message import Role, Status, common_role


@dataclass(slots=True)
class Content:
    """JSON is text; None = was absent."""

    role: str
    text: str
    status: str
    parts: str | None = None
    metadata: str | None = None
    format: str | None = None
    raw: str | None = None
    # '' = it follows none.
    parent_id: str | None = None
    # Found by the project's redaction; not part of the sent content.
    flagged: str | None = None

    @property
    def size_bytes(self) -> int:
        """UTF-8 bytes of text and extras, as counted in the sizes of windows and sessions."""
        extras = sum(len(extra.encode()) for extra in (self.parts, self.metadata, self.raw) if extra is not None)
        return len(self.text.encode()) + extras

    def same_beside_status(self, other: "Content") -> bool:
        return self._beside_status() == other._beside_status()

    def _beside_status(self) -> tuple[str | None, ...]:
        return (self.role, self.text, self.parts, self.metadata, self.format, self.raw, self.parent_id)

    def holds(self, sent: "Content") -> bool:
        """True if this content already contains all that was sent.

        Its text must be a prefix of ours. Parts that are more than text (tools, files) must equal ours; only for an
        assistant's message with text, which several clients may save while it grows, the text alone decides.
        """
        if not self.text.startswith(sent.text):
            return False
        if sent.parts in {None, self.parts} or sent.parts_are_text:
            return True
        return common_role(self.role) == Role.ASSISTANT and sent.text != ""

    @property
    def parts_are_text(self) -> bool:
        """True if the parts contain nothing beyond the text."""
        return self.parts is None or all(set(part) <= {"type", "text"} for part in quick_json(self.parts))


def longer(stored: Content, sent: Content) -> Content | None:
    """The one that contains the other; None if neither does. If each contains the other, complete wins, then size."""
    if not stored.holds(sent):
        return sent if sent.holds(stored) else None
    if not sent.holds(stored):
        return stored
    if (sent.status == Status.COMPLETE) != (stored.status == Status.COMPLETE):
        return sent if sent.status == Status.COMPLETE else stored
    return sent if sent.size_bytes > stored.size_bytes else stored
