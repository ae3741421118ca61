"""Two who change different settings of a project at once both have what they set."""

import threading

from django.contrib.auth.models import User
from django.db import connection

from sessions_app.core.callers import caller_of_user
from sessions_app.projects.queries import get_project
from sessions_app.projects.services import create_project, update_project

ROUNDS = 10


def test_two_settings_that_are_changed_at_once_are_both_kept(transactional_db: None, alice: User) -> None:
    caller = caller_of_user(alice)
    project, _ = create_project(caller=caller, path="/settings")
    ready = threading.Barrier(2, timeout=60)

    def change(setting: str, values: list[str]) -> None:
        try:
            for value in values * ROUNDS:
                ready.wait()
                update_project(caller=caller, project_id=project.id, fields={"settings": {setting: value}})
                ready.wait()
                stored = get_project(caller=caller, project_id=project.id).settings
                kept.append(stored[setting] == value)
        finally:
            connection.close()

    kept = list[bool]()
    writers = {"redaction": ["off", "redact"], "instructions": ["Be brief.", "Be exact."]}
    threads = [threading.Thread(target=change, args=writer) for writer in writers.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kept == [True] * 4 * ROUNDS
