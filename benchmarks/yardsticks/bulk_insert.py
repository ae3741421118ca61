"""Writes messages in one transaction after another, in this process and without the API:
`python -m benchmarks.yardsticks.bulk_insert USER MESSAGES TIMES`, with the product's settings. Prints the median
milliseconds of a transaction."""

import os
import sys
import time
import uuid
from statistics import median
from typing import Any

import django

from benchmarks.seeding.chat_texts import texts
from benchmarks.support.http_client import without_gc
from benchmarks.support.sample_sizes import WARM_UP

TEXTS = texts()


def main(user: str, count: int, times: int) -> None:
    from django.contrib.auth import get_user_model

    from sessions_app.models import ChatSession, Project

    owner = get_user_model().objects.get(username=user)
    session = ChatSession.objects.create(project=Project.objects.create(owner=owner, path=f"/bench/{uuid.uuid4()}"))
    took = []
    with without_gc():
        for number in range(WARM_UP // 3 + times):
            seconds = _write(session, number * count, count)
            took += [seconds] if number >= WARM_UP // 3 else []
    sys.stdout.write(f"{median(took) * 1000}\n")


def _write(session: Any, first: int, count: int) -> float:
    """Seconds; the rows are created before."""
    from django.db import transaction

    from sessions_app.models import Message

    rows = [_message(session, number) for number in range(first + 1, first + count + 1)]
    began = time.perf_counter()
    with transaction.atomic():
        Message.objects.bulk_create(rows)
    return time.perf_counter() - began


def _message(session: Any, number: int) -> Any:
    from sessions_app.models import Message

    text = TEXTS[number % len(TEXTS)]
    counters = {"position": number, "rev": number, "writer_seq": number, "size_bytes": len(text.encode())}
    return Message(session=session, epoch=1, message_id=f"bench-{number}", role="user", text=text, writer_id="bench", **counters)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
