from ninja import Schema


class ImportOut(Schema):
    """Rows by kind: what this import added, and what was there before."""

    added: dict[str, int]
    present: dict[str, int]
