"""The kinds of expected refusal: one class a status code. Specific ones are defined beside the function that raises them."""

from typing import Any

# Maximum length of a client's own name in a message.
LONGEST_NAME = 100


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


class TooManyParameters(BadRequest):
    """Django reads no more of them (`DATA_UPLOAD_MAX_NUMBER_FIELDS`)."""

    code, message = "too_many_parameters", "An address or a form has at most 1,000 parameters. Send fewer."


class Unauthorized(AppError):
    status, code, message = 401, "unauthorized", "Send a valid API key as `Authorization: Bearer sh_…`, or sign in."


class Forbidden(AppError):
    status, code, message = 403, "forbidden", "This key or account may not do that."


class NotFound(AppError):
    """`kind`: what was looked for. The error never reveals whether it exists for somebody else."""

    status, code, message = 404, "not_found", "Nothing was found at this address."
    kind = ""

    def __init__(self, message: str = "", *, code: str = "", details: dict[str, Any] | None = None) -> None:
        super().__init__(message, code=code, details=details or ({"kind": self.kind} if self.kind else {}))


class MethodNotAllowed(AppError):
    status, code, message = 405, "method_not_allowed", "This address does not support that method."


class Conflict(AppError):
    status, code, message = 409, "conflict", "Something else changed this first. Read it again, then decide."


class Gone(AppError):
    status, code, message = 410, "deleted", "This was deleted. Restore it first, or start a new one."


class PreconditionFailed(AppError):
    status, code, message = 412, "precondition_failed", "It has changed since you read it. Read it again."


class TooLarge(AppError):
    status, code, message = 413, "too_large", "This is larger than the limit. Send it in smaller pieces."


class Invalid(AppError):
    status, code, message = 422, "invalid", "The request was readable, but a field is wrong: see details."


class WrongFields(Invalid):
    """The message names the first field; the details list all. Values are never included: they may be secrets."""

    def __init__(self, fields: list[dict[str, str]]) -> None:
        first, others = fields[0], len(fields) - 1
        field, reason = first["field"][:LONGEST_NAME], first["reason"].rstrip(".")
        more = f" {others} more in the details." if others else ""
        super().__init__(f"`{field}`: {reason}.{more}", details={"fields": fields[:20]})


class ForeignCursor(Invalid):
    def __init__(self) -> None:
        super().__init__("This cursor is invalid. Use `next` exactly as it was returned.", details={"field": "cursor"})


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
