"""Indexes what was filled past the API: `python -m benchmarks.seeding.index`. A server would do it beside the first minutes of
what is measured."""

import os

import django


def main() -> None:
    from sessions_app.chats.search.index_update import index_rows_in_passing, index_waiting
    from sessions_app.core.storage import transactions

    transactions.group_commits()  # Without gaps for other writers.
    while index_waiting():
        pass
    while index_rows_in_passing():
        pass


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    main()
