"""Hostile bodies: refused in the API's format, or stored and returned exactly; never a server error."""

import gzip
import json
import resource
from collections.abc import Iterator
from itertools import product
from typing import Any

import httpx
import pytest
from django.test import Client

from tests.support.chat import Chat
from tests.support.live_server import LiveServer
from tests.support.saves import refusal, upsert

pytestmark = pytest.mark.django_db
SAVE = b'{"epoch": 1, "writer_id": "w", "seq": 1, "ops": [{"op": "upsert", "id": "m1", "role": "user", "text": "x", "raw": %b}]}'
UNREADABLE: dict[str, bytes] = {
    "NaN": b"NaN",
    "Infinity": b"-Infinity",
    "beyond a double": b"1e999",
    "5,000 digits": b"9" * 5_000,
    "depth 100,000": b"[" * 100_000 + b"]" * 100_000,
    "depth 65 in all": b"[" * 62 + b"]" * 62,
    "objects in depth": b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    "duplicate keys": b'{"a": 1, "a": 2}',
    "keys that become one": b'{"\\udfff": 1, "\\ud800": 2}',
    "raw NUL": b'"\x00"',
    "bad UTF-8": b'"\xff\xfe"',
    "an encoded surrogate": b'"\xed\xa0\x80"',
    "overlong UTF-8": b'"\xc0\x80"',
    "a comment": b"1 /* one */",
    "single quotes": b"'a'",
    "a trailing comma": b"[1,]",
    "nothing": b"",
    "an unfinished string": b'"abc',
    "hexadecimal": b"0x10",
    "a leading zero": b"007",
}
KEPT: dict[str, bytes] = {
    "4,000 digits": b"9" * 4_000,
    "the smallest double": b"5e-324",
    "the largest double": b"1.7976931348623157e308",
    "minus zero": b"-0.0",
    "2**64": b"18446744073709551616",
    "depth 60": b"[" * 60 + b"]" * 60,
    "an empty key": b'{"": {"__proto__": {"constructor": 1}}}',
    "controls": b'"\\u0001\\u001f\\u007f\\u2028\\ufeff\\uffff"',
    "right to left": '"\u202e\u2066 abc"'.encode(),
    "a million spaces": b" " * 1_000_000 + b"1",
}


def post(chat: Chat, body: bytes, **headers: str) -> Any:
    path = f"/api/v1/sessions/{chat.id}/changes"
    return chat.api.client.post(path, body, content_type="application/json", headers=headers)


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_refused_in_the_one_shape(chat: Chat, name: str) -> None:
    assert refusal(post(chat, SAVE % UNREADABLE[name])) == (400, "unreadable_json")
    assert chat.texts() == []


@pytest.mark.parametrize(("levels", "status"), [(61, 200), (62, 400)])
def test_the_depth_of_a_long_compact_body_counts_too(chat: Chat, levels: int, status: int) -> None:
    """It is read by a reader of its own."""
    value = b"[" * levels + b'"' + b"x" * 20_000 + b'"' + b"]" * levels
    assert post(chat, SAVE.replace(b", ", b",").replace(b": ", b":") % value).status_code == status


@pytest.mark.parametrize("name", KEPT)
def test_what_can_be_read_comes_back_exactly(chat: Chat, name: str) -> None:
    answer = post(chat, SAVE % KEPT[name])
    assert (answer.status_code, answer.json()["rejected"]) == (200, [])
    (message,) = chat.read()["messages"]
    assert json.dumps(message["raw"]) == json.dumps(json.loads(KEPT[name]))


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b"7", b'"text"', b"[[]]", b"\xef\xbb\xbf{}", b"\x1f\x8b", b"{}" * 2], ids=repr
)
def test_a_body_that_is_no_object_is_refused(chat: Chat, body: bytes) -> None:
    assert refusal(post(chat, body))[0] in {400, 422}


@pytest.mark.parametrize(("body", "said"), [(b"", "Send a JSON object"), (b"[]", "A JSON object belongs here.")])
def test_what_is_no_body_is_told_in_words_of_ours(chat: Chat, body: bytes, said: str) -> None:
    address = f"/api/v1/sessions/{chat.id}/transfer"
    answer = chat.api.client.generic("POST", address, body, content_type="application/json")
    [field] = answer.json()["error"]["details"]["fields"]
    assert (answer.status_code, field["field"]) == (422, "body")
    assert field["reason"].startswith(said)


def test_a_packed_body_is_not_unpacked(chat: Chat) -> None:
    bomb = gzip.compress(SAVE % (b" " * 50_000_000 + b"1"))
    assert refusal(post(chat, bomb, **{"Content-Encoding": "gzip"})) == (400, "unreadable_json")


def test_a_hundred_thousand_messages_are_too_many(chat: Chat) -> None:
    body = {"epoch": 1, "writer_id": "w", "seq": 1, "ops": [{}] * 100_000}
    assert refusal(post(chat, json.dumps(body).encode())) == (413, "too_large")


