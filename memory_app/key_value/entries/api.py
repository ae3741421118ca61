from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from memory_app.core.namespaces import pack
from memory_app.core.run_header import run_named, run_of
from memory_app.key_value.entries import queries, reading
from memory_app.key_value.entries import services as entrie_services
from memory_app.key_value.entries.entry_rows import EntryRow
from memory_app.key_value.entries.entry_values import NewEntry, Stored, entry_etag, exact_value
from memory_app.key_value.entries.generated import GENERATED, get_generated
from memory_app.key_value.entries.namespace_queries import MOST, list_namespaces, namespace_json, wanted
from memory_app.key_value.entries.schemas import (
    DeletedList,
    EntryKeys,
    EntryOut,
    EntrySaved,
    NamespaceList,
    PurgedOut,
    StatsOut,
    VersionList,
)
from memory_app.key_value.entries.services import DeletedNotFound
from memory_app.models.entry import MOST_LABELS
from sessions_app.core.callers import caller_of
from sessions_app.core.errors import PreconditionRequired
from sessions_app.core.id_parsing import parse_id
from sessions_app.core.public_names import Caller
from sessions_app.core.serialization import strict_json
from sessions_app.core.web.preconditions import Conditions
from sessions_app.core.web.responses import (
    IF_MATCH,
    IF_NONE_MATCH,
    RUN,
    conditions_of,
    json_reply,
    no_content,
    refusals,
    takes,
    unchanged,
)
from sessions_app.core.web.schemas import LIMIT
from sessions_app.projects.queries import project_uuid

router = Router(tags=["Memory"])
ENTRY = "/{project_id}/memory/{namespace}/{key}"
DEPTH: int | None = Query(None, ge=1, le=MOST_LABELS)  # type: ignore[type-arg]
NAMESPACES: int = Query(MOST, ge=1, le=MOST)  # type: ignore[type-arg]
ANY_JSON = {"requestBody": {"required": True, "content": {"application/json": {"schema": {}}}}}


@router.get("/{project_id}/memory", response={200: NamespaceList, **refusals(404, 410)}, operation_id="list_memory")
def browse(
    request: HttpRequest,
    project_id: str,
    prefix: str = "",
    suffix: str = "",
    depth: int | None = DEPTH,
    cursor: str = "",
    limit: int = NAMESPACES,
) -> HttpResponse:
    """The project's namespaces with their number of keys and bytes. `prefix` and `suffix` are labels joined by `/`, where `*` is
    any one label; `depth` cuts longer namespaces at so many labels."""
    which = wanted(prefix, suffix, depth)
    found = list_namespaces(
        caller=caller_of(request), project_id=project_uuid(project_id), which=which, after=cursor, limit=limit
    )
    following = found[limit - 1]["namespace"] if len(found) > limit else None
    return json_reply({"items": [namespace_json(row) for row in found[:limit]], "next": following})


@router.get("/{project_id}/memory-stats", response={200: StatsOut, **refusals(404, 410)}, operation_id="get_memory_stats")
def stats(request: HttpRequest, project_id: str) -> HttpResponse:
    """Bytes, entries by namespace, runs, limits."""
    return json_reply(queries.memory_stats(caller=caller_of(request), project_id=project_uuid(project_id)))


@router.get("/{project_id}/memory/{namespace}", response={200: EntryKeys, **refusals(404, 410)}, operation_id="list_memory_keys")
def browse_keys(
    request: HttpRequest, project_id: str, namespace: str, prefix: str = "", cursor: str = "", limit: int = LIMIT
) -> HttpResponse:
    """The keys of a namespace, in order."""
    caller, project = caller_of(request), project_uuid(project_id)
    found = queries.list_keys(
        caller=caller, project_id=project, namespace=pack([namespace]), prefix=prefix, after=cursor, limit=limit
    )
    following = found[limit - 1]["key"] if len(found) > limit else None
    return json_reply({"items": found[:limit], "next": following})


@router.delete(
    "/{project_id}/memory/{namespace}",
    response={200: PurgedOut, **refusals(404, 410, 423, 428)},
    operation_id="purge_memory_namespace",
    openapi_extra=takes(RUN),
)
def purge_keys(request: HttpRequest, project_id: str, namespace: str, purge: bool = False) -> HttpResponse:
    """With `?purge=1`: erase all entries of the namespace and of those beneath it, with their versions, and what the trash has of
    them. Nothing can be restored. Without it → 428."""
    if not purge:
        raise PreconditionRequired("This erases the namespace and all beneath it for good. Send `?purge=1` if you mean that.")
    count = entrie_services.purge_namespace(
        caller=caller_of(request), project_id=project_uuid(project_id), namespace=pack([namespace]), run_id=run_of(request)
    )
    return json_reply({"purged": count})


@router.get(ENTRY, response={200: EntryOut, 304: None, **refusals(404, 410)}, operation_id="get_memory_entry")
def read(request: HttpRequest, project_id: str, namespace: str, key: str) -> HttpResponse:
    """One value. `errors/history` and `performance/endpoints` are generated from recorded data."""
    caller, project = caller_of(request), project_uuid(project_id)
    if (namespace, key) in GENERATED:
        made, etag = get_generated(caller=caller, project_id=project, namespace=namespace, key=key)
        return unchanged(request, etag) or json_reply(made, etag=etag)
    entry = reading.read_entry(caller=caller, project_id=project, namespace=pack([namespace]), key=key)
    return unchanged(request, entry_etag(entry.rev)) or _reply(entry)


