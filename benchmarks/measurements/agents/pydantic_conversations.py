"""Conversations of Pydantic AI in a project, through HTTP and clients/python, beside a local store in the same run.

Pydantic AI has one in memory only. So that is used with two files for each conversation, of its entries and of its record. They
are on the disk before the save returns: what a program without a server would write.
"""

import asyncio
import os
from collections.abc import Awaitable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import TypeAdapter
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord, ConversationStore, InMemoryConversationStore
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, ModelResponse, TextPart, UserPromptPart

from benchmarks.support.beside_local import READ, WRITE, timed_row
from benchmarks.support.sample_sizes import Plan
from benchmarks.support.sides import Stillhere, filled, kept
from benchmarks.support.table import Row
from stillhere.pydantic_ai import StillhereConversationStore

TURNS, LISTED, READ_AT_ONCE = 50, 20, 20
ID, NAME = "PYDANTIC", "c"
RECORD = TypeAdapter(ConversationRecord)


class _Files(InMemoryConversationStore):
    """What is read is parsed from the files, although memory has it too."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    async def write_record(
        self, record: ConversationRecord, *, new_entries: Sequence[ConversationEntry] = (), expected_revision: str | None
    ) -> None:
        await super().write_record(record, new_entries=new_entries, expected_revision=expected_revision)
        lines = [ModelMessagesTypeAdapter.dump_json([entry.message]) for entry in new_entries]
        _append(self.folder / f"{record.conversation_id}.entries", lines)
        _append(self.folder / f"{record.conversation_id}.record", [RECORD.dump_json(record)])

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        self._parse(self.folder / f"{conversation_id}.record")
        return await super().read_record(conversation_id)

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        for file in self.folder.glob("*.record"):
            self._parse(file)
        return await super().read_records(scope=scope, limit=limit)

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        for line in (self.folder / f"{NAME}.entries").read_bytes().splitlines():
            ModelMessagesTypeAdapter.validate_json(line)
        return await super().read_history(head_id, limit=limit)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        await super().delete_record(conversation_id, expected_revision=expected_revision)
        for file in self.folder.glob(f"{conversation_id}.*"):
            file.unlink()
        folder = os.open(self.folder, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def _parse(self, file: Path) -> None:
        if file.exists():
            RECORD.validate_json(file.read_bytes().splitlines()[-1])


def _append(path: Path, lines: Sequence[bytes]) -> None:
    """On the disk when this returns."""
    with path.open("ab") as file:
        file.writelines(line + b"\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())


def pydantic_conversations(plan: Plan) -> list[Row]:
    return asyncio.run(_conversations(plan))


async def _conversations(plan: Plan) -> list[Row]:
    side = kept(Stillhere(filled("-m", "benchmarks.seeding.memory_seed", "bench", "1")))
    named = (f"http://127.0.0.1:{side.port}", side.calls.headers["Authorization"].removeprefix("Bearer "), "/bench/pydantic")
    turns = max(10, min(TURNS, plan.requests))
    with TemporaryDirectory() as folder:
        ours, local = StillhereConversationStore(*named), _Files(Path(folder))
        rows = await _rows(ours, local, turns)
    ours.client.close()
    return rows


async def _rows(ours: ConversationStore, local: ConversationStore, turns: int) -> list[Row]:
    what = "Pydantic AI:"
    held = {id(store): Conversation(conversation_id=NAME) for store in (ours, local)}

    def save_turn(store: ConversationStore) -> Awaitable[object]:
        conversation = held[id(store)]
        text = "x" * 500
        conversation.messages += [ModelRequest(parts=[UserPromptPart(text)]), ModelResponse(parts=[TextPart(text)])]
        return store.save(conversation)

    async def delete(store: ConversationStore, number: int) -> None:
        await store.delete(f"other {number}")

    saved = await timed_row(ID, f"{what} save a turn", lambda _: save_turn(ours), lambda _: save_turn(local), turns, WRITE)
    loaded = await timed_row(
        ID, f"{what} load {turns * 2} messages", lambda _: ours.load(NAME), lambda _: local.load(NAME), READ_AT_ONCE, READ
    )
    for store in (ours, local):
        for number in range(LISTED):
            await store.save(Conversation(conversation_id=f"other {number}", messages=held[id(store)].messages[:10]))
    listed = await timed_row(
        ID,
        f"{what} list {LISTED}",
        lambda _: ours.list_conversations(limit=LISTED),
        lambda _: local.list_conversations(limit=LISTED),
        READ_AT_ONCE,
        READ,
    )
    deleted = await timed_row(ID, f"{what} delete", lambda n: delete(ours, n), lambda n: delete(local, n), LISTED, READ)
    return [saved, loaded, listed, deleted]
