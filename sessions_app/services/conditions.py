"""If-Match and If-None-Match on what has a rev."""

from dataclasses import dataclass

from sessions_app.errors import PreconditionFailed
from sessions_app.queries.states import state_etag


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the client demands of the present version; empty: nothing."""

    if_match: str = ""
    if_none_match: str = ""

    def check(self, rev: int | None) -> None:
        """`rev` is None where there is nothing. Not met → 412 with the present ETag."""
        etag = None if rev is None else state_etag(rev)
        if self.if_match and not _names(self.if_match, etag):
            raise PreconditionFailed(details={"etag": etag})
        if self.if_none_match and _names(self.if_none_match, etag):
            raise PreconditionFailed(details={"etag": etag})


ANY = Conditions()


def _names(header: str, etag: str | None) -> bool:
    if etag is None:
        return False
    return header.strip() == "*" or etag in {tag.strip() for tag in header.split(",")}
