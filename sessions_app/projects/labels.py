"""Short names of projects that stand beside each other."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence

from sessions_app.models import Project


def labels_of(projects: Iterable[Project]) -> dict[uuid.UUID, str]:
    """Each project's label by its id. Those that would read the same have as much of the path's end as tells them apart."""
    alike = defaultdict[str, list[Project]](list)
    for project in projects:
        alike[project.label].append(project)
    found: dict[uuid.UUID, str] = {}
    for label, some in alike.items():
        ends = [""] if len(some) == 1 else _different_ends([project.path for project in some])
        for project, end in zip(some, ends, strict=True):
            found[project.id] = f"{label} ({end})" if end and project.name else end or label
    return found


def _different_ends(paths: Sequence[str]) -> list[str]:
    """Of each path the shortest end, of two parts at least, that no other has; the path if there is none."""
    parts = [path.strip("/").split("/") for path in paths]
    return [
        next(
            ("/".join(own[-size:]) for size in range(2, len(own)) if sum(other[-size:] == own[-size:] for other in parts) == 1),
            path,
        )
        for path, own in zip(paths, parts, strict=True)
    ]
