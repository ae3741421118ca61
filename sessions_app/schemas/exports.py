from ninja import Schema


class ImportOut(Schema):
    """Rows by kind: what this import added, and what was there before.

    `redacted`: secrets in messages, by kind, that the file did not know of: pointed out or, by the project's setting, taken out.
    """

    added: dict[str, int]
    present: dict[str, int]
    redacted: dict[str, int]
