"""Times have milliseconds everywhere, so that what is stored equals what is returned."""

from datetime import UTC, datetime


def now() -> datetime:
    """The current time with milliseconds, so that the stored value equals the returned one."""
    present = datetime.now(UTC)
    return present.replace(microsecond=present.microsecond // 1000 * 1000)
