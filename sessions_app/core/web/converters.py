"""Parts of addresses that Django's own converters do not read."""

from django.urls import register_converter
from django.urls.converters import StringConverter

# In an operation's path: `{anything:name}`, as its last part, or before a fixed one if no other operation's path fits.
ANYTHING = "anything"


class AnythingConverter(StringConverter):
    """Any text, percent-encoded: also with slashes and line feeds."""

    regex = r"[\s\S]+"


register_converter(AnythingConverter, ANYTHING)
