"""Figures beside goals."""

import os
import platform
import sqlite3
import tempfile
import time
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

FIRST, LATER = "●", "○"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of the product, the figure to compare it with, and the required ratio."""

    id: str
    what: str
    ours: float
    beside: float
    beside_name: str
    unit: str
    limit: float
    at_most: bool
    release: str = FIRST

    @property
    def ratio(self) -> float:
        return self.ours / self.beside

    @property
    def met(self) -> bool:
        return self.ratio <= self.limit if self.at_most else self.ratio >= self.limit

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio, "met": self.met}


def as_table(rows: list[Row]) -> str:
    head = ("", "", "what", "Stillhere", "beside", "", "ratio", "goal", "")
    lines = [head, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    left = {0, 1, 2, 4, 8}
    columns = list(enumerate(widths))
    return "\n".join(
        "  ".join(line[at].ljust(width) if at in left else line[at].rjust(width) for at, width in columns).rstrip()
        for line in lines
    )


def summary(rows: list[Row]) -> str:
    missed = [row for row in rows if not row.met and row.release == FIRST]
    if not missed:
        return "Every goal (●) is met."
    return "MISSED: " + "; ".join(f"{row.id} {row.what}: {row.ratio:.2f} ×, goal {_goal(row)}" for row in missed)


def machine() -> str:
    """The machine and versions. The product has its own SQLite; the yardsticks use the system's."""
    try:
        from pysqlite3.dbapi2 import sqlite_version as own
    except ImportError:
        own = sqlite3.sqlite_version
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}, "
        f"SQLite {own} (yardsticks {sqlite3.sqlite_version}), fdatasync {_sync_micros():.0f} µs"
    )


def _cells(row: Row) -> tuple[str, ...]:
    met = "met" if row.met else "MISSED" if row.release == FIRST else "not yet"
    return (
        row.id, row.release, row.what, _figure(row.ours, row.unit), row.beside_name, _figure(row.beside, row.unit),
        f"{row.ratio:.2f} ×", _goal(row), met,
    )  # fmt: skip


def _goal(row: Row) -> str:
    return f"{'≤' if row.at_most else '≥'} {row.limit:g} ×"


def _figure(value: float, unit: str) -> str:
    return f"{value:.2f} ms" if unit == "ms" else f"{value:,.0f} {unit}"


def _sync_micros() -> float:
    """Seconds to write 4 KB durably to this disk: the minimum of every save."""
    took = []
    with tempfile.NamedTemporaryFile(buffering=0) as file:
        for _ in range(100):
            file.write(bytes(4096))
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - began)
    return median(took) * 1e6
