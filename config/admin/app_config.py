"""Django's admin behind the product's own sign-in page, so that failed sign-ins are counted in one place."""

from django.contrib.admin.apps import AdminConfig


class OwnAdminConfig(AdminConfig):
    default = False
    default_site = "config.admin.site.OwnAdminSite"
