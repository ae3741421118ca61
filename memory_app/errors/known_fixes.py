"""The known fix of a similar error: of the same type in the same own function, or of the same type with the same message."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from memory_app.models import ErrorReport


@dataclass(frozen=True, slots=True)
class SimilarFix:
    """`by`: `place` (type and top own frame) or `message` (type and message without variable parts)."""

    error: ErrorReport
    by: str

    def as_json(self) -> dict[str, Any]:
        error = self.error
        return {"fingerprint": error.fingerprint, "message": error.message, "known_fix": error.known_fix, "by": self.by}


def similar_fixes(project_id: uuid.UUID, errors: Iterable[ErrorReport]) -> dict[uuid.UUID, SimilarFix]:
    """By the ids of errors that have no fix of their own, in one statement. The same place counts more than the same message,
    then the one that was seen last."""
    wanting = [error for error in errors if not error.known_fix and (error.alike_place or error.alike_message)]
    places, messages = {error.alike_place for error in wanting} - {""}, {error.alike_message for error in wanting} - {""}
    if not wanting:
        return {}
    rows = ErrorReport.objects.filter(project_id=project_id).exclude(known_fix="").defer("stack", "days")
    fixed = list(rows.filter(Q(alike_place__in=places) | Q(alike_message__in=messages)).order_by("last_seen", "id"))
    by_place = {error.alike_place: SimilarFix(error, "place") for error in fixed if error.alike_place}
    by_message = {error.alike_message: SimilarFix(error, "message") for error in fixed if error.alike_message}
    found = {error.pk: by_place.get(error.alike_place) or by_message.get(error.alike_message) for error in wanting}
    return {pk: fix for pk, fix in found.items() if fix is not None}
