"""A project's noise rules, one form a change."""

import uuid

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_POST

from memory_app.services import noise_rules
from memory_app.services.lease import By
from memory_app.views.frame import overridden
from sessions_app.schemas.strict_json import clean_text
from sessions_app.views.frame import caller_of
from sessions_app.views.telling import told


@login_required
@require_POST
def add_noise_rule(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """With `?id=` a rule that was deleted, as it was."""
    caller, back = caller_of(request), request.GET
    if "id" in back:
        rule = {name: back.get(name, "") for name in ("id", "pattern", "kind", "source")}
        enabled = back.get("enabled") == "1"
        noise_rules.put_back_rule(caller=caller, project_id=project_id, rule={**rule, "enabled": enabled}, run_id=By.PERSON)
        return _told(request, project_id, "The rule is back.")
    pattern, kind = clean_text(request.POST.get("pattern", "").strip()), request.POST.get("kind", "")
    noise_rules.add_rule(caller=caller, project_id=project_id, pattern=pattern, kind=kind, run_id=By.PERSON)
    return _told(request, project_id, "In force: errors that it matches are counted from now on, and not stored.")


@login_required
@require_POST
def switch_noise_rule(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    enabled = request.POST.get("enabled") == "1"
    noise_rules.switch_rule(
        caller=caller_of(request),
        project_id=project_id,
        rule_id=request.POST.get("id", ""),
        enabled=enabled,
        run_id=By.PERSON,
    )
    return _told(request, project_id, "The rule is in force." if enabled else "The rule is off.")


@login_required
@require_POST
def delete_noise_rule(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    rule = noise_rules.delete_rule(
        caller=caller_of(request), project_id=project_id, rule_id=request.POST.get("id", ""), run_id=By.PERSON
    )
    query = QueryDict(mutable=True)
    query.update({**rule, "enabled": "1" if rule["enabled"] else ""})
    undo = f"{reverse('add_noise_rule', args=[project_id])}?{query.urlencode()}"
    return _told(request, project_id, "The rule is deleted.", undo=undo)


def _told(request: HttpRequest, project_id: uuid.UUID, done: str, *, undo: str = "") -> HttpResponse:
    return told(request, done + overridden(project_id), page=reverse("errors", args=[project_id]), undo=undo)
