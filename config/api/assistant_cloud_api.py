"""The API below `/v1`, which the client `assistant-cloud` of assistant-ui calls. Parameters that its releases add are ignored."""

from typing import Any

from django.http import HttpRequest
from ninja import NinjaAPI
from ninja.parser import Parser

from config.api.requests_and_refusals import JsonRenderer, add_refusals
from sessions_app.core.serialization import strict_json
from sessions_app.frontends.assistant_ui import api as thread_api
from sessions_app.frontends.assistant_ui import message_api
from sessions_app.frontends.assistant_ui.authentication import BearerAuth


class ContentParser(Parser):
    """Strict, and what is kept as it was sent has this client's names."""

    def parse_body(self, request: HttpRequest) -> Any:
        return strict_json.loads(request.body, within=strict_json.ASSISTANT_UI)[0]


api = NinjaAPI(
    title="Stillhere for assistant-ui",
    version="1",
    urls_namespace="assistant-cloud",
    docs_url=None,
    openapi_url=None,
    auth=BearerAuth(),
    parser=ContentParser(),
    renderer=JsonRenderer(),
)
api.add_router("", thread_api.router)
api.add_router("", message_api.router)
add_refusals(api)
