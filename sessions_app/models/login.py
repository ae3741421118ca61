"""Logins of pages: Django's sessions, stored under the hash of the cookie's value."""

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models


class Login(AbstractBaseSession):
    """`session_key` is a hash: a reader of the database or a backup cannot sign in with it. `user`: none before a sign-in."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="logins")

    class Meta(AbstractBaseSession.Meta):
        abstract = False
        verbose_name = "login"
        verbose_name_plural = "logins"

    @classmethod
    def get_session_store_class(cls) -> type[SessionBase]:
        """For decoding only: `login_store.SessionStore` reads and writes these rows."""
        return SessionStore
