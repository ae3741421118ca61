"""A middleware for tests: without what keeps pages from being kept, so that the browser freezes them and thaws them on "back"."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


def keepable(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.pop("Cache-Control", None)
        return response

    return answer
