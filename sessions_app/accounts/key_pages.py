"""Pages for API keys: create (shown once), revoke, undo."""

import secrets
import uuid
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app.accounts.api_keys import NewKey, create_key, restore_key, revoke_key
from sessions_app.accounts.queries import find_key, list_keys_with_clients
from sessions_app.core.id_parsing import uuid_or_none
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.core.web.toasts import toast_response
from sessions_app.models import Caller
from sessions_app.models.credentials import KEY_NAME_LENGTH, MOST_DAYS, READ, WRITE
from sessions_app.projects.queries import list_projects

PROJECTS_OFFERED = 200
# In the login's row, until the key is shown.
PAD, HANDED_OVER_SECONDS = "new_key", 120
WRONG_DAYS = f"A key expires after 1 to {MOST_DAYS:,} days. Without a number it never does."
EXAMPLE_PROJECT = "/path/to/project"


class KeyForm(forms.Form):
    """`project`: a path of the caller's, or all."""

    name = forms.CharField(
        max_length=KEY_NAME_LENGTH, required=False, help_text="Optional: what it is for, such as “laptop” or “web shop”."
    )
    scopes = forms.MultipleChoiceField(
        choices=[(READ, "Read"), (WRITE, "Write")], initial=[READ, WRITE], widget=forms.CheckboxSelectMultiple
    )
    project = forms.ChoiceField(required=False)
    days = forms.IntegerField(
        min_value=1,
        max_value=MOST_DAYS,
        required=False,
        label="Expires after days",
        error_messages=dict.fromkeys(("min_value", "max_value", "invalid"), WRONG_DAYS),
    )

    def __init__(self, paths: list[str], *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        field = cast(forms.ChoiceField, self.fields["project"])
        field.choices = [("", "All projects"), *((path, path) for path in paths)]


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def keys_page(request: HttpRequest) -> HttpResponse:
    """A new key is shown by the first GET after the form, in the browser that sent it, and then never again."""
    caller = signed_in_caller(request)
    paths = [project.path for project in list_projects(caller=caller, limit=PROJECTS_OFFERED)]
    form = KeyForm(paths, request.POST or None)
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        made = create_key(
            caller=caller,
            name=chosen["name"],
            scopes=tuple(chosen["scopes"]),
            project_path=chosen["project"] or None,
            days=chosen["days"],
            form=uuid_or_none(request.POST.get("token", "")),
        )
        # Without a redirect, a reload would send the form again and make a second key.
        return _hand_over(request, made.secret)
    made_now = _handed_over(request, caller)
    context = {
        "form": form,
        "form_token": uuid.uuid4(),
        "made": made_now,
        "keys": list_keys_with_clients(caller=caller),
        "base_url": settings.PUBLIC_URL,
        "mcp_url": _mcp_url(made_now),
    }
    reply = render(request, "accounts/keys.html", context, status=422 if form.errors else 200)
    if _cookie_name() in request.COOKIES:
        reply.delete_cookie(_cookie_name(), samesite="Strict")
    return reply


def _hand_over(request: HttpRequest, secret: str) -> HttpResponse:
    """To the page that shows it, so that nothing stores it: half of it is in the login, half in a cookie, and each alone is
    random."""
    text = secret.encode()
    pad = secrets.token_bytes(len(text))
    request.session[PAD] = pad.hex()
    reply = redirect("keys")
    reply.set_cookie(
        _cookie_name(),
        _combined(text, pad).hex(),
        max_age=HANDED_OVER_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )
    return reply


def _handed_over(request: HttpRequest, caller: Caller) -> NewKey | None:
    """The key that was just made, once: the half in the login is deleted."""
    half, pad = request.COOKIES.get(_cookie_name()), request.session.pop(PAD, None)
    if not half or not pad:
        return None
    try:
        secret = _combined(bytes.fromhex(half), bytes.fromhex(pad)).decode()
    except ValueError:
        return None
    row = find_key(caller=caller, secret=secret)
    return None if row is None else NewKey(row, secret)


def _combined(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def _cookie_name() -> str:
    return "__Host-newkey" if settings.SESSION_COOKIE_SECURE else "newkey"


def _mcp_url(made: NewKey | None) -> str:
    """For a client's configuration. A key that is limited to a project needs no project in the address."""
    is_limited = made is not None and made.row.project_id is not None
    return f"{settings.PUBLIC_URL}/mcp" + ("" if is_limited else f"?project={EXAMPLE_PROJECT}")


@login_required
@require_POST
def revoke(request: HttpRequest, key_id: uuid.UUID) -> HttpResponse:
    revoke_key(caller=signed_in_caller(request), key_id=key_id)
    done = "Revoked. Its next request is refused and its sockets are closed."
    return toast_response(request, done, page=reverse("keys"), undo=reverse("restore_key", args=[key_id]))


@login_required
@require_POST
def restore(request: HttpRequest, key_id: uuid.UUID) -> HttpResponse:
    key = restore_key(caller=signed_in_caller(request), key_id=key_id)
    if key.is_expired:
        return toast_response(
            request, "The key is listed again, but it has expired. Create another.", page=reverse("keys"), failed=True
        )
    return toast_response(request, "The key works again.", page=reverse("keys"))
