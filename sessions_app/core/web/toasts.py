"""Toasts: how a page reports the result of a form."""

import json

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect


def toast_response(request: HttpRequest, message: str, *, page: str, undo: str = "", failed: bool = False) -> HttpResponse:
    """Show a toast: on the next page; or at once if a script sent the form and then updates the page."""
    if request.htmx:  # type: ignore[attr-defined]
        toast = {"message": message, "error": failed, **({"undo": {"action": undo}} if undo else {})}
        return HttpResponse(status=204, headers={"HX-Trigger": json.dumps({"toast": toast, "changed": {}})})
    messages.add_message(request, messages.ERROR if failed else messages.SUCCESS, message, extra_tags=undo)
    return redirect(page)
