"""Stores for servers that a test starts as processes: a data folder, and on PostgreSQL a database."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.support.databases import own_database


@dataclass(frozen=True, slots=True)
class Store:
    """`settings` lead to it, by their names without prefix. `keys`: user → an API key of theirs."""

    folder: Path
    settings: dict[str, str]
    keys: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def copied(self, folder: Path) -> Iterator[Self]:
        """Another one with the same content, for as long as the block lasts. Meanwhile nobody may be at this one."""
        with own_database(like=self.settings.get("DATABASE_URL", "").rpartition("/")[2]) as settings:
            shutil.copytree(self.folder, folder, dirs_exist_ok=True)
            yield type(self)(folder, settings, self.keys)
