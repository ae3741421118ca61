"""An export that is ended leaves nothing of an account behind."""

import os
import signal
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_part_of_a_file(alice: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def end(*, to: Any, **_: Any) -> None:
        to.write(b"half of it")
        os.kill(os.getpid(), number)

    monkeypatch.setattr(import_module("config.management.commands.export"), "export_account", end)
    earlier = tmp_path / "all.ndjson"
    earlier.write_text("of yesterday")
    with pytest.raises(SystemExit) as ended:
        call_command("export", "--user", "alice", "--to", str(earlier))
    assert ended.value.code == 128 + number
    assert [(file, file.read_text()) for file in tmp_path.iterdir()] == [(earlier, "of yesterday")]
