from sessions_app.core.errors import NotFound
from sessions_app.core.storage.transactions import write
from sessions_app.models import Caller, FlushToken, Login, SocketTicket


class LoginNotFound(NotFound):
    kind, message = "login", "This login has already ended."


def end_login(*, caller: Caller, login_id: str) -> None:
    """Signs out one login: its next request must sign in; its sockets close at their next heartbeat."""
    own = Login.objects.filter(user_id=caller.user_id, session_key=login_id)
    if not write(lambda: own.delete()[0]):
        raise LoginNotFound


def end_logins(*, user_id: int, but: str = "") -> None:
    """For a changed password: signs out all logins but one (as it is stored), and ends their tickets and flush tokens."""

    def work() -> None:
        Login.objects.filter(user_id=user_id).exclude(session_key=but).delete()
        for tokens in (SocketTicket, FlushToken):
            tokens._default_manager.filter(user_id=user_id, key=None).delete()

    write(work)
