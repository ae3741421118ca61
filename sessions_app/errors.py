"""The kinds of expected refusal: one class a status code. Specific ones stand beside the function that raises them."""

from typing import Any


class AppError(Exception):
    """An expected refusal. `message` says what to do about it; `details` is JSON for programs."""

    status = 500
    code = "error"
    message = "Something went wrong."

    def __init__(
        self,
        message: str = "",
        *,
        code: str = "",
        details: dict[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        self.message = message or self.message
        self.code = code or self.code
        self.details = details or {}
        self.retry_after = retry_after
        super().__init__(self.message)

    def as_json(self) -> dict[str, Any]:
        return {"error": {"code": self.code, "message": self.message, "details": self.details}}


class BadRequest(AppError):
    status, code, message = 400, "unreadable", "The request could not be read. Send well-formed JSON in UTF-8."


class Unauthorized(AppError):
    status, code, message = 401, "unauthorized", "Send a valid API key as `Authorization: Bearer sh_…`, or sign in."


class Forbidden(AppError):
    status, code, message = 403, "forbidden", "This key or account may not do that."


class NotFound(AppError):
    """`kind`: what was looked for. Whether it is somebody else's or nobody's is never told."""

    status, code, message = 404, "not_found", "There is nothing here for you under this address."
    kind = ""

    def __init__(self, message: str = "", *, code: str = "", details: dict[str, Any] | None = None) -> None:
        super().__init__(message, code=code, details=details or ({"kind": self.kind} if self.kind else {}))


class MethodNotAllowed(AppError):
    status, code, message = 405, "method_not_allowed", "This address does not take that method."


class Conflict(AppError):
    status, code, message = 409, "conflict", "Something else changed this first. Read it anew, then decide."


class Gone(AppError):
    status, code, message = 410, "deleted", "This was deleted. Bring it back first, or start a new one."


class PreconditionFailed(AppError):
    status, code, message = 412, "precondition_failed", "It has changed since you read it. Read it anew."


class TooLarge(AppError):
    status, code, message = 413, "too_large", "This is larger than the limit. Send it in smaller pieces."


class Invalid(AppError):
    status, code, message = 422, "invalid", "The request was readable, but a field is wrong: see details."


class Locked(AppError):
    status, code, message = 423, "locked", "Another run holds the writer's lease."


class PreconditionRequired(AppError):
    status, code, message = 428, "precondition_required", "Send the header that says which version you mean."


class TooMany(AppError):
    status, code, message = 429, "too_many", "Too many requests. Wait, then try again."


class Unavailable(AppError):
    status, code, message = 503, "unavailable", "The store is busy or not ready. Try again shortly."


class InsufficientStorage(AppError):
    status, code, message = 507, "storage_full", "The store is full. Free space, then try again."
