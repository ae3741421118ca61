"""Profiles a save or a resume inside this process, without the network."""

import cProfile
import os
import pstats
import tempfile
import time
from functools import partial
from statistics import median

from benchmarks.support.http_client import HEAD_END, WrongAnswer
from benchmarks.support.sides import Calls, fill

REQUESTS = 500
SHOWN = 30


def profile(kind: str) -> None:
    """Prints a request's median time without the profiler, then the most expensive functions (slower under the profiler)."""
    with tempfile.TemporaryDirectory(prefix="stillhere-bench-") as folder:
        os.environ |= {"STILLHERE_DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "config.settings"}
        requests = _Requests(kind)
        took = median(requests.seconds() for _ in range(REQUESTS))
        watch = cProfile.Profile()
        watch.runcall(lambda: [requests.seconds() for _ in range(REQUESTS)])
        statistics = pstats.Stats(watch)
        statistics.strip_dirs().sort_stats("tottime").print_stats(SHOWN)
        statistics.sort_stats("cumulative").print_stats(r"sessions_app|config|messages|writing|resume|locking|receipts|handlers")
        print(f"{kind}: {took * 1e6:.0f} µs, the median of {REQUESTS} requests without the profiler")


class _Requests:
    """Requests directly to the handler that the bridge runs in its threads."""

    def __init__(self, kind: str) -> None:
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connection

        from config.http.bridge import Handler, _environ
        from sessions_app.accounts import api_keys
        from sessions_app.accounts.users import create_user
        from sessions_app.core.callers import caller_of_user
        from sessions_app.core.storage import transactions

        call_command("migrate", verbosity=0)
        connection.close()  # As full of prepared statements as it is now, it would prepare those of a save every time.
        transactions.group_commits()
        user = create_user(username="bench", superuser=False)
        calls = Calls(api_keys.create_key(caller=caller_of_user(user), name="bench").secret)
        self._handler, self._environ = Handler(), _environ
        [session] = fill(calls, self._send, 1, messages=200)
        self._make = partial(calls.save if kind == "save" else calls.resume, session)
        for _ in range(50):
            self.seconds()

    def seconds(self) -> float:
        request = self._make()
        began = time.perf_counter()
        self._send(request)
        return time.perf_counter() - began

    def _send(self, request: bytes) -> None:
        head, _, body = request.partition(HEAD_END)
        first, *lines = head.decode().split("\r\n")
        method, address, _ = first.split(" ")
        path, _, query = address.partition("?")
        headers = [(name.lower().encode(), value.encode()) for name, value in (line.split(": ", 1) for line in lines)]
        scope = {"method": method, "path": path, "query_string": query.encode(), "http_version": "1.1", "headers": headers}
        response = self._handler.respond(self._environ(scope, body))
        if response.status_code >= 400:
            raise WrongAnswer(f"{response.status_code} {getattr(response, 'content', b'')[:500]!r}")
        response.close()
