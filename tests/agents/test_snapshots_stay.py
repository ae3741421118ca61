"""Frozen handoffs never change: a thousand snapshots through every change of their project, and every way to write."""

import hashlib
import random
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse

from sessions_app.models import HandoffSnapshot, Project
from tests.support.chat import Chat

pytestmark = pytest.mark.django_db
COLUMNS = "id, project_id, number, payload, sha256, session_id, session_rev, author, created_at"


class Life:
    """A project that is worked on: every act is one that somebody could take for a change of its handoff."""

    def __init__(self, api: Any, dice: random.Random) -> None:
        self.api, self.dice = api, dice
        self.chat = Chat(api, project="/home/alice/shop")
        self.other = Chat(api, project="/home/alice/other")
        self.project = self.chat.read()["session"]["project_id"]
        self.handoff = f"/projects/{self.project}/handoff"
        self.epoch = 1
        self.frozen: dict[int, tuple[str, str]] = {}

    def freeze(self) -> None:
        made = self.api.post(f"{self.handoff}/freeze").json()
        payload = HandoffSnapshot.objects.get(project_id=self.project, number=made["number"]).payload
        self.frozen[made["number"]] = (made["sha256"], payload)

    def act(self) -> None:
        self.edit()
        if self.dice.random() < 0.4:
            self.dice.choice([self.clear, self.transfer, self.restore, self.trash, self.select])()

    def edit(self) -> None:
        live = self.api.get(self.handoff).json()["decisions"]
        item = self.dice.choice(live)["id"] if live else ""
        if len(live) > 20 or (live and self.dice.random() < 0.3):
            self.api.delete(f"{self.handoff}/decisions/{item}")
        elif live and self.dice.random() < 0.3:
            self.api.patch(f"{self.handoff}/decisions/{item}", {"text": f"changed {self.dice.random()}"})
        self.api.post(f"{self.handoff}/decisions", {"text": f"Käse {self.dice.random()}", "rejected": ["z", "a"]})

    def clear(self) -> None:
        self.epoch = self.chat.clear(epoch=self.epoch)["epoch"]
        if self.dice.random() < 0.5:
            self.chat.say("m", f"{self.dice.random()}", epoch=self.epoch)
            self.epoch = self.chat.clear(epoch=self.epoch)["epoch"]
            self.chat.undo(of=self.epoch - 1, epoch=self.epoch)

    def transfer(self) -> None:
        self.api.patch(f"/sessions/{self.chat.id}/ai-states/claude", {"working_notes": f"{self.dice.random()}"})
        body = {"to_session": self.other.id, "include": ["ai_states", "messages"], "on_conflict": "overwrite"}
        done = self.api.post(f"/sessions/{self.chat.id}/transfer", body)
        assert done.status_code == 200, done.content

    def restore(self) -> None:
        states = f"/sessions/{self.chat.id}/ai-states/restored"
        rev = self.api.patch(states, {"working_notes": f"{self.dice.random()}"}).json()["rev"]
        self.api.patch(states, {"working_notes": "later"})
        assert self.api.post(f"{states}/history/{rev}/restore").status_code == 200

    def trash(self) -> None:
        for address in (f"/sessions/{self.chat.id}", f"/projects/{self.project}"):
            assert self.api.delete(address).status_code == 204
            assert self.api.post(f"{address}/undelete").status_code == 200

    def select(self) -> None:
        for path in (self.other.project, self.chat.project):
            self.api.put("/app-state", {"selected_project": path})

    def back_from_a_file(self) -> None:
        file = self.api.get("/export").getvalue()
        for project in Project.objects.values_list("id", flat=True):
            assert self.api.delete(f"/projects/{project}?purge=1").status_code == 204
        assert not HandoffSnapshot.objects.exists()
        upload = self.api.client.generic("POST", "/api/v1/import", file, content_type="application/x-ndjson")
        assert upload.status_code == 200, upload.content

    def check(self) -> None:
        stored = {row.number: (row.sha256, row.payload) for row in HandoffSnapshot.objects.filter(project_id=self.project)}
        assert stored == self.frozen
        assert all(hashlib.sha256(payload.encode()).hexdigest() == sha256 for sha256, payload in stored.values())
        for number in self.dice.sample(sorted(self.frozen), 5):
            sha256, payload = self.frozen[number]
            answer = self.api.get(f"{self.handoff}/snapshots/{number}")
            assert answer.json()["sha256"] == sha256
            assert payload.encode() in answer.content


