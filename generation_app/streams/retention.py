"""What is dropped a day after a stream's end; `sessions_app/chats/lifecycle/pruning.py` erases it in batches.

Chunks cannot be redacted: a secret may be split between two of them. Where the project removes secrets from messages, they are
dropped at the first look a minute after the stream's end; the message itself is redacted.
"""

from datetime import timedelta

from django.db.models import Q
from django.db.models.functions import Length

from generation_app.models import Stream, StreamPiece
from sessions_app.chats.lifecycle.pruning import Due
from sessions_app.core.public_names import REDACT, now

KEPT_FOR = timedelta(days=1)
# Readers take the end in meanwhile.
KEPT_UNREDACTED_FOR = timedelta(minutes=1)


def due_rows() -> dict[str, Due]:
    """Pieces before their streams, so that no stream is erased with more than a batch of them."""
    at = now()
    ended = at - KEPT_FOR
    redacts = Q(stream__ended_at__lt=at - KEPT_UNREDACTED_FOR, stream__session__project__settings__redaction=REDACT)
    pieces = StreamPiece.objects.filter(Q(stream__ended_at__lt=ended) | redacts).annotate(text_size=Length("chunks"))
    return {
        "stream pieces": Due(pieces, size="text_size"),
        "streams": Due(Stream.objects.filter(ended_at__lt=ended, pieces=None)),
    }
