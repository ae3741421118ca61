"""Errors that are stored already get their counts by day, without runs, and what is compared with similar errors."""

from datetime import date
from typing import Any

import orjson
from django.db import migrations

from memory_app.errors.fingerprints import alike
from memory_app.errors.own_frames import top_own_frame

AT_ONCE = 500


def _days(text: str) -> dict[date, int]:
    try:
        counts = orjson.loads(text)
        return {date.fromisoformat(day): count for day, count in counts.items() if type(count) is int and count > 0}
    except (ValueError, AttributeError, TypeError):
        return {}


def _stack(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def fill(apps: Any, schema_editor: Any) -> None:
    reports, days = apps.get_model("memory_app", "ErrorReport"), apps.get_model("memory_app", "ErrorDay")
    ids = list(reports.objects.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(ids), AT_ONCE):
        some = list(reports.objects.filter(pk__in=ids[start : start + AT_ONCE]))
        for row in some:
            own = top_own_frame(_stack(row.stack))
            row.alike_place, row.alike_message = alike(message=row.message, kind=row.kind, own=own)
        reports.objects.bulk_update(some, ["alike_place", "alike_message"])
        counted = [days(error=row, day=day, count=count) for row in some for day, count in _days(row.days).items()]
        days.objects.bulk_create(counted, ignore_conflicts=True)


class Migration(migrations.Migration):

    dependencies = [("memory_app", "0010_errors_by_day")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