@pytest.mark.parametrize("number", [20, pytest.param(1_000, marks=pytest.mark.prove)])
def test_snapshots_stay_through_edit_clear_transfer_and_restore(api: Callable[..., Any], alice: User, number: int) -> None:
    life = Life(api(alice), random.Random(number))
    for _ in range(number):
        life.act()
        life.freeze()
    for act in (life.edit, life.clear, life.transfer, life.restore, life.trash, life.select):
        act()
    life.check()
    life.back_from_a_file()
    life.check()


@pytest.fixture
def row(api: Callable[..., Any], alice: User) -> HandoffSnapshot:
    life = Life(api(alice), random.Random(1))
    life.edit()
    life.freeze()
    return HandoffSnapshot.objects.get()


def by_orm(row: HandoffSnapshot) -> list[Callable[[], Any]]:
    def change_and_save() -> None:
        row.payload = "{}"
        row.save()

    return [
        lambda: HandoffSnapshot.objects.update(author="mallory"),
        lambda: HandoffSnapshot.objects.bulk_update([row], ["sha256"]),
        lambda: HandoffSnapshot.objects.update_or_create(id=row.id, defaults={"payload": "{}"}),
        lambda: HandoffSnapshot.objects.all().delete(),
        lambda: Project.objects.all().delete(),
        change_and_save,
        row.delete,
    ]


def by_sql(row: HandoffSnapshot) -> list[Callable[[], Any]]:
    table = "sessions_app_handoffsnapshot"
    copied = f"INTO {table} ({COLUMNS}) SELECT {COLUMNS.replace('author', repr('mallory'))} FROM {table}"
    statements = [f"UPDATE {table} SET payload = '{{}}'", f"UPDATE {table} SET author = author", f"DELETE FROM {table}"]
    if connection.vendor == "sqlite":
        other_id = copied.replace("SELECT id", f"SELECT '{uuid.uuid4().hex}'")
        statements += [f"INSERT OR REPLACE {copied}", f"REPLACE {other_id}", f"UPDATE OR IGNORE {table} SET author = 'mallory'"]
    else:
        statements += [
            f"INSERT {copied} ON CONFLICT (id) DO UPDATE SET author = 'mallory'",
            f"SET CONSTRAINTS ALL IMMEDIATE; TRUNCATE {table}",
        ]

    def run(statement: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement)

    return [lambda statement=statement: run(statement) for statement in statements]  # type: ignore[misc]


@pytest.mark.parametrize("ways", [by_orm, by_sql])
def test_no_write_past_the_services_changes_a_snapshot(row: HandoffSnapshot, ways: Any) -> None:
    before = HandoffSnapshot.objects.values().get()
    for way in ways(row):
        with pytest.raises(DatabaseError, match="frozen handoff"), transaction.atomic():
            way()
    assert HandoffSnapshot.objects.values().get() == before


def test_the_admin_shows_snapshots_and_writes_none(row: HandoffSnapshot) -> None:
    before = HandoffSnapshot.objects.values().get()
    operator = Client()
    operator.force_login(User.objects.create_superuser("operator"))
    page = "admin:sessions_app_handoffsnapshot"
    assert row.sha256.encode() in operator.get(reverse(f"{page}_changelist")).content
    assert operator.get(reverse(f"{page}_change", args=[row.pk])).status_code == 200
    fields = {"payload": "{}", "sha256": "0", "number": "1", "author": "mallory"}
    for name, arguments in (("add", []), ("change", [row.pk]), ("delete", [row.pk])):
        assert operator.post(reverse(f"{page}_{name}", args=arguments), {**fields, "post": "yes"}).status_code == 403
    operator.post(reverse(f"{page}_changelist"), {"action": "delete_selected", "_selected_action": [str(row.pk)], "post": "yes"})
    assert HandoffSnapshot.objects.values().get() == before
