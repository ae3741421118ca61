"""What waits in a spool's file for other servers and projects."""

import logging
import sqlite3

from stillhere.http.settings import project_name
from stillhere.spool.items import DamagedSpool
from stillhere.spool.storage import Storage

STRANDED = "%d requests in %s wait for %s and its project %s. A spool with this url and project sends them."
_log = logging.getLogger("stillhere.spool.spool")


def scope_of(url: str, project: str) -> str:
    return f"{url} {project}"


def see_to_others(storage: Storage, url: str, project: str) -> None:
    """Takes what is for this project by another name: earlier versions kept a folder's name as it was written, such as
    `~/shop/`, and no spool has that name any more. Warns of the rest."""
    for scope in storage.other_scopes():
        its_url, _, named = scope.partition(" ")
        if (its_url, project_name(named)) == (url, project):
            try:
                storage.adopt(scope)
            except DamagedSpool:
                raise
            except (sqlite3.Error, ValueError):  # A full disk, or a damaged row: it stays, and is told of below.
                continue
    for scope, count in storage.stranded().items():
        _log.warning(STRANDED, count, storage.path, *scope.split(" ", 1))
