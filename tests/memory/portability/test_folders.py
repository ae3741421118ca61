"""A project's memory as a folder: export, import, and no access to other files."""

import json
import os
import stat
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memory_app.models import EndpointTiming, ErrorReport, MemoryEntry
from sessions_app.core.public_names import now, rfc3339
from tests.memory.conftest import Memory
from tests.memory.portability.folder_files import bring_in, export, fill, other, told

SECRET = "sh_" + "k3Y" * 16 + "z"


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The project is a folder, as those of agents are."""
    folder = tmp_path / "shop"
    folder.mkdir()
    return str(folder)


def test_one_file_a_key_and_all_of_it_comes_back(memory: Memory, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    fill(memory)
    folder = export(path)
    files = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert files == {
        "meta.json", "baselines/login.json", "notes/a.b-c_d.json", "noise/config.json", "errors/history.json",
        "performance/endpoints.json",
    }  # fmt: skip
    for place in [folder, *folder.rglob("*")]:
        assert stat.S_IMODE(place.stat().st_mode) == (0o755 if place.is_dir() else 0o644)
    assert (folder / "notes/a.b-c_d.json").read_text() == '"中文 🦊"\n'
    assert json.loads((folder / "meta.json").read_text())["session_count"] == 1
    there = other(memory)
    assert bring_in(capsys, "elsewhere", folder=folder) == []
    assert told(there) == told(memory)
    assert there.start()["session_count"] == 2


@pytest.mark.parametrize("mask", [0o077, 0o000])
def test_modes_do_not_depend_on_the_umask(memory: Memory, path: str, mask: int) -> None:
    memory.put("notes/n", 1)
    before = os.umask(mask)
    try:
        folder = export(path)
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(place.stat().st_mode) for place in (folder / "notes/n.json", folder / "meta.json")}
    assert (modes, stat.S_IMODE((folder / "notes").stat().st_mode)) == ({0o644}, 0o755)


def test_importing_twice_changes_nothing_more(memory: Memory, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    fill(memory)
    folder, there = export(path), other(memory)
    bring_in(capsys, "elsewhere", folder=folder)
    before = told(there), there.get("baselines/login")["ETag"]
    bring_in(capsys, "elsewhere", folder=folder)
    assert (told(there), there.get("baselines/login")["ETag"]) == before


def test_a_value_that_was_there_stays_as_a_version(memory: Memory, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    memory.put("notes/n", "old")
    folder = export(path)
    memory.put("notes/n", "newer")
    bring_in(capsys, path)
    assert memory.get("notes/n").json()["value"] == "old"
    assert [item["value"] for item in memory.get("notes/n/versions").json()["items"]] == ["old", "newer", "old"]
    assert folder.is_dir()


def test_an_export_follows_what_was_deleted_and_leaves_others_files(memory: Memory, path: str) -> None:
    memory.put("notes/stays", 1)
    memory.put("notes/goes", 1)
    memory.put("gone/too", 1)
    folder = export(path)
    (folder / "notes/README.md").write_text("mine")
    memory.delete("notes/goes")
    memory.delete("gone/too")
    export(path)
    left = {str(file.relative_to(folder)) for file in folder.rglob("*")}
    assert left == {"meta.json", "notes", "notes/stays.json", "notes/README.md"}


def test_in_a_folder_that_no_export_made_nothing_is_removed(memory: Memory, path: str, tmp_path: Path) -> None:
    memory.put("notes/n", 1)
    there = tmp_path / "there"
    (there / "config").mkdir(parents=True)
    (there / "config/mine.json").write_text("{}")
    export(path, to=there)
    assert (there / "config/mine.json").exists()
    assert (there / "notes/n.json").read_text() == "1\n"


def test_links_are_not_followed_on_the_way_out(memory: Memory, path: str, tmp_path: Path) -> None:
    memory.put("notes/n", 1)
    memory.put("other/n", 1)
    outside = tmp_path / "outside"
    outside.mkdir()
    victim = tmp_path / "victim.json"
    victim.write_text("untouched")
    folder = Path(path) / ".stillhere"
    (folder / "other").mkdir(parents=True)
    (folder / "notes").symlink_to(outside)
    (folder / "other/n.json").symlink_to(victim)
    export(path)
    assert list(outside.iterdir()) == []
    assert victim.read_text() == "untouched"
    assert (folder / "other/n.json").read_text() == "1\n"
    linked = tmp_path / "linked"
    linked.symlink_to(outside)
    with pytest.raises(CommandError):
        export(path, to=linked)
    assert list(outside.iterdir()) == []


def test_names_that_mean_a_place_stay_inside(memory: Memory, path: str) -> None:
    MemoryEntry.objects.create(project_id=memory.project, namespace="..", key="x", value="1", rev=1, size_bytes=1)
    MemoryEntry.objects.create(project_id=memory.project, namespace="n", key="../../x", value="1", rev=2, size_bytes=1)
    before = set(Path(path).parent.rglob("*"))
    folder = export(path)
    names = ("meta.json", "%2E.", "%2E./x.json", "n", "n/%2E.%2F..%2Fx.json")
    assert set(Path(path).parent.rglob("*")) - before == {folder, *(folder / name for name in names)}


def test_a_file_appears_whole_or_not_at_all(memory: Memory, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.put("notes/n", "old")
    folder = export(path)
    memory.put("notes/n", "new")

    def fail(*arguments: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("memory_app.portability.folder.safe_files.os.fsync", fail)
    with pytest.raises(CommandError, match="No space left"):
        export(path)
    assert (folder / "notes/n.json").read_text() == '"old"\n'
    assert [file.name for file in (folder / "notes").iterdir()] == ["n.json"]


# What `spoil` makes, as the command lists it.
SPOILED = (
    "baselines/broken.json", "baselines/list.json", "notes/latin.json", "notes/large.json", "notes/link.json",
    "notes/bad name.json", "notes/twice.json", "notes/.hidden.json", "notes/deeper", "notes/readme.md", "linked",
    "stray.json", "meta.json", "notes/pipe.json", "noise/config.json", "errors/history.json: no. 2",
    "errors/history.json: no. 3", "errors/history.json: no. 4", "performance/endpoints.json: no. 2",
)  # fmt: skip


def spoil(folder: Path, outside: Path) -> None:
    """Adds files that cannot be read. `outside`: a file that a link in the folder points at."""
    texts = {
        "baselines/broken.json": '{"status": ',
        "baselines/list.json": "[]",
        "notes/large.json": json.dumps("x" * 1_000_001),
        "notes/bad name.json": "1",
        "notes/twice.json": '{"a": 1, "a": 2}',
        "notes/.hidden.json": "1",
        "notes/readme.md": "1",
        "stray.json": "1",
        "meta.json": "{}",
        "noise/config.json": '{"rules": [{"id": 1}]}',
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "notes/latin.json").write_bytes(b'"\xe9"')
    (folder / "notes/link.json").symlink_to(outside)
    (folder / "notes/deeper").mkdir()
    (folder / "linked").symlink_to(outside.parent)
    os.mkfifo(folder / "notes/pipe.json")


def spoil_rows(folder: Path) -> None:
    """Adds rows that cannot be read to the two lists, and an error that is too old."""
    history = json.loads((folder / "errors/history.json").read_text())
    history["errors"] += [{"fingerprint": "x"}, 3, history["errors"][0] | {"last_seen": rfc3339(now() - timedelta(days=31))}]
    (folder / "errors/history.json").write_text(json.dumps(history))
    endpoints = json.loads((folder / "performance/endpoints.json").read_text())
    endpoints["endpoints"].append({"endpoint": "x", "runs": [{"histogram": [[-1, 1]]}]})
    (folder / "performance/endpoints.json").write_text(json.dumps(endpoints))


def test_what_cannot_be_read_is_named_and_the_rest_comes_in(
    memory: Memory, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(memory)
    folder = export(path)
    outside = tmp_path / "secret.json"
    outside.write_text('"nobody sees it"')
    spoil(folder, outside)
    spoil_rows(folder)
    there = other(memory)
    left_out = bring_in(capsys, "elsewhere", folder=folder)
    for name in SPOILED:
        assert [line for line in left_out if name in line.split(": ")[0] or line.startswith(name)], name
    assert len(left_out) == len(SPOILED) == 19
    assert "notes/pipe.json: it is not a plain file" in left_out
    found = set(MemoryEntry.objects.filter(project_id=there.project).values_list("namespace", "key"))
    assert found == {("baselines", "login"), ("notes", "a.b-c_d")}
    assert ErrorReport.objects.filter(project_id=there.project).count() == 1
    assert EndpointTiming.objects.filter(project_id=there.project).count() == 1


def test_secrets_in_files_do_not_reach_the_store(memory: Memory, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / ".gasoline"
    for namespace in ("notes", "errors", "performance"):
        (folder / namespace).mkdir(parents=True)
    (folder / "notes/n.json").write_text(json.dumps({"headers": {"Authorization": f"Bearer {SECRET}"}, "password": "hunter22"}))
    error = {"fingerprint": f"refused {SECRET}", "first_seen": rfc3339(now()), "last_seen": rfc3339(now()), "count": 2}
    (folder / "errors/history.json").write_text(json.dumps([error | {"resolved": True, "known_fix": f"use {SECRET}"}]))
    call_command("memory_import", project="elsewhere", folder=folder, create=True)
    told = capsys.readouterr()
    assert SECRET not in told.out + told.err
    assert "taken out: 1 password" in told.out
    stored = json.dumps([list(MemoryEntry.objects.values_list("value")), list(ErrorReport.objects.values())], default=str)
    assert SECRET not in stored
    assert "hunter22" not in stored
    assert stored.count("[REDACTED:") == 4


def gasoline_files() -> dict[str, Any]:
    seen = {"first_seen": "2026-01-25T12:00:00.123456789Z", "last_seen": rfc3339(now()).replace("Z", "999+00:00")}
    resolved = {"resolved": True, "resolved_at": "2026-01-25T12:00:00Z", **seen}
    unresolved = {"resolved": False, "resolved_at": "0001-01-01T00:00:00Z", **seen}
    rules = [
        {"id": "auto_1", "match_spec": {"message_regex": "^chrome-extension:", "level": ""}, "auto_detected": True},
        {"id": "user_1", "match_spec": {"url_regex": "^https"}, "auto_detected": False},
    ]
    return {
        "meta.json": {"project_path": "/x", "session_count": 7, "last_session": "2026-01-25T12:00:00Z"},
        "baselines/login.json": {"status": 200},
        "noise/config.json": {"version": 1, "next_user_id": 2, "rules": rules},
        "errors/history.json": [
            {"fingerprint": "TypeError: x is undefined", "count": 4, **unresolved},
            {"fingerprint": "fixed", "count": 1, **resolved},
        ],
        "performance/endpoints.json": {"/api": {"avg": 12}},
    }


def test_a_gasoline_folder_is_understood(memory: Memory, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(path) / ".gasoline"
    for name, value in gasoline_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(value))
    left_out = bring_in(capsys, path)
    assert [line.split(": ")[:2] for line in left_out] == [
        ["noise/config.json", "rule 'user_1'"],
        ["performance/endpoints.json", "it is not a list of endpoints"],
    ]
    assert memory.start()["session_count"] == 8
    [rule] = memory.get("noise/config").json()["value"]["rules"]
    assert rule == {"id": "auto_1", "pattern": "^chrome-extension:", "kind": "regex", "source": "auto", "enabled": True}
    errors = {error["message"]: error for error in memory.api.get(memory.address("errors")).json()["items"]}
    assert errors["TypeError: x is undefined"]["count"] == 4
    assert errors["TypeError: x is undefined"]["first_seen"] == "2026-01-25T12:00:00.123Z"
    assert (errors["TypeError: x is undefined"]["state"], errors["fixed"]["state"]) == ("unresolved", "resolved")


def test_the_quota_holds_and_what_did_not_fit_is_named(
    memory: Memory, path: str, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(4):
        memory.put(f"notes/{number}", "x" * 998)
    folder, there = export(path), other(memory)
    settings.PROJECT_BYTES = 2_500
    left_out = bring_in(capsys, "elsewhere", folder=folder)
    assert [line.split(": ")[0] for line in left_out] == ["notes/2.json", "notes/3.json"]
    assert there.api.get(there.address("memory-stats")).json()["size_bytes"] == 2_000


def test_a_run_that_writes_is_not_disturbed(memory: Memory, path: str) -> None:
    memory.put("notes/n", "old")
    memory.api.put(memory.address("memory-settings/notes"), {"versions": 2})
    export(path)
    memory.start("at work")
    memory.api.put(memory.address("memory-settings/notes"), {"versions": 3})
    with pytest.raises(CommandError, match="writer's lease"):
        call_command("memory_import", project=path)
    assert memory.api.get(memory.address("memory-settings/notes")).json()["versions"] == 3
