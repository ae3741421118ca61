"""A project's settings. A form saves what was changed in it; what somebody else changed meanwhile is not replaced unseen."""

import uuid
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from sessions_app.core.extension import extensions
from sessions_app.core.web.page_context import project_page, signed_in_caller
from sessions_app.models.project import INSTRUCTIONS_LENGTH
from sessions_app.pages.dashboard.name_field import name_field
from sessions_app.projects.queries import get_project
from sessions_app.projects.services import update_project

SECRETS = {"flag": "Flag them", "redact": "Replace them before they are stored", "off": "Do nothing"}
NEWER = "Somebody else changed this while you were writing, to “{}”. Save again to replace it."


class SettingsForm(forms.Form):
    """`initial`: what is stored. What the page showed is sent with it."""

    name = name_field()
    redaction = forms.ChoiceField(label="Secrets in messages", choices=[*SECRETS.items()])
    instructions = forms.CharField(
        max_length=INSTRUCTIONS_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
        help_text="What a model is told before it answers in this project's sessions. Default: a short task for each step.",
    )

    def __init__(self, data: QueryDict | None, *, initial: dict[str, str]) -> None:
        super().__init__(None if data is None else data.copy(), initial=initial)
        for field in self.fields.values():
            field.show_hidden_initial = True

    def clean(self) -> dict[str, Any]:
        """Only what was changed here."""
        typed = {name: _plain(value) for name, value in self.cleaned_data.items()}
        seen = {name: _plain(self.data.get(self.add_initial_prefix(name), self.initial[name])) for name in typed}
        changed = {name: value for name, value in typed.items() if value != seen[name]}
        for name in changed:
            stored = _plain(self.initial[name])
            if stored not in {seen[name], typed[name]}:
                cast(QueryDict, self.data)[self.add_initial_prefix(name)] = stored
                self.add_error(name, NEWER.format(SECRETS.get(stored, stored) if name == "redaction" else stored))
        return changed


@login_required
@require_http_methods(["GET", "POST"])
def project_settings(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    caller = signed_in_caller(request)
    project = get_project(caller=caller, project_id=project_id)
    stored = {
        "name": project.name,
        "redaction": project.settings.get("redaction", "flag"),
        "instructions": project.settings.get("instructions") or "",
    }
    form = SettingsForm(request.POST or None, initial=stored)
    if request.method == "POST" and form.is_valid():
        name = {key: value for key, value in form.cleaned_data.items() if key == "name"}
        chosen = {key: value for key, value in form.cleaned_data.items() if key != "name"}
        update_project(caller=caller, project_id=project_id, fields={**name, "settings": chosen})
        messages.success(request, "Saved.")
        return redirect("project_settings", project_id)
    parts = [extension.settings_part(request, project_id) for extension in extensions() if extension.settings_part]
    return project_page(
        request,
        project,
        "pages/dashboard/project_settings.html",
        tab="settings",
        form=form,
        parts=parts,
        status=422 if form.errors else 200,
    )


def _plain(text: str) -> str:
    """Browsers send other line ends than they show."""
    return text.replace("\r\n", "\n").strip()
