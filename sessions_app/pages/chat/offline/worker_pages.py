"""The service worker, and the page that it shows where this browser has nothing else."""

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from sessions_app.pages.chat.offline.static_version import module_addresses, static_version, worker_source

# Served in place of the worker while it is switched off: browsers that have one remove it, with what it kept. Why it asks more
# than once is said in the worker.
_FAREWELL = """
self.addEventListener("install", () => {
  self.skipWaiting();
  for (let second = 1; second <= 10; second += 1) setTimeout(() => self.skipWaiting(), 1000 * second);
});
self.addEventListener("activate", (event) => event.waitUntil((async () => {
  const names = (await caches.keys()).filter((name) => name.startsWith("stillhere-"));
  await Promise.all(names.map((name) => caches.delete(name)));
  await self.registration.unregister();
})()));
"""


@require_safe
def service_worker(request: HttpRequest) -> HttpResponse:
    """At the root, because a worker controls the pages below its own address. Browsers ask for it again at every visit."""
    told = orjson.dumps({"version": static_version(), "files": module_addresses()}).decode()
    source = f"const STILLHERE = {told};\n{worker_source()}" if settings.OFFLINE_PAGES else _FAREWELL
    reply = HttpResponse(source, content_type="text/javascript; charset=utf-8")
    reply["Cache-Control"] = "no-cache"
    reply["Service-Worker-Allowed"] = "/"
    return reply


@require_safe
def offline(request: HttpRequest) -> HttpResponse:
    """Says nothing of anybody: it is kept once for all accounts of a browser."""
    return render(request, "pages/offline/offline.html")
