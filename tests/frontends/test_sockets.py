"""Sockets of a real server receive every event, once, in order."""

import re
import threading

from tests.support.sockets import House
from tests.support.suite import is_patient

# Saves of each writer.
EACH = 60 if is_patient() else 24


def test_everyone_hears_every_event_once_and_in_order(house: House, path: str) -> None:
    project, session = house.api.session(path)
    with house.listen(path) as first, house.listen(path) as second:
        house.save_from_many(session, writers=6, each=EACH)
        last = house.api.call("GET", f"/projects/{project}/events", limit=500)["event_seq"]
        with house.listen(path) as late:
            late.say(type="subscribe", since=1)
            for socket in (first, second, late):
                socket.until_number(last)
                assert socket.silence(0.3) == []
                assert socket.numbers == list(range(2, last + 1))
    assert last == 6 * EACH + 1


def test_a_frame_tells_what_changed_without_its_content(house: House, path: str) -> None:
    _, session = house.api.session(path)
    with house.listen(path) as socket:
        saved = house.api.save(session, "m1", text="a secret of mine", writer="writer-1")
        frame = socket.next()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", frame.pop("at"))
    assert frame == {
        "type": "SESSION_SAVED",
        "event_seq": 2,
        "project": path,
        "session": session,
        "epoch": 1,
        "rev": saved["rev"],
        "by": {"user": "ana", "key": "key", "writer_id": "writer-1"},
    }


def test_without_subscribe_only_what_happens_from_now_on(house: House, path: str) -> None:
    _, session = house.api.session(path)
    house.api.save(session, "before")
    with house.listen(path) as socket:
        house.api.save(session, "after")
        socket.until_number(3)
    assert socket.numbers == [3]


def test_events_during_a_reconnect_are_not_lost(house: House, path: str) -> None:
    """Saves go on all the time; a client that comes and goes hears each event once, by `since` in either form."""
    _, session = house.api.session(path)
    writing = threading.Thread(target=house.save_from_many, args=(session,), kwargs={"writers": 2, "each": EACH})
    writing.start()
    heard, last = [1], 2 * EACH + 1
    while heard[-1] < last:
        in_address = len(heard) % 2 == 0
        with house.listen(path, since=heard[-1] if in_address else None) as socket:
            if not in_address:
                socket.say(type="subscribe", since=heard[-1])
            socket.until_number(min(heard[-1] + EACH // 2, last))
            heard += socket.numbers
    writing.join()
    assert heard == list(range(1, last + 1))


def test_resync_where_the_log_no_longer_has_what_was_missed(house: House, path: str) -> None:
    project, session = house.api.session(path)
    for number in range(5):
        house.api.save(session, f"m{number}")
    prune = f"from sessions_app.models import Event; Event.objects.filter(project_id='{project}', event_seq__lte=3).delete()"
    house.server.shell(prune)
    with house.listen(path) as behind, house.listen(path) as near, house.listen(path) as beyond:
        behind.say(type="subscribe", since=2)
        frame = behind.next()
        assert (frame["type"], frame["event_seq"], frame["project"]) == ("RESYNC", 6, path)
        near.say(type="subscribe", since=3)
        near.until_number(6)
        assert near.numbers == [4, 5, 6]
        beyond.say(type="subscribe", since=1_000)
        assert beyond.next()["type"] == "RESYNC"
        house.api.save(session, "after")
        for socket in (behind, near, beyond):
            socket.until_number(7)


def test_a_gap_in_the_middle_of_the_log_is_told_too(house: House, path: str) -> None:
    """Pruning takes batches of old rows, in no order."""
    project, session = house.api.session(path)
    for number in range(6):
        house.api.save(session, f"m{number}")
    prune = f"from sessions_app.models import Event; Event.objects.filter(project_id='{project}', event_seq__in=[3, 4]).delete()"
    house.server.shell(prune)
    for since, numbers, resync in ((0, [5, 6, 7], True), (3, [5, 6, 7], True), (4, [5, 6, 7], False), (7, [], False)):
        answer = house.api.call("GET", f"/projects/{project}/events", since=since)
        assert ([event["event_seq"] for event in answer["items"]], answer["resync"]) == (numbers, resync)
    with house.listen(path, since=0) as socket:
        assert socket.next()["type"] == "RESYNC"


def test_resume_answers_with_the_bundle_and_tells_the_others_without_it(house: House, path: str) -> None:
    _, session = house.api.session(path)
    house.api.save(session, "m1", text="remember me")
    with house.listen(path) as mine, house.listen(path) as other:
        mine.say(type="resume")
        frame = mine.until_type("SESSION_RESTORED")
        assert [message["text"] for message in frame["data"]["messages"]] == ["remember me"]
        assert (frame["session"], frame["event_seq"], frame["rev"]) == (session, 2, 1)
        told = other.until_type("SESSION_RESTORED")
        assert "data" not in told
        assert told["session"] == session
        assert mine.silence(0.5) == []


def test_a_resume_over_http_tells_every_listener_and_is_not_logged(house: House, path: str) -> None:
    house.api.session(path)
    with house.listen(path) as socket:
        house.api.call("GET", "/resume", project=path)
        assert socket.until_type("SESSION_RESTORED")["event_seq"] == 1
        house.api.call("GET", "/resume", project=path, quiet="1")
        assert socket.silence(0.3) == []
    with house.listen(path, since=0) as later:
        assert [frame["type"] for frame in later.silence(0.5)] == ["SESSION_CREATED"]


def test_what_cannot_be_read_is_answered_and_the_socket_stays(house: House, path: str) -> None:
    house.api.call("POST", "/projects", {"path": path})
    with house.listen(path) as socket:
        for text in ("{", "[]", "7", '{"type": 1}', '{"type": "x", "since": NaN}', b"\x00\x01"):
            socket.say_text(text)
            assert (socket.next()["type"], socket.frames[-1]["code"]) == ("ERROR", "unreadable")
        expected = {"dance": "unknown_type", "subscribe": "invalid", "resume": "nothing_saved"}
        for type, code in expected.items():
            socket.say(type=type, **({"since": "1"} if type == "subscribe" else {}))
            assert socket.next()["code"] == code
            assert socket.frames[-1]["message"]
        _, session = house.api.session(path)
        socket.until_number(1)
        socket.say(type="resume")
        assert socket.until_type("SESSION_RESTORED")["session"] == session


def test_hearts_beat_with_the_newest_number(house: House, path: str) -> None:
    _, session = house.api.session(path)
    with house.listen(path) as socket:
        for number in range(3):
            house.api.save(session, f"m{number}")
        frame = socket.until_type("HEARTBEAT", seconds=4)
    assert (frame["event_seq"], frame["project"]) == (4, path)


def test_a_command_in_another_process_is_heard_too(house: House, path: str) -> None:
    """It has nobody to push to, so the next look at the numbers finds its event."""
    house.api.session(path)
    rename = (
        "from sessions_app.events import event_log; from sessions_app.models import Caller, Project; from django.db import "
        "transaction\n"
        f"with transaction.atomic(): event_log.publish(project_id=Project.objects.get(path='{path}').id, type="
        "'SESSION_UPDATED', caller=Caller(1, 'ana'))"
    )
    with house.listen(path) as socket:
        house.server.shell(rename)
        socket.until_number(2, seconds=3)


def test_too_large_a_message_ends_the_socket(house: House, path: str) -> None:
    house.api.call("POST", "/projects", {"path": path})
    with house.listen(path) as socket:
        socket.say_text('"' + "x" * 1_100_000 + '"')
        assert socket.closed_with() == 1009