JUNK: list[Any] = [None, True, -1, 0, 1.5, 2**63, 10**30, "", "x", "\0", [], [None], {}, {"a": {}}, [[[]]], "\ud800", "9" * 200]
BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "changes": (
        "post",
        {
            "epoch": 1,
            "writer_id": "w",
            "seq": 1,
            "base_rev": 0,
            "ops": [],
            "opening_step": "",
            "if_rev": 0,
            "atomic": True,
            "create": {"project": "/home/alice/shop"},
            "session": {"title": ""},
        },
    ),
    "messages": ("put", {"epoch": 1, "writer_id": "w", "seq": 1, "base_rev": 0, "messages": [], "if_rev": 0, "atomic": True}),
    "clear": ("post", {"epoch": 1, "writer_id": "w", "seq": 1}),
    "undo-clear": ("post", {"epoch": 1, "writer_id": "w", "seq": 1, "of": 1}),
    "fork": ("post", {"up_to": "m1", "project": "/x", "writer_id": "w", "seq": 1}),
}
MESSAGE = {"op": "upsert", "id": "m1", "role": "user", "text": "x", "parts": [], "metadata": {}, "raw": 1, "format": "f",
           "parent_id": "p", "status": "complete", "if_ver": 0}  # fmt: skip


def with_junk(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The body with one field, or one field of an object in it, replaced by each kind of junk."""
    for name, value in body.items():
        for junk in JUNK:
            yield {**body, name: junk}
        for wrong in with_junk(value) if isinstance(value, dict) else ():
            yield {**body, name: wrong}


@pytest.mark.parametrize("path", BODIES)
def test_wrong_types_everywhere_are_no_fault_of_the_server(chat: Chat, path: str) -> None:
    method, body = BODIES[path]
    for wrong in with_junk(body):
        answer = getattr(chat.api, method)(f"/sessions/{chat.id}/{path}", wrong)
        assert answer.status_code < 500, (wrong, answer.content)
        if answer.status_code >= 400:
            refusal(answer)


def test_wrong_types_in_every_field_of_a_message_spoil_only_it(chat: Chat) -> None:
    ops = [{**MESSAGE, "id": f"{name}{index}", name: junk} for name in MESSAGE for index, junk in enumerate(JUNK)]
    ops += [{**op, "op": "patch"} for op in ops]
    ops += [{"op": "pop", "n": junk} for junk in JUNK]
    ops += [{"op": "delete", "id": junk, "if_ver": junk} for junk in JUNK] + [{"op": "truncate", "after": j} for j in JUNK[1:]]
    answer = chat.ops(*ops, *JUNK, upsert("good", "good"))
    assert "good" in [entry["id"] for entry in answer["applied"]]
    read = chat.read()
    assert (read["skipped"], read["messages"][-1]["text"]) == ([], "good")


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=501", "limit=x", "limit=1e3", "since_rev=-1", f"since_rev={10**30}", "before=%00"]
)
def test_wrong_queries_are_refused(chat: Chat, query: str) -> None:
    assert refusal(chat.get(f"messages?{query}")) == (422, "invalid")


@pytest.mark.parametrize("odd", ["%00", "%ED%A0%80", "..%2f..", "x" * 300, "{id}", "0", "%F0%9F%98%80"])
def test_odd_ids_are_unknown(chat: Chat, odd: str) -> None:
    assert Client().get(f"/api/v1/sessions/{odd}").status_code in {401, 404}
    assert chat.api.get(f"/sessions/{odd}").status_code == 404
    assert chat.api.delete(f"/projects/{odd}").status_code == 404


MEGABYTE = bytes(1_000_000)


def zeros(megabytes: int) -> Iterator[bytes]:
    for _ in range(megabytes):
        yield MEGABYTE


def stream(server: LiveServer, chat: Chat, megabytes: int) -> int:
    """The status, or 0 where the server hung up before all was sent."""
    headers = {"Authorization": chat.api.client.defaults["HTTP_AUTHORIZATION"], "Content-Type": "application/json"}
    try:
        url = f"{server.url}/api/v1/sessions/{chat.id}/changes"
        return httpx.post(url, content=zeros(megabytes), headers=headers, timeout=60).status_code
    except httpx.TransportError:
        return 0


def peak_kilobytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_a_stream_of_zeros_is_cut_off_and_costs_no_memory(server: LiveServer, api: Any, alice: Any) -> None:
    chat = Chat(api(alice))
    stream(server, chat, 10)
    before = peak_kilobytes()
    assert stream(server, chat, 1_000) in {0, 413}
    assert peak_kilobytes() - before < 64 * 1024
    assert chat.texts() == []


KINDS = (
    "text/plain; charset=utf-8",
    "text/plain; a*=bogus''x",
    "text/plain; a*=idna''%ff",
    "text/plain; charset=hex",
    "application/json; charset=idna",
    "; a*=1*='",
)


def test_an_odd_content_type_is_no_fault_of_the_server(server: LiveServer, subtests: pytest.Subtests) -> None:
    paths = ("/api/v1/projects?limit=%ff", "/login/?next=%ff", "/healthz?a=%ff", "/nowhere?a=%ff")
    with httpx.Client(base_url=server.url, timeout=60) as http:
        for kind, path in product(KINDS, paths):
            with subtests.test(kind=kind, path=path):
                answer = http.get(path, headers={"Content-Type": kind})
                assert answer.status_code < 500, answer.content
                many = http.get(f"{path}{'&a' * 1_001}", headers={"Content-Type": kind})
                assert many.status_code < 500, many.content
                if "bogus" in kind:
                    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "unreadable")
