"""Writes the static files for tests as `manage.py serve` does, but without the compressed copies, which take ten seconds."""

import os
from collections.abc import Iterable, Iterator

import django
from django.core.management import call_command
from django.test import override_settings

from config.http.static_files.folders import LEFT_OUT
from config.http.static_files.storage import HashedStaticFiles

NOT_COMPRESSED = "tests.config.static_files.collected.NotCompressed"


class NotCompressed(HashedStaticFiles):
    def compress_files(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        return iter(())


def main() -> None:
    os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings", "STILLHERE_STATIC_MANIFEST": "1"}
    django.setup()
    with override_settings(STORAGES={"staticfiles": {"BACKEND": NOT_COMPRESSED}}):
        call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=list(LEFT_OUT))


if __name__ == "__main__":
    main()
