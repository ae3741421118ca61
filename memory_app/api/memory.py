from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Router

from memory_app.api.run_header import run_of
from memory_app.queries import entries as queries
from memory_app.queries.generated import GENERATED, get_generated
from memory_app.schemas.memory import DeletedList, EntryKeys, EntryOut, EntrySaved, NamespaceList, StatsOut, VersionList
from memory_app.services import entries
from memory_app.services.entries import DeletedNotFound
from memory_app.services.zip_export import zip_memory
from sessions_app.api.caller import caller_of
from sessions_app.api.replies import IF_MATCH, IF_NONE_MATCH, RUN, conditions_of, json_reply, refusals, takes, unchanged
from sessions_app.queries.ids import parse_id
from sessions_app.queries.projects import project_uuid
from sessions_app.schemas import strict_json
from sessions_app.schemas.common import LIMIT
from sessions_app.services.spool import Spooled

router = Router(tags=["Memory"])
ENTRY = "/{project_id}/memory/{namespace}/{key}"
ZIP = "application/zip"
ZIPPED = {"content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}}
ANY_JSON = {"requestBody": {"required": True, "content": {"application/json": {"schema": {}}}}}


@router.get("/{project_id}/memory", response={200: NamespaceList, **refusals(404, 410)}, operation_id="list_memory")
def browse(request: HttpRequest, project_id: str) -> HttpResponse:
    """The project's namespaces with their number of keys and bytes."""
    items = queries.list_namespaces(caller=caller_of(request), project_id=project_uuid(project_id))
    return json_reply({"items": items, "next": None})


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
    found = queries.list_keys(caller=caller, project_id=project, namespace=namespace, prefix=prefix, after=cursor, limit=limit)
    following = found[limit - 1]["key"] if len(found) > limit else None
    return json_reply({"items": found[:limit], "next": following})


@router.get(ENTRY, response={200: EntryOut, 304: None, **refusals(404, 410)}, operation_id="get_memory_entry")
def read(request: HttpRequest, project_id: str, namespace: str, key: str) -> HttpResponse:
    """One value. `errors/history` and `performance/endpoints` are made from what was recorded."""
    caller, project = caller_of(request), project_uuid(project_id)
    if (namespace, key) in GENERATED:
        made, etag = get_generated(caller=caller, project_id=project, namespace=namespace, key=key)
        return unchanged(request, etag) or json_reply(made, etag=etag)
    entry = queries.get_entry(caller=caller, project_id=project, namespace=namespace, key=key)
    etag = entries.entry_etag(entry.rev)
    return unchanged(request, etag) or json_reply(queries.entry_json(entry), etag=etag)


@router.put(
    ENTRY,
    response={200: EntrySaved, 201: EntrySaved, **refusals(404, 409, 410, 412, 413, 423)},
    operation_id="put_memory_entry",
    openapi_extra=ANY_JSON | takes(IF_MATCH, IF_NONE_MATCH, RUN),
)
def put(request: HttpRequest, project_id: str, namespace: str, key: str) -> HttpResponse:
    """Store a value: the body is the JSON value itself. `If-Match` and `If-None-Match` give compare-and-set."""
    value, _ = strict_json.loads(request.body)
    stored = entries.put_entry(
        caller=caller_of(request),
        project_id=project_uuid(project_id),
        entry=entries.NewEntry(namespace, key, value),
        conditions=conditions_of(request),
        run_id=run_of(request),
    )
    return _saved(stored)


@router.delete(
    ENTRY,
    response={204: None, **refusals(404, 409, 410, 412, 423)},
    operation_id="delete_memory_entry",
    openapi_extra=takes(IF_MATCH, RUN),
)
def delete(request: HttpRequest, project_id: str, namespace: str, key: str) -> HttpResponse:
    """Delete an entry. With its versions it can be brought back for 30 days."""
    entries.delete_entry(
        caller=caller_of(request),
        project_id=project_uuid(project_id),
        namespace=namespace,
        key=key,
        conditions=conditions_of(request),
        run_id=run_of(request),
    )
    return HttpResponse(status=204)


@router.get(ENTRY + "/versions", response={200: VersionList, **refusals(404, 410)}, operation_id="list_memory_versions")
def versions(request: HttpRequest, project_id: str, namespace: str, key: str) -> HttpResponse:
    """The last ten values, the newest first."""
    found = queries.list_versions(caller=caller_of(request), project_id=project_uuid(project_id), namespace=namespace, key=key)
    return json_reply({"items": [queries.version_json(version) for version in found], "next": None})


@router.post(
    ENTRY + "/versions/{rev}/restore",
    response={200: EntrySaved, **refusals(404, 410, 423)},
    operation_id="restore_memory_version",
    openapi_extra=takes(RUN),
)
def restore(request: HttpRequest, project_id: str, namespace: str, key: str, rev: int) -> HttpResponse:
    """Make an earlier value the present one, as a new rev."""
    stored = entries.restore_version(
        caller=caller_of(request),
        project_id=project_uuid(project_id),
        namespace=namespace,
        key=key,
        rev=rev,
        run_id=run_of(request),
    )
    return _saved(stored)


@router.get("/{project_id}/memory-deleted", response={200: DeletedList, **refusals(404, 410)}, operation_id="list_deleted_memory")
def deleted(request: HttpRequest, project_id: str) -> HttpResponse:
    """The hundred entries deleted last, for 30 days."""
    found = queries.list_deleted(caller=caller_of(request), project_id=project_uuid(project_id))
    return json_reply({"items": [queries.deleted_json(row) for row in found], "next": None})


@router.post(
    "/{project_id}/memory-deleted/{deleted_id}/restore",
    response={200: EntrySaved, 201: EntrySaved, **refusals(404, 409, 410, 423)},
    operation_id="undelete_memory_entry",
    openapi_extra=takes(RUN),
)
def undelete(request: HttpRequest, project_id: str, deleted_id: str) -> HttpResponse:
    """Bring a deleted entry back with its versions. 409 where its key is taken."""
    stored = entries.undelete_entry(
        caller=caller_of(request),
        project_id=project_uuid(project_id),
        deleted_id=parse_id(deleted_id, DeletedNotFound),
        run_id=run_of(request),
    )
    return _saved(stored)


@router.get(
    "/{project_id}/memory-export",
    response={200: None, **refusals(404, 410)},
    operation_id="export_memory",
    openapi_extra={"responses": {200: ZIPPED}},
)
def export(request: HttpRequest, project_id: str) -> StreamingHttpResponse:
    """The whole memory as a ZIP file: a JSON file a key in a folder a namespace, as `memory_import` reads it."""
    caller, own_id = caller_of(request), project_uuid(project_id)
    content = Spooled(lambda to: zip_memory(caller=caller, project_id=own_id, to=to))
    reply = StreamingHttpResponse(content, content_type=ZIP)
    reply["Content-Length"] = str(content.size)
    reply["Content-Disposition"] = f'attachment; filename="memory-{own_id}.zip"'
    reply["Cache-Control"] = "no-store"
    return reply


def _saved(stored: entries.Stored) -> HttpResponse:
    body = queries.entry_json(stored.entry) | {"redacted": stored.redacted}
    return json_reply(body, status=201 if stored.made else 200, etag=entries.entry_etag(stored.entry.rev))
