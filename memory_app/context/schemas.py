"""The shape of a project's context."""

from typing import Any

from ninja import Schema


class ProjectHead(Schema):
    id: str
    path: str
    name: str
    created_at: str
    last_session_at: str | None


class Baselines(Schema):
    count: int
    names: list[str]


class ApiSchema(Schema):
    endpoint_count: int
    updated_at: str | None


class Noise(Schema):
    """`filtered`: how many errors the rules have filtered so far."""

    total: int
    auto: int
    manual: int
    filtered: int


class KnownError(Schema):
    fingerprint: str
    kind: str
    message: str
    first_seen: str
    last_seen: str
    count: int


class ResolvedError(KnownError):
    resolved_at: str
    known_fix: str


class Errors(Schema):
    """Unresolved errors, and those resolved in the last 7 days; last seen first."""

    unresolved: list[KnownError]
    resolved: list[ResolvedError]


class Degraded(Schema):
    endpoint: str
    run: int
    p95_ms: float
    earlier_p95_ms: float


class Performance(Schema):
    """The number of known endpoints, and those slower in their newest run than in earlier runs."""

    endpoints: int
    degraded: list[Degraded]


class Omitted(Schema):
    """Items of a section that the budget left out, and where to read them."""

    section: str
    count: int
    href: str


class SkippedEntry(Schema):
    """An entry whose stored value is damaged."""

    namespace: str
    key: str


class ContextOut(Schema):
    project: ProjectHead
    session_count: int
    baselines: Baselines
    api_schema: ApiSchema
    noise: Noise
    errors: Errors
    performance: Performance
    handoff: dict[str, Any] | None
    session: dict[str, Any] | None
    ai_states: list[dict[str, Any]]
    omitted: list[Omitted]
    skipped: list[SkippedEntry]
