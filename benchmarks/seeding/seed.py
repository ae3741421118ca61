"""Fills a store without the API: `python -m benchmarks.seeding.seed USER SESSIONS MESSAGES`, with the product's settings.

One project of USER's gets SESSIONS sessions; the current one holds MESSAGES messages, each other one a single message.
Prints the project's id and path and the current session's id as JSON.
"""

import itertools
import json
import os
import sys
import uuid
from collections.abc import Iterator

import django

from benchmarks.seeding.chat_texts import texts

PATH = "/bench/seeded"
# Contained in one message of the current session.
NEEDLE = "checkout_4711"
TEXTS = texts()
BATCH = 2_000


def main(user: str, sessions: int, messages: int) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.contrib.auth import get_user_model
    from django.db import transaction

    from sessions_app.chats.search.index_update import index_waiting
    from sessions_app.models import ChatSession, Message, Project

    def session(size: int) -> ChatSession:
        counters = {"rev": size, "last_position": size, "message_count": size, "size_bytes": size * len(TEXTS[0])}
        return ChatSession(id=uuid.uuid4(), project=project, title="Seeded", **counters)

    def message(owner: ChatSession, number: int) -> Message:
        text = TEXTS[number % len(TEXTS)]
        counters = {"position": number, "rev": number, "writer_seq": number, "size_bytes": len(text.encode())}
        return Message(session=owner, epoch=1, message_id=f"m{number}", role="user", text=text, writer_id=writer, **counters)

    with transaction.atomic():
        owner = get_user_model().objects.get(username=user)
        project, writer = Project.objects.create(owner=owner, path=PATH), str(uuid.uuid4())
        current = session(messages)
        others = [session(1) for _ in range(sessions - 1)]
        for some in _batches(iter([*others, current])):
            ChatSession.objects.bulk_create(some)
        rows = itertools.chain(
            (message(current, number) for number in range(1, messages + 1)), (message(other, 1) for other in others)
        )
        for more in _batches(rows):
            Message.objects.bulk_create(more)
        Project.objects.filter(id=project.id).update(current_session=current)
        Message.objects.filter(session=current, message_id="m7").update(text=f"{TEXTS[7]} {NEEDLE}")
    while index_waiting():
        pass
    sys.stdout.write(json.dumps({"project": str(project.id), "path": PATH, "session": str(current.id)}) + "\n")


def _batches[T](rows: Iterator[T]) -> Iterator[list[T]]:
    while batch := list(itertools.islice(rows, BATCH)):
        yield batch


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
