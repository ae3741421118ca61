"""What `django-admin startproject` writes, for production (DEBUG off), plus WAL and `synchronous=FULL`; on PostgreSQL its pool.

Apps and middleware are startproject's whole default lists, the SQLite is the system's. No key is checked: yardstick A
does less than Stillhere.
"""

import os
from typing import Any
from urllib.parse import urlsplit

SECRET_KEY = "not secret: serves only on loopback, only while it is measured"  # noqa: S105
DEBUG = False
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "benchmarks.yardsticks.stock",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "benchmarks.yardsticks.stock.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
_database = os.environ.get("BENCH_DATABASE", ":memory:")
_url = urlsplit(_database)
_sqlite = {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": _database,
    "OPTIONS": {"timeout": 20, "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL"},
}
_postgresql = {
    "ENGINE": "django.db.backends.postgresql",
    "NAME": _url.path.lstrip("/"),
    "USER": _url.username,
    "PASSWORD": _url.password,
    "HOST": _url.hostname,
    "PORT": _url.port,
    # Opened at the start, as many as requests run at once: in A's favour.
    "OPTIONS": {"pool": {"min_size": 16, "max_size": 16}},
}
DATABASES: dict[str, Any] = {"default": _postgresql if _url.scheme.startswith("postgres") else _sqlite}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STATIC_URL = "static/"
USE_TZ = True
