"""How a page says what came of a form."""

import json

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect


def told(request: HttpRequest, message: str, *, page: str, undo: str = "", failed: bool = False) -> HttpResponse:
    """A toast: on the next page; or at once, where a script sent the form and then brings the page up to date."""
    if request.htmx:  # type: ignore[attr-defined]
        toast = {"message": message, "error": failed, **({"undo": {"action": undo}} if undo else {})}
        return HttpResponse(status=204, headers={"HX-Trigger": json.dumps({"toast": toast, "changed": {}})})
    messages.add_message(request, messages.ERROR if failed else messages.SUCCESS, message, extra_tags=undo)
    return redirect(page)
