"""Records of generations are dropped 30 days after their end: so long an interrupted answer can be continued.

The answer itself is a message: it stays. `sessions_app/chats/lifecycle/pruning.py` erases the rows in batches.
"""

from datetime import timedelta

from generation_app.models import Generation
from sessions_app.chats.lifecycle.pruning import Due
from sessions_app.core.public_names import now

KEPT_FOR = timedelta(days=30)


def due_rows() -> dict[str, Due]:
    return {"generations": Due(Generation.objects.filter(ended_at__lt=now() - KEPT_FOR))}
