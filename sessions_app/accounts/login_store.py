"""Django's session engine (SESSION_ENGINE): rows are stored under a hash of the cookie's session key.

Synchronous use only: the base class's asynchronous methods look up the unhashed key and find nothing.
"""

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.utils import timezone

from sessions_app.core.text import login_hash
from sessions_app.models import Login


class SessionStore(DatabaseSessions):
    @classmethod
    def get_model_class(cls) -> type[Login]:
        return Login

    def _get_session_from_db(self) -> Login | None:
        found = Login.objects.filter(session_key=login_hash(self.session_key or ""), expire_date__gt=timezone.now()).first()
        if found is None:
            self._session_key = None
        return found

    def exists(self, session_key: str) -> bool:
        return Login.objects.filter(session_key=login_hash(session_key)).exists()

    def create_model_instance(self, data: dict[str, Any]) -> Login:
        row = super().create_model_instance(data)
        user_id = data.get(SESSION_KEY)
        return Login(
            session_key=login_hash(row.session_key),
            session_data=row.session_data,
            expire_date=row.expire_date,
            user_id=int(user_id) if user_id else None,
        )

    def delete(self, session_key: str | None = None) -> None:
        if (ended := session_key or self.session_key) is not None:
            Login.objects.filter(session_key=login_hash(ended)).delete()
