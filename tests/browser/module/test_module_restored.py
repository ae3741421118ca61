"""The browser module and a store restored from a backup: what was acknowledged since is said again, by open and by new pages."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import F

from config.backups.post_restore import begin_incarnation
from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from sessions_app.models import ChatSession, Message, SaveReceipt
from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import Frontend, stored
from tests.support.live_server import LiveServer

pytestmark = pytest.mark.browser


def restore_without(*message_ids: str) -> None:
    """As if the backup had been made before these messages of the only session."""
    lost = Message.objects.filter(message_id__in=message_ids)
    SaveReceipt.objects.filter(seq__gte=min(lost.values_list("writer_seq", flat=True))).delete()
    rev = min(lost.values_list("rev", flat=True)) - 1
    ChatSession.objects.update(rev=rev, message_count=F("message_count") - lost.count())
    lost.delete()
    begin_incarnation()


@pytest.mark.slow
def test_what_a_restored_backup_lacks_is_said_again(
    browser: Browser, server: LiveServer, alice: User, api: Callable[..., Any]
) -> None:
    page = Frontend(browser, server, alice)
    # By key: a cookie login ends with a restore.
    auth = {"key": api_keys.create_key(caller=caller_of_user(alice)).secret}
    page.load(auth=auth)
    page.say("m1", "in the backup")
    page.settle()
    page.say("m2", "since the backup")
    page.settle()
    restore_without("m2")
    page.say("m3", "after the restore")
    wait_for(lambda: len(stored(api, page)) == 3)
    page.settle()
    assert stored(api, page) == page.texts() == ["in the backup", "since the backup", "after the restore"]
    assert page.heard("cleared") == []
    restore_without("m2", "m3")
    page.load(auth=auth)
    wait_for(lambda: len(stored(api, page)) == 3)
    page.settle()
    assert stored(api, page) == page.texts() == ["in the backup", "since the backup", "after the restore"]
    assert page.heard("conflict") == []
    browser.forget()
