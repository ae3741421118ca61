"""Pages for a project's noise rules, one form per change."""

import uuid

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_POST

from memory_app.core.lease import By
from memory_app.core.page_context import overridden
from memory_app.errors.noise import rule_editing
from memory_app.key_value.entries.entry_validation import WrongShape
from sessions_app.core.errors import Invalid
from sessions_app.core.serialization.strict_json import clean_text
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.core.web.toasts import toast_response


@login_required
@require_POST
def add_noise_rule(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """Adds a rule; with `?id=` restores a deleted one."""
    caller, back = signed_in_caller(request), request.GET
    if "id" in back:
        rule = {name: back.get(name, "") for name in ("id", "pattern", "kind", "source")}
        enabled = back.get("enabled") == "1"
        rule_editing.put_back_rule(caller=caller, project_id=project_id, rule={**rule, "enabled": enabled}, run_id=By.PERSON)
        return _told(request, project_id, "The rule is restored.")
    pattern, kind = clean_text(request.POST.get("pattern", "").strip()), request.POST.get("kind", "")
    try:
        rule_editing.add_rule(caller=caller, project_id=project_id, pattern=pattern, kind=kind, run_id=By.PERSON)
    except WrongShape as error:
        raise Invalid(f"This cannot be a rule: {error.why}.", code=error.code, details=error.details) from None
    return _told(request, project_id, "The rule is active: matching errors are now counted, but not stored.")


@login_required
@require_POST
def switch_noise_rule(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    enabled = request.POST.get("enabled") == "1"
    rule_editing.switch_rule(
        caller=signed_in_caller(request),
        project_id=project_id,
        rule_id=request.POST.get("id", ""),
        enabled=enabled,
        run_id=By.PERSON,
    )
    return _told(request, project_id, "The rule is on." if enabled else "The rule is off.")


@login_required
@require_POST
def delete_noise_rule(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    rule = rule_editing.delete_rule(
        caller=signed_in_caller(request), project_id=project_id, rule_id=request.POST.get("id", ""), run_id=By.PERSON
    )
    query = QueryDict(mutable=True)
    query.update({**rule, "enabled": "1" if rule["enabled"] else ""})
    undo = f"{reverse('add_noise_rule', args=[project_id])}?{query.urlencode()}"
    return _told(request, project_id, "The rule is deleted.", undo=undo)


def _told(request: HttpRequest, project_id: uuid.UUID, done: str, *, undo: str = "") -> HttpResponse:
    return toast_response(request, done + overridden(project_id), page=reverse("errors", args=[project_id]), undo=undo)
