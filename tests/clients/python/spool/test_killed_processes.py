"""Real processes on the files of one spool, that are killed at any moment."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stillhere.spool.storage import Storage
from tests.clients.python.conftest import SOURCE
from tests.support.suite import is_patient

# Adds without a pause, or one at a time, or takes what it finds; says what it did before and after.
WORKER = """
import json, random, sys, time
from stillhere.spool.items import DamagedSpool, Item
from stillhere.spool.storage import Storage
path, scope, kind, seed = sys.argv[1:]
chance = random.Random(seed)
print("begun", file=sys.stderr, flush=True)
store = Storage(path, scope)
number = 0
while True:
    if kind == "add":
        number += 1
        text = f"{seed}:{number}" + "x" * chance.choice([1, 1, 300, 5000])
        store.add([Item(0, None, "t", "{}", seed, number, None, text, 0)])
        print(text.rstrip("x"), flush=True)
    else:
        found = store.next_after(0)
        if found:
            taken = found[: chance.randint(1, len(found))]
            print(json.dumps([each.ops.rstrip("x") for each in taken]), flush=True)
            store.forget_up_to(taken[-1].number)
            print("forgotten", flush=True)
    time.sleep(chance.choice([0, 0, 0.001, 0.004]))
"""


class Workers:
    """Of one kind and number each; what they said until they were killed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.alive: list[tuple[str, int, subprocess.Popen[str]]] = []
        # By the numbers of those that add. What the others took for certain, and perhaps.
        self.stored: dict[int, list[str]] = {}
        self.taken = set[str]()

    def start(self, kind: str, number: int) -> None:
        command = [sys.executable, "-c", WORKER, str(self.path), "here", kind, str(number)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env={"PYTHONPATH": str(SOURCE)})
        # On a busy machine Python takes longer to start than a worker has to live.
        assert process.stderr is not None
        assert process.stderr.readline() == "begun\n"
        self.alive.append((kind, number, process))

    def kill(self, index: int) -> None:
        kind, number, process = self.alive.pop(index)
        process.kill()
        said, _ = process.communicate()
        lines = [line for line in said.split("\n")[:-1] if line != "forgotten"]
        if kind == "add":
            self.stored[number] = lines
        else:
            self.taken.update(text for line in lines for text in json.loads(line))


@pytest.mark.parametrize("round", range(4 if is_patient() else 1))
def test_processes_that_are_killed_lose_nothing(tmp_path: Path, round: int) -> None:
    """Three add, one takes; each is killed and followed by another one. What was said to be stored was taken or is there."""
    chance, workers = random.Random(round), Workers(tmp_path / "spool.db")
    for number in range(16):
        workers.start("take" if number % 4 == 3 else "add", number)
        if len(workers.alive) == 4:
            time.sleep(chance.uniform(0.1, 0.5))
            workers.kill(chance.randrange(4))
    while workers.alive:
        workers.kill(0)
    store, left, last = Storage(workers.path, "here"), list[str](), 0
    while some := store.next_after(last):
        left += [each.ops.rstrip("x") for each in some]
        last = some[-1].number
    store.close()
    for number, texts in workers.stored.items():
        found = [text for text in left if text.startswith(f"{number}:")]
        assert found == sorted(found, key=lambda text: int(text.partition(":")[2]))
        assert set(texts) <= {*workers.taken, *found}
    assert sum(map(len, workers.stored.values())) > 50
