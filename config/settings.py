"""All settings, read from the environment once, in a fixed order: paths, who may reach us, apps, data, security, limits, logs."""

import sys
from pathlib import Path
from urllib.parse import urlsplit

from corsheaders.defaults import default_headers
from django.utils.csp import CSP

from config import env, sqlite
from config.http.static_files import folders as static_folders
from config.http.static_files.bundles import BUNDLES, IMPORTED

# --- Paths
BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env.folder("DATA_DIR", BASE_DIR / "data")

# --- Who may reach us, and where
HOST = env.host("HOST", "127.0.0.1")
PORT = env.integer("PORT", 8000, least=1, most=65_535)
_address = env.bracketed(HOST)
PUBLIC_URL = env.origin("PUBLIC_URL") or f"http://{_address}:{PORT}"
_public = urlsplit(PUBLIC_URL)
SECURE = _public.scheme == "https"
DEBUG = env.flag("DEBUG", default=False)
SECRET_KEY = env.secret("SECRET_KEY", DATA_DIR / "secret_key")
ALLOWED_HOSTS = env.hosts("ALLOWED_HOSTS") or sorted(
    {env.bracketed(_public.hostname or HOST), _address, "localhost", "127.0.0.1", "[::1]"}
)
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
TRUSTED_PROXIES = env.integer("TRUSTED_PROXIES", 0, most=100)
if TRUSTED_PROXIES and SECURE:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# --- Apps and the way of a request
INSTALLED_APPS = [
    "config.admin.app_config.OwnAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "corsheaders",
    "channels",
    "ninja",
    "sessions_app",
    "memory_app",
    "generation_app",
    "mcp_app",
    # For its commands: run, serve, backup, restore, migrate.
    "config",
]
MIDDLEWARE = [
    "config.http.middleware.storable_address",
    "config.http.middleware.default_headers",
    "config.http.middleware.api_shape",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "corsheaders.middleware.CorsMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "config.http.middleware.PageMessages",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "config.http.middleware.offline_pages",
    "sessions_app.pages.error_pages.PageErrors",
]
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.http.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.csp",
                "sessions_app.pages.sidebar.sidebar",
            ],
            "libraries": {
                "charts": "sessions_app.core.web.template_tags.charts",
                "formatting": "sessions_app.core.web.template_tags.formatting",
                "memory": "memory_app.core.template_tags",
                "module_bundles": "sessions_app.core.web.template_tags.module_bundles",
            },
        },
    },
]
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Hashed and compressed names need `collectstatic`, which `manage.py serve` runs; without it files come from their source.
STATIC_MANIFEST = env.flag("STATIC_MANIFEST", default=False)
# They are made with the hashed names.
STATIC_BUNDLES = BUNDLES if STATIC_MANIFEST else ()
STATIC_IMPORTED = IMPORTED
_version = static_folders.name_of(STATICFILES_DIRS) if STATIC_MANIFEST else ""
STATIC_ROOT = env.made("DATA_DIR", DATA_DIR / "static" / _version)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    # Files of chats.
    "files": env.bucket("FILES_URL")
    or {"BACKEND": "sessions_app.chats.files.folder_storage.FolderStorage", "OPTIONS": {"location": DATA_DIR / "files"}},
    "staticfiles": {
        "BACKEND": "config.http.static_files.storage.HashedStaticFiles"
        if STATIC_MANIFEST
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
# A service worker in the browser: the chat and visited sessions open without the server.
OFFLINE_PAGES = env.flag("OFFLINE_PAGES", default=True)
WHITENOISE_USE_FINDERS = not STATIC_MANIFEST
WHITENOISE_AUTOREFRESH = False
# Of files whose names have no hash: a browser asks each time whether they changed, above all with an upgrade.
WHITENOISE_MAX_AGE = 0
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

# --- Data
_sqlite_connection = sqlite.install()
DATABASES = {"default": env.database("DATABASE_URL", DATA_DIR / "stillhere.sqlite3")}
_database = DATABASES["default"]
# Requests run in long-lived threads, so a connection lives as long as its thread.
_database["CONN_MAX_AGE"] = None
if _database["ENGINE"] == "config.sqlite":
    _database["OPTIONS"] = sqlite.options(_sqlite_connection)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REDIS_URL = env.redis("REDIS_URL")
_redis_layer = {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": {"hosts": [REDIS_URL], "capacity": 10_000}}
CHANNEL_LAYERS = {"default": _redis_layer if REDIS_URL else {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
_redis_cache = {
    "BACKEND": "django.core.cache.backends.redis.RedisCache",
    "LOCATION": REDIS_URL,
    # Of seconds: a Redis that does not answer holds nobody up for longer.
    "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 1},
}
_process_cache = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
# Failed sign-ins. Of so many that none can be pushed out by others: each costs its sender the check of a password.
_login_cache = {**_process_cache, "LOCATION": "logins", "OPTIONS": {"MAX_ENTRIES": 100_000}}
CACHES = {"default": _redis_cache if REDIS_URL else _process_cache, "process": _process_cache, "logins": _login_cache}

# --- Security
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SESSION_ENGINE = "sessions_app.accounts.login_store"
# Bound to this very host and to https: no neighbour under the same domain can set them.
_prefix = "__Host-" if SECURE else ""
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{_prefix}sessionid", f"{_prefix}csrftoken"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_SSL_REDIRECT = SECURE
# Probes inside a container speak plain HTTP.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = 31_536_000 if SECURE else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = SECURE
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CSP = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF, CSP.NONCE],
    "style-src": [CSP.SELF, CSP.NONCE],
    "img-src": [CSP.SELF, "data:"],
    "font-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "form-action": [CSP.SELF],
    "base-uri": [CSP.NONE],
    "frame-ancestors": [CSP.NONE],
    "manifest-src": [CSP.SELF],
    "worker-src": [CSP.SELF],
}
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "sessions_app.pages.error_pages.csrf_failure"
CORS_ALLOWED_ORIGINS = env.origins("CORS_ORIGINS")
CORS_URLS_REGEX = r"^/(?:api/.*|v1/.*|mcp)$"
CORS_ALLOW_CREDENTIALS = False
# Beyond corsheaders' own: conditions (creating a session under one's own id needs one), which run a memory write is from,
# and where the reader of a stream was.
CORS_ALLOW_HEADERS = [*default_headers, "idempotency-key", "if-match", "if-none-match", "last-event-id", "stillhere-run"]
CORS_ALLOW_HEADERS += ["mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "x-stillhere-project"]
# Of the client of assistant-ui.
CORS_ALLOW_HEADERS += ["aui-sdk", "aui-user-id", "aui-workspace-id"]
CORS_EXPOSE_HEADERS = ["Content-Disposition", "ETag", "Idempotent-Replayed", "Retry-After", "Stillhere-Stream", "X-Request-Id"]
LOGIN_ATTEMPTS = 10
LOGIN_WINDOW_SECONDS = 300

# --- Limits (sizes in bytes unless the name says otherwise)
MAX_BODY_BYTES = env.integer("MAX_BODY_BYTES", 5_000_000, least=1_000, most=1_000_000_000)
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
# Of a file that is imported in the background.
MAX_IMPORT_BYTES = env.integer("MAX_IMPORT_BYTES", 2_000_000_000, least=1_000)
# Of a file that messages refer to.
MAX_FILE_BYTES = env.integer("MAX_FILE_BYTES", 25_000_000, least=1_000)
# A part of a form that is larger than memory allows is on this disk too: elsewhere it may be memory.
FILE_UPLOAD_TEMP_DIR = str(DATA_DIR)
WINDOW_MESSAGES = env.integer("WINDOW_MESSAGES", 200, least=1)
WINDOW_BYTES = env.integer("WINDOW_BYTES", 2_000_000, least=1)
# Messages; 0: none. Above it the oldest are dropped.
SESSION_CAP = env.integer("SESSION_CAP", 0)
WINDOW_CACHE_BYTES = env.integer("WINDOW_CACHE_BYTES", 32_000_000, least=0)
PROJECT_BYTES = env.integer("PROJECT_BYTES", 10_000_000, least=1)
# The state of a project's graphs.
CHECKPOINT_BYTES = env.integer("CHECKPOINT_BYTES", 1_000_000_000, least=1)
# Of one account, counted with versions, trash and what can be restored; 0: no limit.
ACCOUNT_BYTES = env.integer("ACCOUNT_BYTES", 20_000_000_000)
ACCOUNT_PROJECTS = env.integer("ACCOUNT_PROJECTS", 10_000)
ACCOUNT_SESSIONS = env.integer("ACCOUNT_SESSIONS", 1_000_000)
# Open at once, a process.
ACCOUNT_SOCKETS = env.integer("ACCOUNT_SOCKETS", 2_000)
# Of one key (or one login), a minute and process; 0: no limit.
RATE_REQUESTS = env.integer("RATE_REQUESTS", 30_000)
RATE_WRITE_BYTES = env.integer("RATE_WRITE_BYTES", 200_000_000)
RATE_TICKETS = env.integer("RATE_TICKETS", 600)
WORKERS = env.integer("WORKERS", 1, least=1, most=100)
THREADS = env.integer("THREADS", 16, least=1, most=1_000)
QUEUE = env.integer("QUEUE", 512, least=1, most=1_000_000)
# How often a quiet socket hears that it lives.
HEARTBEAT_SECONDS = env.integer("HEARTBEAT_SECONDS", 25, least=1, most=env.A_DAY)
# How long a run keeps the lease of its project's memory without a heartbeat.
LEASE_SECONDS = env.integer("LEASE_SECONDS", 30, least=1, most=env.A_DAY)
# How long counts of filtered errors may wait in memory.
FLUSH_SECONDS = env.integer("FLUSH_SECONDS", 30, least=1, most=env.A_DAY)

# --- Who answers: an OpenAI-compatible endpoint (`…/v1`), else the built-in stand-in
CHAT_URL = env.web_address("CHAT_URL")
CHAT_MODEL = env.text("CHAT_MODEL", "default")
CHAT_KEY = env.text("CHAT_KEY")
CHAT_STREAMS = env.integer("CHAT_STREAMS", 8, least=1, most=1_000)
CHAT_WORD_MS = env.integer("CHAT_WORD_MS", 40, most=60_000)

# --- Streams and generations
# Open at once, of one account.
ACCOUNT_STREAMS = env.integer("ACCOUNT_STREAMS", 500, least=1)
# Of the chunks of one stream.
STREAM_BYTES = env.integer("STREAM_BYTES", 5_000_000, least=1)
# Without a chunk for so long a stream is interrupted.
STREAM_SECONDS = env.integer("STREAM_SECONDS", 60, least=1, most=env.A_DAY)
# Answers that one process makes at once.
GENERATIONS = env.integer("GENERATIONS", 32, least=1, most=10_000)

# --- Logs
LOG_FORMAT = env.choice("LOG_FORMAT", {"json", "plain"}, "plain" if sys.stderr.isatty() else "json")
LOG_LEVELS = {"debug", "info", "warn", "warning", "error", "fatal", "critical"}
LOG_LEVEL = env.choice("LOG_LEVEL", LOG_LEVELS, "info").upper()
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "config.logs.JsonLines"}, "plain": {"()": "config.logs.PlainLines"}},
    "filters": {
        "with_traceback": {"()": "config.logs.WithTraceback"},
        "without_bad_text": {"()": "config.logs.WithoutBadText"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    # Expected refusals (4xx) are the caller's business, not the operator's.
    # Nor is a foreign Host header, which the log would quote as it was sent.
    "loggers": {
        "django.request": {"level": "ERROR", "filters": ["with_traceback"]},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "django.security.TooManyFieldsSent": {"level": "CRITICAL"},
        "httpx": {"level": "WARNING"},
        "uvicorn.error": {"filters": ["without_bad_text"]},
    },
}
