"""P10's page content, in bulk, without the API: `python -m benchmarks.seeding.page_seed USER SESSIONS MESSAGES ERRORS KEYS`,
with the product's settings. Makes and prints the same as `benchmarks.seeding.seed`, and adds errors and memory to the project.
"""

import contextlib
import io
import json
import sys

from benchmarks.seeding import seed
from benchmarks.seeding.chat_texts import texts

TEXTS = texts()
NAMESPACE = "notes"


def main(user: str, sessions: int, messages: int, errors: int, keys: int) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        seed.main(user, sessions, messages)
    project = json.loads(said.getvalue())["project"]
    _add_errors(project, errors)
    _add_keys(project, keys)
    sys.stdout.write(said.getvalue())


def _add_errors(project: str, count: int) -> None:
    from memory_app.models import ErrorReport

    def report(number: int) -> ErrorReport:
        message, stack = TEXTS[number % len(TEXTS)][:300], json.dumps(TEXTS[number % len(TEXTS)])
        return ErrorReport(
            project_id=project, fingerprint=f"{number:032x}", message=message, kind="TypeError", stack=stack, count=9
        )

    ErrorReport.objects.bulk_create(map(report, range(count)))


def _add_keys(project: str, count: int) -> None:
    from memory_app.models import MemoryEntry, MemoryStore, MemoryVersion

    def entry(number: int) -> MemoryEntry:
        value = json.dumps({"text": TEXTS[number % len(TEXTS)]}, ensure_ascii=False)
        size = len(value.encode())
        return MemoryEntry(
            project_id=project, namespace=NAMESPACE, key=f"note-{number:05}", value=value, rev=number, size_bytes=size
        )

    MemoryEntry.objects.bulk_create(map(entry, range(1, count + 1)), batch_size=500)
    kept = MemoryEntry.objects.filter(project_id=project)
    versions = (MemoryVersion(entry=row, value=row.value, rev=row.rev, size_bytes=row.size_bytes) for row in kept)
    MemoryVersion.objects.bulk_create(versions, batch_size=500)
    MemoryStore.objects.create(project_id=project, rev=count, size_bytes=sum(row.size_bytes for row in kept))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:6]))
