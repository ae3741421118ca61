"""Unknown query parameters are refused: `?external_id=X` must not list everything because the filter is unknown."""

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from ninja import NinjaAPI

from config.api.documentation import describe
from sessions_app.core.errors import Invalid

LONGEST_NAME, MOST_NAMED = 64, 20


class UnknownParameter(Invalid):
    code = "unknown_parameter"

    def __init__(self, unknown: list[str], known: list[str]) -> None:
        named = [name[:LONGEST_NAME] for name in unknown[:MOST_NAMED]]
        knows = f"It knows {', '.join(f'`{name}`' for name in known)}." if known else "It takes none."
        message = f"This address does not know the query parameter `{named[0]}`. {knows}"
        super().__init__(message, details={"parameters": named, "known": known})


class StrictApi(NinjaAPI):
    """Ninja's API, but operations refuse query parameters that they do not declare, and their documentation has examples."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._describing, self._descriptions = threading.Lock(), dict[str, Any]()
        self.add_decorator(_declare, mode="view")

    def create_temporal_response(self, request: HttpRequest) -> HttpResponse:
        """Called by every operation after authentication and before it reads its parameters."""
        if request.META.get("QUERY_STRING"):
            known: frozenset[str] = request.known_parameters  # type: ignore[attr-defined]
            if unknown := [name for name in request.GET if name not in known]:
                raise UnknownParameter(unknown, sorted(known))
        return super().create_temporal_response(request)

    def get_openapi_schema(self, **options: Any) -> Any:
        """Made once: that takes 0.2 s of CPU, and anybody may ask for it, without a key."""
        with self._describing:
            place = repr(sorted(options.items()))
            if place not in self._descriptions:
                self._descriptions[place] = describe(super().get_openapi_schema(**options))
            return self._descriptions[place]


def _declare(run: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Stores the names of the operation's query parameters on the request."""
    queries = (model for model in run.__self__.models if model.__ninja_param_source__ == "query")  # type: ignore[attr-defined]
    known = frozenset(name for model in queries for name in model.__ninja_flatten_map__)

    @wraps(run)
    def declared(request: HttpRequest, **path: Any) -> HttpResponseBase:
        request.known_parameters = known  # type: ignore[attr-defined]
        return run(request, **path)

    return declared
