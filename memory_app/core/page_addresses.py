"""Namespaces and keys in the addresses of pages, where each takes one segment, whatever is in it.

What other software would take apart or drop is escaped: `~` is `~0`, `/` is `~1`, a dot at the beginning `~2`. Labels are
joined by `~~`. Plain names are unchanged.
"""

from django.urls import register_converter

from memory_app.core.namespaces import labels_of, pack

_JOINT = "~~"


class KeyConverter:
    regex = "[^/]+"

    def to_python(self, segment: str) -> str:
        return segment.replace("~2", ".").replace("~1", "/").replace("~0", "~")

    def to_url(self, key: str) -> str:
        segment = str(key).replace("~", "~0").replace("/", "~1")
        return f"~2{segment[1:]}" if segment.startswith(".") else segment


class NamespaceConverter:
    """Its value is the stored form."""

    regex = "[^/]+"
    _label = KeyConverter()

    def to_python(self, segment: str) -> str:
        return pack([self._label.to_python(label) for label in segment.split(_JOINT)])

    def to_url(self, namespace: str) -> str:
        return _JOINT.join(self._label.to_url(label) for label in labels_of(str(namespace)))


def register_converters() -> None:
    register_converter(NamespaceConverter, "namespace")
    register_converter(KeyConverter, "memory_key")
