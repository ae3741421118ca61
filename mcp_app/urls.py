from django.urls import path

from mcp_app.activity import pages

urlpatterns = [path("projects/<uuid:project_id>/agents/", pages.agents, name="agents")]
