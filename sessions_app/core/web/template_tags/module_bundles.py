"""A page's modules are asked for at once. Otherwise the browser reads one before it asks for the next."""

from pathlib import PurePath

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def preload_bundles(*names: str) -> SafeString:
    """Links to these bundles; nothing where modules are served as single files."""
    bundles = [bundle for bundle in settings.STATIC_BUNDLES if PurePath(bundle).stem in names]
    return format_html_join("\n", '<link rel="modulepreload" href="{}">', ((static(bundle),) for bundle in bundles))
