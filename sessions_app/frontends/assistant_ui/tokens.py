"""Short-lived tokens for pages: JSON Web Tokens, because the client of assistant-ui reads when one expires.

PyJWT, and the cryptography that it loads, take 10 MB: a server whose pages need no tokens does without them.
"""

import hashlib
import time
import uuid
from typing import TYPE_CHECKING

from django.conf import settings

from sessions_app.accounts.authentication import caller_of_key_id
from sessions_app.core.errors import Unauthorized
from sessions_app.models import Caller

if TYPE_CHECKING:
    from jwt.types import Options

TOKEN_SECONDS = 600
_ALGORITHM, _AUDIENCE = "HS256", "stillhere/assistant-ui"


class BadToken(Unauthorized):
    code, message = "bad_token", "This token is unknown, too old, or its key was revoked. Get a new one from your backend."


def make_token(*, key_id: uuid.UUID, project_id: uuid.UUID) -> str:
    """A token that may do in this project what the key may do, for a few minutes."""
    import jwt

    issued = int(time.time())
    claims = {
        "aud": _AUDIENCE,
        "sub": str(key_id),
        "project": str(project_id),
        "iat": issued,
        "exp": issued + TOKEN_SECONDS,
    }
    return jwt.encode(claims, _secret(), _ALGORITHM)


def caller_of_token(token: str) -> Caller:
    """The caller of the token's key, limited to the token's project. Revoking the key ends its tokens. Raises BadToken."""
    import jwt

    options: Options = {"require": ["exp", "aud", "sub"]}
    try:
        claims = jwt.decode(token, _secret(), [_ALGORITHM], audience=_AUDIENCE, options=options)
        key_id, project_id = uuid.UUID(claims["sub"]), uuid.UUID(claims["project"])
    except (jwt.InvalidTokenError, ValueError, KeyError):
        raise BadToken from None
    caller = caller_of_key_id(key_id)
    if caller is None or caller.project_id not in {None, project_id}:
        raise BadToken
    return Caller(caller.user_id, caller.username, key_id, caller.key_name, caller.scopes, project_id)


def _secret() -> bytes:
    """Not the server's own secret key: a token must be good for nothing else."""
    return hashlib.sha256(f"{_AUDIENCE}:{settings.SECRET_KEY}".encode()).digest()
