from sessions_app.core.errors import NotFound
from sessions_app.core.storage.transactions import write
from sessions_app.models import Caller, Login


class LoginNotFound(NotFound):
    kind, message = "login", "This login has already ended."


def end_login(*, caller: Caller, login_id: str) -> None:
    """Signs out one login: its next request must sign in; its sockets close at their next heartbeat."""
    own = Login.objects.filter(user_id=caller.user_id, session_key=login_id)
    if not write(lambda: own.delete()[0]):
        raise LoginNotFound
