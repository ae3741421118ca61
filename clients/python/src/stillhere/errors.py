"""What a request can fail with."""

from typing import Any


class StillhereError(Exception):
    """A request that the server refused. `status`, `code` and `details`: as the API documents them. `retry_after`: seconds,
    where the server names them."""

    def __init__(self, status: int, code: str, message: str, details: dict[str, Any], retry_after: float | None = None) -> None:
        # Without an answer there is no status.
        super().__init__(f"{status or ''} {code}: {message} {details or ''}".strip())
        self.status, self.code, self.message, self.details, self.retry_after = status, code, message, details, retry_after


class NoAnswer(StillhereError):
    """The server did not answer: nobody knows whether it did what it was asked. `__cause__`: httpx's error."""

    def __init__(self, cause: Exception, url: str) -> None:
        super().__init__(0, "no_answer", f"{url} does not answer: {str(cause) or type(cause).__name__}", {})
