from django.http import HttpRequest, HttpResponse
from ninja import Router

from memory_app.key_value.namespaces.queries import get_settings, list_settings, settings_json
from memory_app.key_value.namespaces.schemas import SettingsIn, SettingsList, SettingsOut
from memory_app.key_value.namespaces.services import delete_settings, put_settings
from sessions_app.core.callers import caller_of
from sessions_app.core.web.converters import ANYTHING
from sessions_app.core.web.responses import json_reply, no_content, refusals
from sessions_app.projects.queries import project_uuid

router = Router(tags=["Memory"])
# Labels are joined by `/`; in a label `~` is written `~0`, and `/` is written `~1`.
SETTINGS = f"/{{project_id}}/memory-settings/{{{ANYTHING}:namespace}}"
NO_SETTINGS = SettingsIn.model_validate({})


@router.get(
    "/{project_id}/memory-settings", response={200: SettingsList, **refusals(404, 410)}, operation_id="list_memory_settings"
)
def browse(request: HttpRequest, project_id: str) -> HttpResponse:
    """The settings of all namespaces that have some: at most 200."""
    found = list_settings(caller=caller_of(request), project_id=project_uuid(project_id))
    return json_reply({"items": [settings_json(row) for row in found], "next": None})


@router.get(SETTINGS, response={200: SettingsOut, **refusals(404, 410)}, operation_id="get_memory_settings")
def read(request: HttpRequest, project_id: str, namespace: str) -> HttpResponse:
    """A namespace's own settings. A path is written `users/1`: in a label `~` is `~0`, and `/` is `~1`."""
    found = get_settings(caller=caller_of(request), project_id=project_uuid(project_id), namespace=namespace)
    return json_reply(settings_json(found))


@router.put(
    SETTINGS, response={200: SettingsOut, 201: SettingsOut, **refusals(404, 409, 410)}, operation_id="put_memory_settings"
)
def put(request: HttpRequest, project_id: str, namespace: str, payload: SettingsIn = NO_SETTINGS) -> HttpResponse:
    """Set how entries of a namespace and of all beneath it are kept; where several prefixes have settings, those of the longest
    apply, as a whole. They apply to later writes."""
    row, made = put_settings(
        caller=caller_of(request), project_id=project_uuid(project_id), namespace=namespace, values=payload.model_dump()
    )
    return json_reply(settings_json(row), status=201 if made else 200)


@router.delete(SETTINGS, response={204: None, **refusals(404, 410)}, operation_id="delete_memory_settings")
def delete(request: HttpRequest, project_id: str, namespace: str) -> HttpResponse:
    """Delete a namespace's own settings; its entries stay."""
    delete_settings(caller=caller_of(request), project_id=project_uuid(project_id), namespace=namespace)
    return no_content()
