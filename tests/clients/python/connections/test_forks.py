"""Processes that were forked while a client was in use: workers of a server that loads the program first, or multiprocessing."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stillhere import Client
from tests.clients.python.conftest import PROJECT, SOURCE
from tests.clients.python.connections.test_wires import ANSWERS, Peer
from tests.support.live_server import LiveServer

# `forked(work, number)`: `work` in so many children at the same time; what each returned, or the error.
FORKED = """
import json, multiprocessing, sys, traceback
def forked(work, number):
    global one
    def one(n):
        try:
            return work(n)
        except BaseException:
            return traceback.format_exc()
    with multiprocessing.get_context("fork").Pool(number) as pool:
        return pool.map(one, range(number), chunksize=1)
url, key, project, path = sys.argv[1:]
"""
THREADS = """
from stillhere import Client
client = Client(url, key, project)
chat = client.open_session("t").id
for n in range(3):
    client.put_value("users", str(n), n)
def work(n):
    found = [client.get_value("users", str(n)).value for _ in range(10)]
    client.save(chat, [{"role": "user", "text": f"child {n}"}])
    return found == [n] * 10
done = forked(work, 3)
client.save(chat, [{"role": "user", "text": "parent"}])
print(json.dumps(done))
"""
COROUTINES = """
import asyncio
from stillhere import AsyncClient
client = AsyncClient(url, key, project)
async def prepare():
    for n in range(3):
        await client.put_value("users", str(n), n)
async def read(n):
    return [(await client.get_value("users", str(n))).value for _ in range(10)]
async def main():
    await prepare()
    done = await asyncio.to_thread(forked, lambda n: asyncio.run(read(n)) == [n] * 10, 3)
    return done, await read(1) == [1] * 10
done, parent = asyncio.run(main())
print(json.dumps([*done, parent]))
"""
SPOOLED = """
import threading
from stillhere import Spool
spool = Spool(path, url, key, project)
def say(text):
    spool.save([{"role": "user", "text": text}], external_id="t")
say("before")
spool.flush()
# The parent is at work when it forks.
stop = threading.Event()
def go_on():
    while not stop.wait(0.05):
        spool.save([{"role": "user", "text": "meanwhile"}], external_id="u")
thread = threading.Thread(target=go_on)
thread.start()
def work(n):
    for number in range(10):
        say(f"child {n}: {number}")
    return spool.flush(60)
done = forked(work, 3)
stop.set()
thread.join()
say("parent")
print(json.dumps([*done, spool.flush(60), spool.refused() == []]))
spool.close()
"""
ABANDONED = """
import os, ssl
from stillhere.http.wires import Server, Wires
wires = Wires(Server(url), 5)
wires.send("GET", "/x", {}, None)
child = os.fork()
if not child:
    wires.send("GET", "/x", {}, None)
    os._exit(0)
code = os.waitpid(child, 0)[1]
wires.send("GET", "/x", {}, None)
print(json.dumps(code))
"""


def ran(script: str, *arguments: object) -> Any:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED + script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE)}, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("script", [THREADS, COROUTINES], ids=["threads", "coroutines"])
def test_children_read_their_own_answers_and_all_may_save(
    server: LiveServer, secret: str, client: Client, tmp_path: Path, script: str
) -> None:
    done = ran(script, server.url, secret, PROJECT, tmp_path)
    assert done == [True] * len(done)
    if script is THREADS:
        chat = client.open_session("t").id
        assert sorted(each.text for each in client.read_messages(chat).items) == ["child 0", "child 1", "child 2", "parent"]


def test_a_spool_in_parent_and_children(server: LiveServer, secret: str, client: Client, tmp_path: Path) -> None:
    done = ran(SPOOLED, server.url, secret, PROJECT, tmp_path / "spool.db")
    assert done == [True] * len(done)
    found = client.find_session("t")
    assert found is not None
    texts = [each.text for each in client.read_messages(found.id, limit=200).items]
    assert (len(texts), texts[0], texts[-1]) == (32, "before", "parent")
    for child in range(3):
        own = [text for text in texts if text.startswith(f"child {child}")]
        assert own == [f"child {child}: {number}" for number in range(10)]


def test_the_connection_of_the_parent_stays_open() -> None:
    peer = Peer()
    peer.answer = ANSWERS["a length"][0]
    assert ran(ABANDONED, peer.url, "", "", "") == 0
    assert peer.connections == 2
    peer.listening.close()