@router.put(
    ENTRY,
    response={200: EntrySaved, 201: EntrySaved, **refusals(404, 409, 410, 412, 413, 423)},
    operation_id="put_memory_entry",
    openapi_extra=ANY_JSON | takes(IF_MATCH, IF_NONE_MATCH, RUN),
)
def put(request: HttpRequest, project_id: str, namespace: str, key: str) -> HttpResponse:
    """Store a value: the body is the JSON value itself. `If-Match` and `If-None-Match` give compare-and-set."""
    return put_reply(
        caller_of(request), project_id, namespace, key, request.body, conditions_of(request), request.headers.get(RUN["name"], "")
    )


@router.delete(
    ENTRY,
    response={204: None, **refusals(404, 409, 410, 412, 423)},
    operation_id="delete_memory_entry",
    openapi_extra=takes(IF_MATCH, RUN),
)
def delete(request: HttpRequest, project_id: str, namespace: str, key: str) -> HttpResponse:
    """Delete an entry. It can be restored with its versions for 30 days."""
    entrie_services.delete_entry(
        caller=caller_of(request),
        project_id=project_uuid(project_id),
        namespace=pack([namespace]),
        key=key,
        conditions=conditions_of(request),
        run_id=run_of(request),
    )
    return no_content()


@router.get(ENTRY + "/versions", response={200: VersionList, **refusals(404, 410)}, operation_id="list_memory_versions")
def versions(request: HttpRequest, project_id: str, namespace: str, key: str) -> HttpResponse:
    """The last ten values, newest first."""
    found = queries.list_versions(
        caller=caller_of(request), project_id=project_uuid(project_id), namespace=pack([namespace]), key=key
    )
    return json_reply({"items": [queries.version_json(version) for version in found], "next": None})


@router.post(
    ENTRY + "/versions/{rev}/restore",
    response={200: EntrySaved, **refusals(404, 410, 423)},
    operation_id="restore_memory_version",
    openapi_extra=takes(RUN),
)
def restore(request: HttpRequest, project_id: str, namespace: str, key: str, rev: int) -> HttpResponse:
    """Restore an earlier value as a new rev."""
    stored = entrie_services.restore_version(
        caller=caller_of(request),
        project_id=project_uuid(project_id),
        namespace=pack([namespace]),
        key=key,
        rev=rev,
        run_id=run_of(request),
    )
    return _saved(stored)


@router.get("/{project_id}/memory-deleted", response={200: DeletedList, **refusals(404, 410)}, operation_id="list_deleted_memory")
def deleted(request: HttpRequest, project_id: str) -> HttpResponse:
    """The last hundred deleted entries, kept for 30 days."""
    found = queries.list_deleted(caller=caller_of(request), project_id=project_uuid(project_id))
    return json_reply({"items": [queries.deleted_json(row) for row in found], "next": None})


@router.post(
    "/{project_id}/memory-deleted/{deleted_id}/restore",
    response={200: EntrySaved, 201: EntrySaved, **refusals(404, 409, 410, 423)},
    operation_id="undelete_memory_entry",
    openapi_extra=takes(RUN),
)
def undelete(request: HttpRequest, project_id: str, deleted_id: str) -> HttpResponse:
    """Restore a deleted entry with its versions. 409 if its key is taken."""
    stored = entrie_services.undelete_entry(
        caller=caller_of(request),
        project_id=project_uuid(project_id),
        deleted_id=parse_id(deleted_id, DeletedNotFound),
        run_id=run_of(request),
    )
    return _saved(stored)


def put_reply(
    caller: Caller, project_id: str, namespace: str, key: str, body: bytes, conditions: Conditions, run: str
) -> HttpResponse:
    """Stores the JSON of a body; `run`: the header that names it."""
    entry = _new_entry(namespace, key, body)
    stored = entrie_services.put_entry(
        caller=caller, project_id=project_uuid(project_id), entry=entry, conditions=conditions, run_id=run_named(run)
    )
    return _saved(stored)


def entry_reply(caller: Caller, project_id: str, namespace: str, key: str) -> HttpResponse:
    """An entry that was stored, not a generated one. Raises EntryNotFound."""
    project = project_uuid(project_id)
    return _reply(reading.read_entry(caller=caller, project_id=project, namespace=pack([namespace]), key=key))


def _reply(entry: EntryRow) -> HttpResponse:
    return json_reply(queries.entry_json(entry), etag=entry_etag(entry.rev))


def _new_entry(namespace: str, key: str, body: bytes) -> NewEntry:
    """One label and a key of an address, and the JSON value of a body."""
    value, replaced = strict_json.loads(body, within="value")
    if replaced:
        return NewEntry(pack([namespace]), key, value, exact_value(body))
    return NewEntry(pack([namespace]), key, value)


def _saved(stored: Stored) -> HttpResponse:
    body = queries.entry_json(stored.entry) | {"redacted": stored.redacted}
    return json_reply(body, status=201 if stored.made else 200, etag=entry_etag(stored.entry.rev))
