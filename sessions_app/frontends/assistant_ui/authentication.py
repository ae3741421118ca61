"""Who is calling, and in which project: an API key with the project as its workspace, or a short-lived token."""

from dataclasses import dataclass
from typing import ClassVar

from django.http import HttpRequest

from sessions_app.accounts.authentication import BEARER, ApiAuth, caller_of_header
from sessions_app.core.errors import Forbidden, Unauthorized
from sessions_app.frontends.assistant_ui.tokens import caller_of_token
from sessions_app.models import Caller

KEY_PREFIX = "sh_"


class KeyNeeded(Forbidden):
    code, message = "key_needed", "Only an API key gets tokens. Ask for them in your backend, not in a page."


class BearerAuth(ApiAuth):
    """Keys and tokens. Cookies are ignored: the client sends none."""

    openapi_security_schema: ClassVar[dict[str, str]] = {"type": "http", "scheme": "bearer"}

    def _caller(self, request: HttpRequest) -> Caller:
        header = request.headers.get("Authorization", "")
        scheme, secret = header[: len(BEARER)].lower(), header[len(BEARER) :].strip()
        if scheme != BEARER:
            raise Unauthorized
        if not secret.startswith(KEY_PREFIX):
            return self._caller_of_token(secret)
        caller = caller_of_header(header)
        if caller is None:
            raise Unauthorized
        return caller

    def _caller_of_token(self, token: str) -> Caller:
        return caller_of_token(token)


class KeyAuth(BearerAuth):
    """Keys only: a token that gets tokens would never end."""

    def _caller_of_token(self, token: str) -> Caller:
        super()._caller_of_token(token)
        raise KeyNeeded


@dataclass(frozen=True, slots=True)
class Workspace:
    """The caller, and the project that the request names by path or id; '' if it names none."""

    caller: Caller
    project: str


def workspace_of(request: HttpRequest) -> Workspace:
    return Workspace(request.auth, request.headers.get("Aui-Workspace-Id", ""))  # type: ignore[attr-defined]
