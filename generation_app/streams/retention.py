"""What is dropped a day after a stream's end; `sessions_app/chats/lifecycle/pruning.py` erases it in batches."""

from datetime import timedelta

from django.db.models.functions import Length

from generation_app.models import Stream, StreamPiece
from sessions_app.chats.lifecycle.pruning import Due
from sessions_app.core.public_names import now

KEPT_FOR = timedelta(days=1)


def due_rows() -> dict[str, Due]:
    """Pieces before their streams, so that no stream is erased with more than a batch of them."""
    ended = now() - KEPT_FOR
    pieces = StreamPiece.objects.filter(stream__ended_at__lt=ended).annotate(text_size=Length("chunks"))
    return {
        "stream pieces": Due(pieces, size="text_size"),
        "streams": Due(Stream.objects.filter(ended_at__lt=ended, pieces=None)),
    }
