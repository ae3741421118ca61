from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path, re_path
from django.views.decorators.csrf import csrf_exempt

from config.api.assistant_cloud_api import api as assistant_cloud_api
from config.api.ninja_api import api
from config.api.requests_and_refusals import refuse
from sessions_app.core.errors import NotFound
from sessions_app.core.extension import extensions


class AddressNotFound(NotFound):
    kind = "address"
    message = (
        "The API has no such address. `/api/v1/docs` lists all addresses; none ends in a slash. The `url` of a client is the "
        "server's address, without `/v1` or another path of the API."
    )


@csrf_exempt
def unknown_address(request: HttpRequest) -> HttpResponse:
    """Under /api/ and /v1/ even an address that does not exist answers in the API's shape, whatever the method and the caller."""
    return refuse(AddressNotFound())


urlpatterns = [
    path("api/v1/", api.urls),
    path("v1/", assistant_cloud_api.urls),
    re_path(r"^(?:api|v1)/", unknown_address),
    path("admin/", admin.site.urls),
    path("", include("sessions_app.pages.urls")),
    *(path("", include(extension.urls)) for extension in extensions() if extension.urls),
]
handler404 = "sessions_app.pages.error_pages.not_found"
handler500 = "sessions_app.pages.error_pages.server_error"
handler403 = "sessions_app.pages.error_pages.forbidden"
handler400 = "sessions_app.pages.error_pages.bad_request"
