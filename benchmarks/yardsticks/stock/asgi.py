"""Django's own ASGI handler, as `startproject` sets it up."""

import os
import sqlite3

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.yardsticks.stock.settings")
# In A's favour: every request opens and closes a connection of its own, and closing the last one folds the write-ahead
# log back into the database (3 ms a request for a single client). A connection that stays open spares it that.
if not os.environ["BENCH_DATABASE"].startswith("postgres"):
    _kept_open = sqlite3.connect(os.environ["BENCH_DATABASE"])
    _kept_open.execute("SELECT count(*) FROM sqlite_master").fetchone()

application = get_asgi_application()
