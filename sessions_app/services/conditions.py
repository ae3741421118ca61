"""If-Match and If-None-Match on what has a version."""

from dataclasses import dataclass

from sessions_app.errors import PreconditionFailed
from sessions_app.queries.states import state_etag


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the client demands of the present version; empty: nothing."""

    if_match: str = ""
    if_none_match: str = ""

    def check(self, rev: int | None) -> None:
        """A state's `rev`; None where there is nothing. Not met → 412 with the present ETag."""
        self.check_etag(None if rev is None else state_etag(rev))

    def check_etag(self, etag: str | None) -> None:
        """The same of anything that has an ETag."""
        if self.if_match and not named(self.if_match, etag):
            raise PreconditionFailed(details={"etag": etag})
        if self.if_none_match and named(self.if_none_match, etag):
            raise PreconditionFailed(details={"etag": etag})


ANY = Conditions()


def named(header: str, *etags: str | None) -> bool:
    """Whether a condition's list of tags, or its `*`, means a version that is there.

    A weak tag is as good as a strong one: ours are never weak, but a proxy that compresses an answer makes them so.
    """
    there = {etag for etag in etags if etag is not None}
    return bool(there) and (header.strip() == "*" or not there.isdisjoint(tags_of(header)))


def tags_of(header: str) -> set[str]:
    return {tag.strip().removeprefix("W/") for tag in header.split(",")}
