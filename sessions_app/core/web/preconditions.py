"""If-Match and If-None-Match for versioned resources."""

from dataclasses import dataclass

from sessions_app.core.errors import PreconditionFailed
from sessions_app.core.storage.store_incarnation import state_etag

# Suffix of the ETag of a response with a message that was still streaming. Such a message becomes
# interrupted by time alone, so the response is never "unchanged".
STREAMING_MARK = ".s"


@dataclass(frozen=True, slots=True)
class Conditions:
    """The client's conditions on the current version; empty: none."""

    if_match: str = ""
    if_none_match: str = ""

    def check(self, rev: int | None) -> None:
        """Check a state's `rev`; None if there is no state. Not met → 412 with the current ETag."""
        self.check_etag(None if rev is None else state_etag(rev))

    def check_etag(self, etag: str | None) -> None:
        """As `check`, for any resource with an ETag."""
        if self.if_match and not named(self.if_match, etag):
            raise PreconditionFailed(details={"etag": etag})
        if self.if_none_match and named(self.if_none_match, etag):
            raise PreconditionFailed(details={"etag": etag})


ANY = Conditions()


def named(header: str, *etags: str | None) -> bool:
    """Whether a condition's list of tags, or its `*`, matches an existing version.

    A weak tag matches a strong one: ours are never weak, but a proxy that compresses a response makes them weak.
    """
    there = {etag for etag in etags if etag is not None}
    return bool(there) and (header.strip() == "*" or not there.isdisjoint(tags_of(header)))


def tags_of(header: str) -> set[str]:
    return {tag.strip().removeprefix("W/") for tag in header.split(",")}
